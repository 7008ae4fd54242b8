import { EventEmitter, once } from 'node:events';
import { type AddressInfo, type Server, type Socket, createServer } from 'node:net';
import { createInterface } from 'node:readline';
import type { Answers, Told } from './extension';

type ArgOf<N extends keyof Answers> = Parameters<Answers[N]> extends [infer Arg] ? [arg: Arg] : [];
type Answer = { readonly id: number; readonly result?: unknown; readonly error?: string };

/** The extension host of one window, seen from the process that opened it. */
export class Probe {
  private readonly pending = new Map<number, (answer: Answer) => void>();
  private readonly events = new EventEmitter<Record<Told['event'], [at: number]>>();
  private asked = 0;

  constructor(private readonly socket: Socket) {
    createInterface(socket).on('line', (line) => this.take(JSON.parse(line) as Answer | Told));
    socket.on('close', () => {
      for (const [id, settle] of this.pending) settle({ id, error: 'the extension host is gone' });
    });
  }

  /** Asks for something; rejects with the error that came of it, and when the extension host ends. */
  async ask<N extends keyof Answers>(name: N, ...args: ArgOf<N>): Promise<Awaited<ReturnType<Answers[N]>>> {
    this.asked += 1;
    const id = this.asked;
    const answer = new Promise<Answer>((resolve) => this.pending.set(id, resolve));
    this.socket.write(`${JSON.stringify([id, name, args[0]])}\n`);
    const { result, error } = await answer;
    this.pending.delete(id);
    if (error !== undefined) throw new Error(`${name}: ${error}`);
    return result as Awaited<ReturnType<Answers[N]>>;
  }

  /** When (ms since 1970) the window next learns of a change of a watched file or a task. */
  async next(event: Told['event']): Promise<number> {
    const [at] = (await once(this.events, event)) as [at: number];
    return at;
  }

  private take(message: Answer | Told): void {
    if ('event' in message) this.events.emit(message.event, message.at);
    else this.pending.get(message.id)?.(message);
  }
}

/** Where extension hosts sign in. */
export class ProbeServer {
  private readonly waiting: Probe[] = [];
  private announce: () => void = () => undefined;

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => {
      socket.on('error', () => socket.destroy()); // a host that is killed says no goodbye
      this.waiting.push(new Probe(socket));
      this.announce();
    });
  }

  /** Listens on loopback. */
  static async open(): Promise<ProbeServer> {
    const server = createServer();
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return new ProbeServer(server);
  }

  /** For the environment of the editor. */
  get env(): Readonly<Record<string, string>> {
    return { HOST_PROBE_PORT: String((this.server.address() as AddressInfo).port) };
  }

  /** The extension host that signed in next after the last one that was asked for. */
  async next(): Promise<Probe> {
    for (;;) {
      const probe = this.waiting.shift();
      if (probe !== undefined) return probe;
      await new Promise<void>((resolve) => (this.announce = resolve));
    }
  }

  /** Ends it; what is connected goes on. */
  close(): void {
    this.server.close();
  }
}
