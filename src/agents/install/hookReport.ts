import type { ServicePorts } from '../../service/ports';
import { EventLog } from '../lifecycle/eventLog';
import { type WiredHook, commandOf } from './hookEntries';
import { hookStarts } from './hookStart';
import { type FiredHook, type Trial, type TrialPorts, tryHook } from './hookTrial';
import { HOSTS, type Host, type HostEvent, type HostName } from '../hosts/hosts';
import { defined } from '../../core/shared/defined';
import { Installer } from './installer';

/** A hook of a host in a repository. */
export interface LifecycleHookLine {
  readonly host: Host;
  readonly event: HostEvent;
  readonly installed: boolean;
  /** Why it can't work as it stands in the file. */
  readonly fault?: string;
  /** When its host called it last in this repository, as a timestamp. */
  readonly lastFired: string | undefined;
  /** Of a report with trials, for what is installed and runs a command. */
  readonly trial?: Trial;
}

/** The hooks of all hosts in a repository, and what is to be known about them. */
export interface LifecycleHookReport {
  readonly lines: readonly LifecycleHookLine[];
  /** Files that can't be read, hooks that are missing. */
  readonly problems: readonly string[];
  readonly notes: readonly string[];
}

/** What the hosts' hooks of a repository are looked at with. */
export interface HookLookPorts extends Pick<ServicePorts, 'files' | 'ids' | 'paths'> {
  /** How `atlas` is started: the program and its first arguments. */
  readonly command: readonly string[];
  readonly env: NodeJS.ProcessEnv;
}

/**
 * Which hooks are wired where and when each was called last.
 * @param fire the hosts whose hooks are fired as they would, to say what comes of it
 */
export async function checkHooks(
  ports: HookLookPorts,
  worktree: string,
  fire: readonly HostName[],
): Promise<LifecycleHookReport> {
  const installer = new Installer(ports, worktree);
  const log = new EventLog(ports.files, ports.paths);
  const called = log.entries().filter(({ folder, check }) => folder === worktree && check === undefined);
  const problems: string[] = [];
  const lines: LifecycleHookLine[] = [];
  for (const host of Object.values(HOSTS)) {
    const installed = installer.installed(host);
    if (!installed.ok) problems.push(installed.error.message);
    const hooks = installed.ok ? installed.value : [];
    for (const event of host.events) {
      const own = hooks.filter((hook) => hook.event === event.event);
      const fault = faultOf(ports.command, host, event, own);
      const command = own.find((hook) => hook.command !== undefined)?.command;
      const fired = { host, event, command: command ?? '', folder: worktree };
      const trial =
        fire.includes(host.name) && command !== undefined
          ? await trialOf({ ...ports, log, elapsed }, fired, fault)
          : undefined;
      lines.push({
        host,
        event,
        installed: own.length > 0,
        ...defined({ fault }),
        lastFired: called.findLast((entry) => entry.host === host.name && entry.event === event.event)?.at,
        ...defined({ trial }),
      });
    }
  }
  return { lines, problems: [...problems, ...missing(lines)], notes: shared(lines) };
}

const elapsed = (): number => performance.now();

/** A repository's file may name any program: only this one is ever run. */
function faultOf(
  command: readonly string[],
  host: Host,
  { event }: HostEvent,
  own: readonly WiredHook[],
): string | undefined {
  const commands = own.flatMap((hook) => hook.command ?? []);
  const ours = hookStarts(command).map((start) => commandOf(start, host, event));
  if (commands.some((each) => !ours.includes(each))) return 'It starts a different program than this atlas.';
  return commands.length > 1 ? 'It is installed more than once.' : undefined;
}

async function trialOf(ports: TrialPorts, fired: FiredHook, fault: string | undefined): Promise<Trial> {
  if (fault === undefined) return tryHook(ports, fired);
  return { ms: 0, problem: `${fault} It was not run.` };
}

/** The hosts of which some hooks are installed, and some not. */
function missing(lines: readonly LifecycleHookLine[]): string[] {
  const partly = Object.values(HOSTS).filter((host) => {
    const own = lines.filter((line) => line.host === host);
    return own.some(({ installed }) => installed) && own.some(({ installed }) => !installed);
  });
  return partly.map(
    ({ title, name }) => `${title}: not all lifecycle hooks are installed. Run: atlas lifecycle install --host ${name}`,
  );
}

function shared(lines: readonly LifecycleHookLine[]): string[] {
  const has = (name: HostName): boolean => lines.some(({ host, installed }) => host.name === name && installed);
  const text =
    "VS Code also reads Claude Code's lifecycle hooks, so each event arrives twice there. One of the two is enough.";
  return has('claude') && has('vscode') ? [text] : [];
}
