import { defined } from '../shared/defined';
import { historyEvent } from '../history/historyEvent';
import * as z from 'zod/mini';
import { type TaskRecord, isInFlight, isTerminal } from '../task/taskRecord';
import { newestKnown, toMs } from '../shared/time';

/** What kinds of process can be at work on a task. */
export const OWNER_KINDS = ['window', 'agent', 'validation'] as const;

/** A process, named so that it can be told from a later one with the same id. */
export const processIdentitySchema = z.object({
  machine_id: z.string(),
  boot_id: z.string(),
  pid_namespace: z.string(),
  pid: z.int(),
  /** When the process started, in the system's own unit; empty where it can't be had. */
  start_time: z.string(),
  incarnation: z.string(),
});

/** owners/<incarnation>.json: a process that lives as long as work on the task does. Its mtime is its last touch. */
export const ownerFileSchema = z.looseObject({
  kind: z.enum(OWNER_KINDS),
  process: processIdentitySchema,
  /** The step and attempt it is bound to. */
  step_index: z.optional(z.int()),
  attempt: z.optional(z.int()),
  started_at: z.string(),
  signed_off_at: z.optional(z.string()),
  exit_code: z.optional(z.int()),
  exit_signal: z.optional(z.string()),
  /** The agent's session, where the process is the agent's own and not one that watches it. */
  session_id: z.optional(z.string()),
  /** What the agent said of its failure, in its host's words. */
  failure: z.optional(z.string()),
  /** When this machine last stood still while the process lived: it slept, or its clock was moved. */
  slept: z.optional(z.object({ from: z.string(), until: z.string() })),
});

/** For how long (ms) after a sign of life an id that is in use is taken for the process that gave it: two touches. */
export const SIGN_TRUSTED_MS = 120_000;

/** Who a process is. */
export type ProcessIdentity = z.infer<typeof processIdentitySchema>;
/** What an owner file says. */
export type OwnerFile = z.infer<typeof ownerFileSchema>;

/** Whether an owner's process lives: `rebooted` is provably dead too, `unknown` can't be seen from here. */
export type Vitality = 'alive' | 'dead' | 'rebooted' | 'unknown';

/** An owner as observed. */
export interface Owner {
  readonly file: OwnerFile;
  readonly vitality: Vitality;
  /** ms since the epoch. */
  readonly lastTouch: number;
}

/** The finer cause of a crash. */
export type CrashCause =
  /** The agent's process ended. */
  | 'agent_killed'
  /** It ended with an error, or reported one. */
  | 'agent_failed'
  | 'validation_died'
  /** The window's extension host ended without signing off. */
  | 'window_died'
  /** The window was closed in order, and nobody went on. */
  | 'window_closed'
  /** The agent failed right after the machine had slept. */
  | 'machine_slept'
  | 'machine_rebooted'
  | 'silence'
  | 'requested';

/** `signal`: a death was seen. `timeout`: silence. `unknown`: no or contradictory signs. */
export type CrashType = 'signal' | 'timeout' | 'unknown';

/** What is going on with a task. */
export type Diagnosis =
  | { readonly kind: 'over' }
  | { readonly kind: 'waiting'; readonly for: 'start' | 'human' }
  | { readonly kind: 'recovering' }
  | { readonly kind: 'working' }
  /** Nobody owns it, but it was touched not long ago; or no time can be trusted. */
  | { readonly kind: 'recent'; readonly clockSuspect: boolean }
  /** A window lives, but the agent shows no sign. Times in ms. */
  | { readonly kind: 'quiet'; readonly since: number }
  /** The agent left cleanly or was interrupted by its user: a human says what now. */
  | { readonly kind: 'agent_left'; readonly exitCode: number }
  | CrashFinding;

/** A crash: what is known of it and when the last sign of life was (ms). */
export interface CrashFinding {
  readonly kind: 'crashed';
  readonly type: CrashType;
  readonly cause: CrashCause;
  readonly lastSign: number;
  /** What the agent's host said of its failure; a text from outside. */
  readonly failure?: string;
}

/** Exit codes after which an agent's user wanted it to end: success, SIGINT, SIGTERM. */
const USER_ENDED = new Set([0, 130, 143]);
/** The same, where the exit is known as a signal: with the exit code that a shell gives. */
const USER_SIGNALS: Readonly<Record<string, number>> = { SIGINT: 130, SIGTERM: 143 };

const NO_AGENT_SIGN = new Set(['crash_detected', 'adopted_edit', 'acknowledge', 'observe', 'restore']);

