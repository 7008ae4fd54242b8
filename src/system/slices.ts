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
    await new Promise((resolve) => setImmediate(resolve));
    this.end = performance.now() + this.length;
  }
}
