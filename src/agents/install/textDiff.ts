import { diffArrays } from 'diff';

/** Beyond this many lines that differ, comparing line by line takes too long for what it shows. */
const MAX_EDITS = 2000;
const CONTEXT = 2;

/** What changes between two texts, line by line with a mark before each, with a few lines around it; empty where nothing does. */
export function textDiff(before: string, after: string): string {
  const [a, b] = [linesOf(before), linesOf(after)];
  const changes = diffArrays(a, b, { maxEditLength: MAX_EDITS }) ?? [
    { value: a, removed: true, added: false },
    { value: b, removed: false, added: true },
  ];
  const lines = changes.flatMap(({ value, added, removed }) =>
    value.map((text) => ({ mark: added ? '+' : removed ? '-' : ' ', text })),
  );
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(({ mark }) => mark !== ' '),
  );
  return lines
    .flatMap(({ mark, text }, index) =>
      near[index] === true ? [`${mark} ${text}\n`] : near[index - 1] === true ? ['  …\n'] : [],
    )
    .join('');
}

function linesOf(text: string): string[] {
  return text === '' ? [] : text.split(/\r?\n/u);
}
