/** After it was drawn, changes of so long (ms) are drawn together. */
const TOGETHER_MS = 100;
/** So often it is drawn as soon as that in a row; each of the times below (ms) allows one more. */
const BURST = 50;
const STEADY_MS = 1000;

/**
 * When the tree is drawn. Under changes that never end it is drawn less often: rows that are replaced all the time can't
 * be clicked, and VS Code keeps something of each row that it ever drew.
 */
export class RefreshThrottle {
  private timer: NodeJS.Timeout | undefined;
  private spare = BURST;
  private counted = performance.now();
  private drawn = -Infinity;

  constructor(private readonly draw: () => void) {}

  /** Draws in a turn of its own, at once or, if that was done just now, a moment later; several calls draw once. */
  soon(): void {
    if (this.timer !== undefined) return;
    const now = performance.now();
    this.spare = Math.min(BURST, this.spare + (now - this.counted) / STEADY_MS);
    this.counted = now;
    const wait = Math.max(0, this.drawn + TOGETHER_MS - now, (1 - this.spare) * STEADY_MS);
    this.spare -= 1;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.drawn = performance.now();
      this.draw();
    }, wait);
  }

  dispose(): void {
    clearTimeout(this.timer);
  }
}
