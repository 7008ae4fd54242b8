import type { ChildProcess } from 'node:child_process';
import { defined } from '../core/shared/defined';
import type { Logger } from '../core/shared/ports';
import type { TaskRef } from '../core/task/taskRef';
import { captureOrder, capturesUnasked } from '../service/snapshots/backgroundCaptures';
import type { ServicePorts } from '../service/ports';

/**
 * Has files captured by processes of their own, which go on when this one ends: whoever called the command doesn't wait for
 * them, but for what is to be captured before something else happens.
 */
export class CaptureStarter implements Required<Pick<ServicePorts, 'recorded' | 'heldCapture'>> {
  /** @param program the file of the `atlas` command */
  constructor(
    private readonly program: string,
    private readonly env: NodeJS.ProcessEnv,
    private readonly root: string,
    private readonly log: Logger,
  ) {}

  readonly recorded: NonNullable<ServicePorts['recorded']> = (ref, what) => {
    const { session, event } = what;
    const unasked = capturesUnasked(this.env)
      ? what
      : { event, checkpoints: [], mayCapture: false, ...defined({ session }) };
    const order = captureOrder(unasked);
    if (order === undefined) return;
    const point = order.point === undefined ? [] : ['--point', order.point];
    const named = order.session === undefined ? [] : ['--session', order.session];
    this.start(ref, [...point, ...named, ...order.checkpoints]);
  };

  readonly heldCapture: NonNullable<ServicePorts['heldCapture']> = async (ref, { name, until }) => {
    if (!capturesUnasked(this.env)) return;
    const child = this.start(ref, ['--before', name, '--until', String(until)]);
    if (child === undefined) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, until - Date.now()));
      child.once('exit', () => {
        clearTimeout(timer);
        resolve();
      });
      child.once('error', () => {
        clearTimeout(timer);
        resolve();
      });
    });
  };

  private start({ workspace, id }: TaskRef, args: readonly string[]): ChildProcess | undefined {
    const all = [this.program, 'checkpoint', 'capture', '--task', `${workspace}/${id}`, ...args];
    // Most commands start nothing, and loading it takes a while.
    const { spawn } = process.getBuiltinModule('node:child_process');
    try {
      const child = spawn(process.execPath, all, {
        ...{ cwd: this.root, detached: true, stdio: 'ignore', windowsHide: true },
        env: { ...this.env, ATLAS_HOME: this.root },
      });
      child.on('error', (error) => {
        this.log.warn('Files were not captured.', { error: error.message });
      });
      child.unref();
      return child;
    } catch (error) {
      this.log.warn('Files were not captured.', { error: String(error) });
      return undefined;
    }
  }
}
