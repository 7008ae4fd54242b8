/** Beyond this, comparing line by line takes too long for what it shows. */
const MAX_LINES = 2000;
const CONTEXT = 2;

type Line = readonly [mark: ' ' | '-' | '+', text: string];

/** What changes between two texts, line by line with a mark before each, with a few lines around it; empty where nothing does. */
export function textDiff(before: string, after: string): string {
  if (before === after) return '';
  const [a, b] = [before, after].map((text) => (text === '' ? [] : text.split(/\r?\n/u))) as [string[], string[]];
  const lines = a.length > MAX_LINES || b.length > MAX_LINES ? whole(a, b) : compare(a, b);
  const near = lines.map((_, index) =>
    lines.slice(Math.max(0, index - CONTEXT), index + CONTEXT + 1).some(([mark]) => mark !== ' '),
  );
  return lines
    .flatMap(([mark, text], index) =>
      near[index] === true ? [`${mark} ${text}\n`] : near[index - 1] === true ? ['  …\n'] : [],
    )
    .join('');
}

function whole(a: readonly string[], b: readonly string[]): Line[] {
  return [...a.map((text): Line => ['-', text]), ...b.map((text): Line => ['+', text])];
}

/** By the longest lines in common. */
function compare(a: readonly string[], b: readonly string[]): Line[] {
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number): number => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i -= 1)
    for (let j = b.length - 1; j >= 0; j -= 1)
      common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      lines.push([' ', a[i] ?? '']);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && at(i + 1, j) >= at(i, j + 1))) {
      lines.push(['-', a[i] ?? '']);
      i += 1;
    } else {
      lines.push(['+', b[j] ?? '']);
      j += 1;
    }
  }
  return lines;
}
