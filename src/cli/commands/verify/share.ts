import { unwrap } from '../../../core/shared/errors';
import { count } from '../../../core/shared/text';
import { foreignCommand, foreignName } from '../../../core/verify/foreignText';
import { shortId } from '../../../core/verify/words';
import { remoteNotesRef } from '../../../git/notes/noteTree';
import type { Publication } from '../../../service/verify/share';
import { ReceiptSharing, attachReceipts, fetchReceipts, remoteNamed } from '../../../service/verify/verifyParts';
import type { CliContext } from '../../context';
import type { Handler } from '../../parse/commandLine';
import { EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { repositoryHere } from './repositoryHere';

const MAX_COMMANDS = 20;

/** `receipts attach`: our receipts of a commit become a note on its tree. */
export const attach: Handler = async (context, call) => {
  const revision = call.operands[0] ?? 'HEAD';
  const done = unwrap(await attachReceipts(await context.atlas(), repositoryHere(context), revision));
  const lines = done.attached.map(
    ({ receiptId, command, exitCode }) =>
      `  ${receiptId}  ${exitCode === 0 ? 'passed' : 'failed'}  ${foreignCommand(command)}`,
  );
  const known =
    done.known === 0 ? '' : ` ${count(done.known, 'receipt')} ${done.known === 1 ? 'was' : 'were'} attached before.`;
  const text = [
    `Attached ${count(done.attached.length, 'receipt')} to tree ${shortId(done.tree)} of commit ${shortId(done.commit)}.${known}`,
    ...lines,
    ...done.leftOut.map(({ receiptId, why }) => `  ${receiptId}  left out: ${why}`),
    'Nothing was published. To publish: atlas receipts push',
  ];
  const data: AnswerData<'receipts attach'> = {
    commit: done.commit,
    tree: done.tree,
    attached: done.attached.map((line) => lineData(line)),
    already_attached: done.known,
    left_out: done.leftOut.map((line) => ({ ...lineData(line), why: line.why })),
  };
  return { exit: EXIT.done, text: `${text.join('\n')}\n`, data };
};

function lineData(line: { readonly receiptId: string; readonly command: string; readonly exitCode: number }): {
  receipt_id: string;
  command: string;
  exit_code: number;
} {
  return { receipt_id: line.receiptId, command: line.command, exit_code: line.exitCode };
}

/** `receipts push`: what was attached here becomes public on a remote. */
export const push: Handler = async (context, call) => {
  const repository = repositoryHere(context);
  const remote = unwrap(await remoteNamed(repository, call.operands[0]));
  const { ports } = await context.atlas();
  const sharing = new ReceiptSharing(ports, repository);
  const pushed = unwrap(
    await sharing.push(remote, async (published) => allow(context, remote, published, call.flag('yes'))),
  );
  const kept =
    pushed.kept === 0
      ? []
      : [
          `${count(pushed.kept, 'line')} in the notes here ${pushed.kept === 1 ? 'is' : 'are'} no receipt that may be published, and ${pushed.kept === 1 ? 'stays' : 'stay'} here.`,
        ];
  const what =
    pushed.receipts === 0
      ? `${foreignName(remote)} already has every receipt that is attached here.`
      : `Pushed ${count(pushed.receipts, 'receipt')} on ${count(pushed.trees, 'tree')} to ${foreignName(remote)}.`;
  const data: AnswerData<'receipts push'> = {
    remote,
    receipts: pushed.receipts,
    trees: pushed.trees,
    commands: [...pushed.commands],
    kept_lines: pushed.kept,
  };
  return { exit: EXIT.done, text: `${[what, ...kept].join('\n')}\n`, data };
};

/** Shows what becomes public, and asks. With `--json` it stands in the answer, and with `--quiet` it was known before. */
async function allow(context: CliContext, remote: string, published: Publication, yes: boolean): Promise<boolean> {
  const { receipts, trees, commands } = published;
  const more = commands.length > MAX_COMMANDS ? [`    and ${commands.length - MAX_COMMANDS} more`] : [];
  const lines = [
    `atlas: This is the first push of receipts to ${foreignName(remote)}. Whoever can read it can then read of ${count(receipts, 'receipt')} on ${count(trees, 'tree')}:`,
    '  the command, its folder in the repository, its exit code, its times and the size and digest of its output',
    '  the ids of tree, commit and first commits, the branch, and the names of workspace, task, step and check',
    '  the path and id of the key, which is of this repository alone unless key_derivation.account is set',
    '  the commands:',
    ...commands.slice(0, MAX_COMMANDS).map((command) => `    ${foreignCommand(command)}`),
    ...more,
    'Not what you asked for, no output, no history of the task, and no path outside the repository.',
  ];
  if (!context.json && !context.quiet) context.streams.err(`${lines.join('\n')}\n`);
  return context.confirm(`Push them to ${foreignName(remote)}?`, yes);
}

/** `receipts fetch`: what others published comes to a ref of its own. */
export const fetch: Handler = async (context, call) => {
  const repository = repositoryHere(context);
  const remote = unwrap(await remoteNamed(repository, call.operands[0]));
  const commit = unwrap(await fetchReceipts(repository, remote));
  const text =
    commit === undefined
      ? `${foreignName(remote)} has no receipts yet.\n`
      : `Fetched the receipts of ${foreignName(remote)} (${shortId(commit)}).\n`;
  const data: AnswerData<'receipts fetch'> = { remote, ref: remoteNotesRef(remote), commit: commit ?? null };
  return { exit: EXIT.done, text, data };
};
