/** Signals by which a process is asked to end. */
export const ENDING = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/**
 * Runs what is ended in order when the user or the system ends this process, or its caller what it asked for.
 * @param caller a caller's own wish, where the process serves several
 */
export async function cancellable<T>(
  caller: AbortSignal | undefined,
  run: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const controller = new AbortController();
  const abort = (): void => controller.abort();
  for (const signal of ENDING) process.on(signal, abort);
  caller?.addEventListener('abort', abort, { once: true });
  if (caller?.aborted === true) abort();
  try {
    return await run(controller.signal);
  } finally {
    for (const signal of ENDING) process.off(signal, abort);
    caller?.removeEventListener('abort', abort);
  }
}