/** History triggers that show a live agent; an interval checkpoint and what Atlas does itself don't. */
function isAgentSign(event: TaskRecord['history'][number]): boolean {
  if (NO_AGENT_SIGN.has(event.trigger)) return false;
  const read = historyEvent(event);
  return read.type !== 'checkpoint' || read.details.trigger !== 'interval';
}

/** When an event happened that was noticed only later, RFC 3339. */
function earlierTime(event: TaskRecord['history'][number]): string | undefined {
  const read = historyEvent(event);
  return read.type === 'checkpoint' ? read.details.at : undefined;
}

/** When an event happened (ms), which for one that was noticed later is not when it was recorded. */
function happenedAt(event: TaskRecord['history'][number]): number {
  return toMs(earlierTime(event) ?? event.timestamp);
}

/** The last change (ms) that shows life: a commit that was only noticed late doesn't make the task younger. */
function lastChange(hook: TaskRecord): number {
  let newest = Number.NEGATIVE_INFINITY;
  for (let index = hook.history.length - 1; index >= 0; index -= 1) {
    const event = hook.history[index];
    if (event === undefined) break;
    // Whoever only looks makes the task no younger.
    if (event.trigger === 'observe') continue;
    if (earlierTime(event) === undefined) {
      return Math.max(newest, index === hook.history.length - 1 ? toMs(hook.updated_at) : toMs(event.timestamp));
    }
    newest = Math.max(newest, happenedAt(event));
  }
  return Math.max(newest, toMs(hook.created_at));
}

/** The last time (ms) at which the agent showed a sign: a transition, a checkpoint, a changed file. */
export function lastAgentSign(
  hook: TaskRecord,
  now: number,
  others: readonly (number | undefined)[] = [],
): number | undefined {
  const signs: (number | undefined)[] = [...others];
  for (let index = hook.history.length - 1; index >= 0; index -= 1) {
    const event = hook.history[index];
    if (event === undefined || !isAgentSign(event)) continue;
    signs.push(happenedAt(event));
    // A time in the future is unknown, and what lies before it no longer says when the last sign was.
    if (earlierTime(event) === undefined) return newestKnown(signs, now);
  }
  return newestKnown([...signs, toMs(hook.created_at)], now);
}

/** What `diagnose` looks at beside the hook. Times in ms. */
export interface Signs {
  readonly now: number;
  readonly owners: readonly Owner[];
  readonly staleThresholdMs: number;
  /** Times of lifecycle events and changed files, if known. */
  readonly otherSigns?: readonly number[];
}

/** Says whether a task is at work, waits, is quiet or has crashed. Pure. */
export function diagnose(hook: TaskRecord, signs: Signs): Diagnosis {
  if (isTerminal(hook.state)) return { kind: 'over' };
  if (hook.state === 'recovering') return { kind: 'recovering' };
  if (hook.state === 'awaiting_human') return { kind: 'waiting', for: 'human' };
  if (!isInFlight(hook.state)) return { kind: 'waiting', for: 'start' };
  const relevant = signs.owners.filter((owner) => isBoundHere(owner, hook));
  const dead = diagnoseWorkers(hook, relevant, signs);
  if (dead !== undefined) return dead;
  return diagnoseOwners(hook, relevant, signs);
}

/** Only an agent or validation bound to the present step and attempt counts; a window counts for all. */
function isBoundHere(owner: Owner, hook: TaskRecord): boolean {
  if (owner.file.kind === 'window') return true;
  const step = hook.current_step;
  if (owner.file.step_index === undefined) return true;
  return owner.file.step_index === step?.step_index && owner.file.attempt === step.attempt;
}

function isDead(owner: Owner): boolean {
  return owner.vitality === 'dead' || owner.vitality === 'rebooted';
}

function lastSignOf(hook: TaskRecord, owners: readonly Owner[], now: number): number | undefined {
  return newestKnown([lastChange(hook), ...owners.map((owner) => owner.lastTouch)], now);
}

