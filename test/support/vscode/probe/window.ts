import { Workbench, type WorkbenchOptions } from '../workbench';
import { type Probe, ProbeServer } from './probe';

/** The id of our item in the status bar. */
export const STATUS = 'atlas-hooks.atlas-hooks.atlas.status';

/** A window whose extension host can be asked what it holds. */
export interface ProbedWindow {
  readonly workbench: Workbench;
  /** The extension host of the window as it was opened. */
  readonly probe: Probe;
  /** Reloads the window; gives its new extension host. */
  reload(): Promise<Probe>;
  close(): Promise<void>;
}

/** Opens a window; the probe is one of `extensions`. */
export async function openProbedWindow(
  options: WorkbenchOptions & { readonly extensions: readonly string[] },
): Promise<ProbedWindow> {
  const server = await ProbeServer.open();
  try {
    const workbench = await Workbench.open({ ...options, env: { ...options.env, ...server.env } });
    return {
      workbench,
      probe: await server.next(),
      reload: async () => {
        await workbench.reloadWindow();
        return server.next();
      },
      close: async () => {
        await workbench.close();
        server.close();
      },
    };
  } catch (error) {
    server.close();
    throw error;
  }
}
