import type { ResponseMessage } from '../../src/protocol/requests';

/** The editor's side of a webview. */
export interface HostApi {
  postMessage(message: unknown): void;
  /** What was kept, over a reload too. */
  getState(): unknown;
  setState(state: unknown): void;
}

declare function acquireVsCodeApi(): HostApi;

/** The one handle to the editor; it can be had once. */
export function hostApi(): HostApi {
  return acquireVsCodeApi();
}

/** How long the host may take to say that it has a request, in ms. What it then does may take as long as a person. */
export const ACCEPT_TIMEOUT_MS = 5000;

/** Why a request came to nothing, fit to be shown. */
export class RequestError extends Error {
  override readonly name = 'RequestError';

  constructor(
    message: string,
    readonly hint: string | undefined,
  ) {
    super(message);
  }
}

interface Pending {
  readonly resolve: () => void;
  readonly reject: (error: RequestError) => void;
  readonly timer: ReturnType<typeof setTimeout>;
}

/** Numbers requests, and settles each by the answer that carries its number, or by time. */
export class Requests<T> {
  private readonly pending = new Map<number, Pending>();
  private last = 0;

  constructor(
    private readonly post: (message: { type: 'request'; id: number; request: T }) => void,
    private readonly timedOut: () => string,
    private readonly timeoutMs: number = ACCEPT_TIMEOUT_MS,
  ) {}

  /** Sends a request; rejects with a `RequestError` when the host refuses it or doesn't take it. */
  send(request: T): Promise<void> {
    this.last += 1;
    const id = this.last;
    return new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        this.pending.delete(id);
        reject(new RequestError(this.timedOut(), undefined));
      }, this.timeoutMs);
      this.pending.set(id, { resolve, reject, timer });
      this.post({ type: 'request', id, request });
    });
  }

  /** Takes an answer; one that nobody waits for any more is dropped. */
  settle(response: ResponseMessage): void {
    const waiting = this.pending.get(response.id);
    if (waiting === undefined) return;
    clearTimeout(waiting.timer);
    if (response.type === 'accepted') return;
    this.pending.delete(response.id);
    if (response.type === 'done') waiting.resolve();
    else waiting.reject(new RequestError(response.message, response.hint));
  }
}
