/** What waits for its turn, the longest first. */
export type Line = (() => void)[];

/** Lines with somebody in them; the next turn is the first one's. */
const lines: Line[] = [];

function resumeOne(): void {
  const line = lines.shift();
  line?.shift()?.();
  if (line !== undefined && line.length > 0) lines.push(line);
  if (lines.length > 0) setImmediate(resumeOne);
}

/** A turn for all that waits. Of several works one goes on at a time: their slices would add up to one long one. */
async function othersTurn(line: Line): Promise<void> {
  return new Promise((resolve) => {
    line.push(resolve);
    if (line.length > 1) return;
    lines.push(line);
    if (lines.length === 1) setImmediate(resumeOne);
  });
}

/**
 * Cuts long work into slices, so that whatever else the process has to do gets its turn between them. Each work has its
 * own: of several that share one, all would go on within the slice of any.
 */
export class Slices {
  /** A work waits before it begins: many may be begun at once. */
  private end = 0;

  /**
   * @param length of a slice in ms
   * @param line shared by works of one kind that are begun many at once: between two of them, every other line has its
   *   turn. A work without one waits for none of its kind.
   */
  constructor(
    private readonly length: number,
    private readonly line: Line = [],
  ) {}

  /** Between two pieces of work: goes on at once within a slice, and after the others' turn at its end. */
  async turn(): Promise<void> {
    if (performance.now() < this.end) return;
    await othersTurn(this.line);
    this.end = performance.now() + this.length;
  }
}

/** Work in pieces: yields between two of them, and returns what came of it. */
export type Pieces<T> = Generator<void, T>;

/** All pieces at once. */
export function atOnce<T>(work: Pieces<T>): T {
  let step = work.next();
  while (step.done !== true) step = work.next();
  return step.value;
}

/** The pieces in slices of that length (ms). */
export async function inSlices<T>(work: Pieces<T>, length: number): Promise<T> {
  const slices = new Slices(length);
  for (;;) {
    await slices.turn();
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
