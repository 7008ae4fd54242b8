/** A turn for all that waits. */
const othersTurn = async (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Cuts long work into slices, so that whatever else the process has to do gets its turn between them. */
export class Slices {
  private end: number;

  /** @param length of a slice in ms */
  constructor(private readonly length: number) {
    this.end = performance.now() + length;
  }

  /** Between two pieces of work: goes on at once within a slice, and after the others' turn at its end. */
  async turn(): Promise<void> {
    if (performance.now() < this.end) return;
    await othersTurn();
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

/** The pieces in slices of that length (ms). Whatever its caller did before has had a turn of its own. */
export async function inSlices<T>(work: Pieces<T>, length: number): Promise<T> {
  await othersTurn();
  const slices = new Slices(length);
  let step = work.next();
  while (step.done !== true) {
    await slices.turn();
    step = work.next();
  }
  return step.value;
}
