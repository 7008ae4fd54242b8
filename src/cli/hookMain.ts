import type { HostName, LifecycleEvent } from '../agents/hosts/hosts';
import { answering } from './render/answering';
import { Call } from './parse/call';
import { CliContext, type Surroundings } from './context';
import { lifecycleEvent } from './commands/lifecycle/lifecycle';

/** An event that a host's hook tells of. */
export interface QuickHook {
  readonly event: LifecycleEvent & ('session-start' | 'stop' | 'subagent-stop');
  readonly host: HostName;
}

/** Runs `lifecycle <event> --host <host>`, as `runCli` would, and gives what to exit with. */
export async function runHook({ event, host }: QuickHook, surroundings: Surroundings): Promise<number> {
  const context = new CliContext(surroundings, false, false);
  const call = new Call([], [], { host });
  return answering({ name: `lifecycle ${event}`, byHost: true }, context, async () =>
    lifecycleEvent(event)(context, call),
  );
}
