/** How long after a change the tree is drawn, in ms: several changes are drawn at once. */
const SOON_MS = 100;
/** So often that happens in a row; then once in the time below (ms), which also allows one more. */
const BURST = 20;
const STEADY_MS = 2000;

/**
 * When the tree is drawn. Under changes that never end it is drawn less often: rows that are replaced all the time can't
 * be clicked, and VS Code keeps something of each row that it ever drew.
 */
export class Pace {
  private timer: NodeJS.Timeout | undefined;
  private spare = BURST;
  private counted = performance.now();

  constructor(private readonly draw: () => void) {}

  /** Draws soon; several calls draw once. */
  soon(): void {
    if (this.timer !== undefined) return;
    const now = performance.now();
    this.spare = Math.min(BURST, this.spare + (now - this.counted) / STEADY_MS);
    this.counted = now;
    const wait = this.spare < 1 ? STEADY_MS : SOON_MS;
    this.spare = Math.max(0, this.spare - 1);
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.draw();
    }, wait);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}
