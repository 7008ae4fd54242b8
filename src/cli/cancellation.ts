/** Signals by which a process is asked to end. */
export const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** Cancels when the user or the system ends this process, or its caller what it asked for: what runs is ended in order. */
export class Cancellation {
  private readonly controller = new AbortController();
  private readonly abort = (): void => {
    this.controller.abort();
  };

  /** @param caller a caller's own wish, where the process serves several */
  constructor(private readonly caller?: AbortSignal) {
    for (const signal of ENDING) process.on(signal, this.abort);
    caller?.addEventListener('abort', this.abort, { once: true });
    if (caller?.aborted === true) this.abort();
  }

  get signal(): AbortSignal {
    return this.controller.signal;
  }

  dispose(): void {
    for (const signal of ENDING) process.off(signal, this.abort);
    this.caller?.removeEventListener('abort', this.abort);
  }
}
