/** The editor has stopped asking when it hasn't for so long, in ms: each of its questions follows the answer to the last. */
const QUIET_MS = 500;
/** Rows are drawn again though a question is still open after so long, in ms. */
const PATIENCE_MS = 2000;

interface Question {
  /** The row below which rows are asked for. */
  readonly below: string | undefined;
  stale: boolean;
}

/**
 * What the editor asks of a tree while rows are drawn again. An editor as old as 1.104 doesn't know the rows below one
 * from when it begins to draw that again until it was told of them anew, which takes as long as its questions are under
 * way. A row that a person opens in between stays open and empty, and it doesn't say so: hence it is concluded which rows
 * that may be. An answer about rows that it knows no more would be one too many for good ("already registered").
 */
export class RowAsks {
  private readonly open = new Set<Question>();
  /** The rows that the editor has to be told of anew, by id: whether it has asked since what is below. */
  private readonly again = new Map<string, boolean>();
  private waiting: (() => void)[] = [];
  private quiet: NodeJS.Timeout | undefined;

  /** @param onUnasked called with the rows below which nothing was asked for once the editor has stopped asking */
  constructor(private readonly onUnasked: (ids: readonly string[]) => void) {}

  /**
   * Answers a question of the editor.
   * @param below the row below which it asks for rows, or undefined where it is about a row by itself
   * @param answer asks, when it is done, whether its answer is about rows that the editor knows no more
   */
  async answer<T>(below: string | undefined, answer: (isStale: () => boolean) => Promise<T>): Promise<T> {
    const question = { below, stale: false };
    this.open.add(question);
    clearTimeout(this.quiet);
    try {
      return await answer(() => question.stale);
    } finally {
      this.open.delete(question);
      // A question that follows from this answer is asked before anything else is done.
      setImmediate(() => this.afterAnswer());
    }
  }

  private afterAnswer(): void {
    if (this.open.size > 0) return;
    for (const resume of this.waiting.splice(0)) resume();
    clearTimeout(this.quiet);
    if (this.again.size > 0) this.quiet = setTimeout(() => this.conclude(), QUIET_MS);
  }

  private conclude(): void {
    const unasked = [...this.again].filter(([, asked]) => !asked).map(([id]) => id);
    this.again.clear();
    this.onUnasked(unasked);
  }

  /** The editor asks what is below a row. */
  asked(id: string): void {
    if (this.again.has(id)) this.again.set(id, true);
  }

  /** The editor will have to be told of these rows anew. */
  drawnAgain(ids: Iterable<string>): void {
    for (const id of ids) this.again.set(id, false);
  }

  /**
   * The editor begins to draw a row again, and knows those below it no more.
   * @param rows it and those below it, by id
   * @returns those of them below which it was just asking: their answers are stale
   */
  begun(rows: ReadonlySet<string>): string[] {
    const stale: string[] = [];
    for (const question of this.open) {
      const { below } = question;
      if (below === undefined || !rows.has(below)) continue;
      question.stale = true;
      this.again.set(below, false);
      stale.push(below);
    }
    return stale;
  }

  /** When no question is open. */
  async idle(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.open.size === 0) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(resolve, PATIENCE_MS);
      this.waiting.push(() => {
        clearTimeout(late);
        resolve();
      });
    });
  }

  dispose(): void {
    clearTimeout(this.quiet);
  }
}