/** A bound agent or the running validation that died or failed. */
function diagnoseWorkers(hook: TaskRecord, owners: readonly Owner[], signs: Signs): Diagnosis | undefined {
  const lastSign = lastSignOf(hook, owners, signs.now) ?? toMs(hook.updated_at);
  for (const owner of owners) {
    const { kind, exit_code: code, exit_signal: signal, signed_off_at: signedOff, failure } = owner.file;
    if (kind === 'window') continue;
    const crash = (cause: CrashCause): CrashFinding => ({
      kind: 'crashed',
      type: 'signal',
      cause,
      lastSign,
      ...defined({ failure }),
    });
    const asked = signal === undefined ? undefined : USER_SIGNALS[signal];
    if (asked !== undefined) return { kind: 'agent_left', exitCode: asked };
    if (signal !== undefined) return crash('agent_killed');
    if (code !== undefined && !USER_ENDED.has(code))
      return crash(endedAfterSleep(owner, owners, signs) ? 'machine_slept' : 'agent_failed');
    if (code !== undefined) return { kind: 'agent_left', exitCode: code };
    if (signedOff !== undefined || !isDead(owner)) continue;
    if (owner.vitality === 'rebooted') return crash('machine_rebooted');
    return crash(kind === 'validation' ? 'validation_died' : 'agent_killed');
  }
  return undefined;
}

/** Whether an agent ended so soon after the machine woke that its sleep is why: what it waited for is gone then. */
function endedAfterSleep(agent: Owner, owners: readonly Owner[], { staleThresholdMs }: Signs): boolean {
  const ended = toMs(agent.file.signed_off_at ?? '');
  return owners.some(({ file: { slept } }) => {
    if (slept === undefined) return false;
    const awake = ended - toMs(slept.until);
    return ended >= toMs(slept.from) && awake <= staleThresholdMs;
  });
}

function diagnoseOwners(hook: TaskRecord, owners: readonly Owner[], signs: Signs): Diagnosis {
  const { now, staleThresholdMs } = signs;
  const present = owners.filter((owner) => owner.file.signed_off_at === undefined);
  const alive = present.filter((owner) => owner.vitality === 'alive' || isFreshElsewhere(owner, signs));
  if (alive.length > 0) return diagnoseQuiet(hook, alive, { ...signs, otherSigns: signsOf(owners, signs) });
  const dead = present.filter(isDead);
  const lastSign = lastSignOf(hook, owners, now);
  if (dead.length > 0) {
    const rebooted = dead.every((owner) => owner.vitality === 'rebooted');
    const cause = rebooted ? 'machine_rebooted' : 'window_died';
    return { kind: 'crashed', type: 'signal', cause, lastSign: lastSign ?? toMs(hook.updated_at) };
  }
  if (lastSign === undefined) return { kind: 'recent', clockSuspect: true };
  if (now - lastSign > staleThresholdMs)
    return { kind: 'crashed', type: 'timeout', cause: wasClosed(hook, owners) ? 'window_closed' : 'silence', lastSign };
  return present.length > 0 ? { kind: 'working' } : { kind: 'recent', clockSuspect: false };
}

/** Whether the last that is known of a task is that its window was closed. */
function wasClosed(hook: TaskRecord, owners: readonly Owner[]): boolean {
  const changed = lastChange(hook);
  if (owners.some(({ file }) => file.signed_off_at === undefined)) return false;
  return owners.some(({ file }) => file.kind === 'window' && toMs(file.signed_off_at ?? '') >= changed);
}

/** An owner on another machine or in another container can't be seen, but what it touched lately lives. */
function isFreshElsewhere(owner: Owner, { now, staleThresholdMs }: Signs): boolean {
  if (owner.vitality !== 'unknown' || newestKnown([owner.lastTouch], now) === undefined) return false;
  return now - owner.lastTouch <= staleThresholdMs;
}

/** What shows the agent at work beside the hook: events of its life, and that the machine slept until then. */
function signsOf(owners: readonly Owner[], { otherSigns = [] }: Signs): number[] {
  const sessions = owners.flatMap(({ file, lastTouch }) => (file.session_id === undefined ? [] : [lastTouch]));
  const awake = owners.flatMap(({ file: { slept } }) => (slept === undefined ? [] : [toMs(slept.until)]));
  return [...otherSigns, ...sessions, ...awake];
}

function diagnoseQuiet(hook: TaskRecord, alive: readonly Owner[], signs: Signs): Diagnosis {
  // A process that we watch ourselves tells when it ends; only under a bare window is silence a question.
  if (hook.state !== 'step_running' || alive.some((owner) => owner.file.kind === 'validation'))
    return { kind: 'working' };
  const last = lastAgentSign(hook, signs.now, signs.otherSigns);
  if (last === undefined || signs.now - last <= signs.staleThresholdMs) return { kind: 'working' };
  return { kind: 'quiet', since: last };
}
