import type { CommitVerdict } from '../../core/verify/report';
import { shortId } from '../../core/verify/words';

/** What is known of where more receipts could come from. */
interface Sources {
  /** The remote that is meant where none is named. */
  readonly remote: string | undefined;
  /** Whether its notes were ever fetched. */
  readonly isFetched: boolean;
}

/** A command with what it is for, aligned as far as short ones go. */
function line(command: string, why: string): string {
  return `${command.padEnd(34)}  # ${why}`;
}

/** A name of a revision as a shell takes it. */
function word(text: string): string {
  return /^[\w./^~@-]+$/u.test(text) && !text.startsWith('-') ? text : `'${text.replaceAll("'", `'\\''`)}'`;
}

/** The commands that would give commits the receipts that they lack, the likeliest first. */
export function fixesFor(
  revision: string,
  verdicts: readonly CommitVerdict[],
  { remote, isFetched }: Sources,
): string[] {
  const failing = verdicts.filter(({ passed }) => !passed);
  const [first] = failing;
  if (first === undefined) return [];
  const missing = failing.flatMap(({ checks }) => checks).filter(({ stated }) => stated === undefined);
  const reasons = new Set(missing.flatMap(({ refused }) => refused.map(({ reason }) => reason)));
  const id = shortId(first.commit);
  const what = failing.length === 1 ? id : word(revision);
  const onlyCi = missing.every(({ by }) => by === 'ci');
  return [
    ...(remote === undefined || isFetched
      ? []
      : [line(`atlas receipts fetch ${word(remote)}`, 'if others pushed receipts')]),
    ...(onlyCi ? [] : [line(`atlas receipts attach ${id}`, 'where the checks ran on exactly this tree')]),
    onlyCi
      ? line(`atlas verify ${what} --rerun`, 'in CI, with a key of kind "ci"')
      : line(`atlas verify ${what} --rerun`, 'run the checks on it and sign, then push'),
    ...(reasons.has('unknown_key')
      ? [line('atlas keys trust', 'a maintainer commits what it writes to the base')]
      : []),
    ...(remote === undefined ? [] : [line(`atlas receipts push ${word(remote)}`, 'publish what was attached')]),
  ];
}
