import { setTimeout as sleep } from 'node:timers/promises';
import { codeOf } from '../system/files/fileErrors';
import { MARKER_VARIABLE } from './commandEnvironment';
import type { ProcessTable, SeenProcess } from './processTable';

/** How long processes are killed that start new ones, or that the system doesn't let go of, in ms. */
const KILL_MS = 5000;
const KILL_ROUND_MS = 50;
const [FIRST_PAUSE_MS, LONGEST_PAUSE_MS] = [5, 100];

/** The process that was started: the leader of its own group and session. */
export interface TreeRoot {
  readonly pid: number;
  /** True until its parent (this process) has taken note of its end: so long no other process gets its id. */
  alive(): boolean;
}

/** All that belongs to one command. */
export interface CommandTree {
  /** The last signal that was sent to it. */
  readonly lastSignal: NodeJS.Signals | undefined;
  /** Waits until nothing of it lives, for at most `ms`; false if something does. */
  gone(ms: number): Promise<boolean>;
  /** Ends it, at first politely. Returns when nothing lives that could be ended. */
  end(graceMs: number): Promise<void>;
}

/** Whether a condition comes to hold within `ms`; asked at once and then more and more seldom. */
export async function comesTrue(condition: () => Promise<boolean>, ms: number): Promise<boolean> {
  const deadline = performance.now() + ms;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    if (await condition()) return true;
    const left = deadline - performance.now();
    if (left <= 0) return false;
    await sleep(Math.min(pause, left));
  }
}

/**
 * The processes of a command on a POSIX system: its group and session, what carries its marker, the children of any
 * of these, and what was seen to be one of them before. Nothing else is ever sent a signal.
 */
export class ProcessTree implements CommandTree {
  lastSignal: NodeJS.Signals | undefined;
  /** By process id, when it began. */
  private readonly known = new Map<number, string>();
  /** Looked into without finding the marker: it can't get there later. */
  private readonly unmarked = new Map<number, string>();
  /** Run by another user, so that no signal reaches them. */
  private readonly untouchable = new Map<number, string>();
  /** The group's id stays ours as long as somebody is in it; later it may be given to another. */
  private groupIsOurs = true;

  constructor(
    private readonly root: TreeRoot,
    private readonly marker: string,
    private readonly table: ProcessTable,
    private readonly kill: (pid: number, signal: NodeJS.Signals) => void = (pid, signal) => process.kill(pid, signal),
  ) {}

  /** A root may come from a record that anybody can write, and to `kill` groups 0 and 1 are our own and everybody's. */
  private get hasGroup(): boolean {
    return this.root.pid > 1;
  }

  async gone(ms: number): Promise<boolean> {
    return comesTrue(async () => {
      const members = await this.members();
      return !this.root.alive() && members.every(({ pid, start }) => this.untouchable.get(pid) === start);
    }, ms);
  }

  async end(graceMs: number): Promise<void> {
    await this.signal('SIGTERM');
    if (await this.gone(graceMs)) return;
    const deadline = performance.now() + KILL_MS;
    do await this.signal('SIGKILL');
    while (!(await this.gone(KILL_ROUND_MS)) && performance.now() < deadline);
  }

  private async signal(signal: NodeJS.Signals): Promise<void> {
    const members = await this.members();
    const { root } = this;
    this.lastSignal = signal;
    // One call reaches the whole group, also what is being forked just now.
    const led = this.hasGroup && root.alive();
    if (led) this.send(-root.pid, signal);
    for (const member of members) {
      if (led && (member.pid === root.pid || member.group === root.pid)) continue;
      if (!this.table.lives(member) || this.send(member.pid, signal) !== 'EPERM') continue;
      this.untouchable.set(member.pid, member.start);
    }
  }

  private send(target: number, signal: NodeJS.Signals): string {
    try {
      this.kill(target, signal);
      return '';
    } catch (error) {
      return codeOf(error);
    }
  }

  private async members(): Promise<readonly SeenProcess[]> {
    const wasAlive = this.root.alive();
    const seen = await this.table.look();
    const inGroup = seen.filter(({ group, session }) => group === this.root.pid || session === this.root.pid);
    // An ended leader's id is free only when its group is empty: a leader that lives is another one.
    if (!wasAlive && (inGroup.length === 0 || inGroup.some(({ pid }) => pid === this.root.pid))) {
      this.groupIsOurs = false;
    }
    const members = this.withDescendants(seen, [
      ...(this.hasGroup && this.groupIsOurs ? inGroup : []),
      ...this.recognized(seen),
    ]);
    for (const { pid, start } of members) this.known.set(pid, start);
    return members;
  }

  private recognized(seen: readonly SeenProcess[]): SeenProcess[] {
    return seen.filter((each) => {
      if (this.known.get(each.pid) === each.start) return true;
      if (this.unmarked.get(each.pid) === each.start) return false;
      if (this.table.carries(each, MARKER_VARIABLE, this.marker)) return true;
      this.unmarked.set(each.pid, each.start);
      return false;
    });
  }

  private withDescendants(seen: readonly SeenProcess[], own: readonly SeenProcess[]): SeenProcess[] {
    const children = new Map<number, SeenProcess[]>();
    for (const each of seen) children.set(each.parent, [...(children.get(each.parent) ?? []), each]);
    const members = new Map<number, SeenProcess>();
    const open = [...own];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      // Neither this process nor who started it, whatever their environment says.
      if (members.has(next.pid) || next.pid === process.pid || next.pid === process.ppid) continue;
      members.set(next.pid, next);
      open.push(...(children.get(next.pid) ?? []));
    }
    return [...members.values()];
  }
}
