import { spawn } from 'node:child_process';
import type { Logger } from '../core/shared/ports';
import type { TaskRef } from '../core/task/taskRef';
import { captureOrder, capturesUnasked } from '../service/snapshots/backgroundCaptures';
import type { ServicePorts } from '../service/ports';

/**
 * Has files captured by a process of its own, which goes on when this one ends: whoever called the command doesn't wait
 * for it.
 * @param program the file of the `atlas` command
 */
export function captureStarter(
  program: string,
  env: NodeJS.ProcessEnv,
  root: string,
  log: Logger,
): NonNullable<ServicePorts['recorded']> {
  return (ref, what) => {
    const order = captureOrder(what);
    if (order === undefined || !capturesUnasked(env)) return;
    const point = order.point === undefined ? [] : ['--point', order.point];
    const args = [program, 'checkpoint', 'capture', '--task', nameOf(ref), ...point, ...order.checkpoints];
    try {
      const child = spawn(process.execPath, args, {
        ...{ cwd: root, detached: true, stdio: 'ignore', windowsHide: true },
        env: { ...env, ATLAS_HOME: root },
      });
      child.on('error', (error) => log.warn('Files were not captured.', { error: error.message }));
      child.unref();
    } catch (error) {
      log.warn('Files were not captured.', { error: String(error) });
    }
  };
}

function nameOf({ workspace, id }: TaskRef): string {
  return `${workspace}/${id}`;
}
