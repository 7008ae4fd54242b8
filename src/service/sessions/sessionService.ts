import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { SessionsConfig } from '../../core/config/config';
import type { SessionView, Survivor } from '../../core/hookMarkdown/session';
import { renderSessionHook } from '../../core/hookMarkdown/sessionHook';
import { defined } from '../../core/shared/defined';
import { messageOf } from '../../core/shared/errors';
import type { Vitality } from '../../core/recovery/liveness';
import { toMs, toTimestamp } from '../../core/shared/time';
import { observe } from '../../core/session/observe';
import { type SessionMark, type SessionRecord, type SessionRef, newSession } from '../../core/session/sessionRecord';
import { becomesTask, isInTurn, retention, sessionState, taskState, signOf } from '../../core/session/sessionState';
import type { SessionEvent } from '../../core/session/sessionEvent';
import { SessionRecords } from '../../store/sessions/sessionRecords';
import { SessionSpool, type SpooledReport } from '../../store/sessions/sessionSpool';
import { GenerationLock } from '../../system/locks/lock';
import type { ServicePorts } from '../ports';
import type { ConfigSource } from '../tasks/configSource';
import { boundIn } from './boundReport';
import { withoutTranscript } from './consent';
import type { ObservedHost, SpoolEnvelope } from './sessionHosts';
import { SessionPlaces } from './sessionPlace';
import { LeftProcesses } from './survivors';

/** A session as it is shown. */
export interface ObservedSession extends SessionView {
  readonly ref: SessionRef;
  /** Where its HOOK.md lies; only session tasks have one. */
  readonly hookPath: string | undefined;
  /** Whether it is offered, or only told in a line. */
  readonly shown: 'offered' | 'line';
}

/** What is asked of git and of the system at most once a refresh. */
interface Asked {
  readonly places: SessionPlaces;
  readonly left: LeftProcesses;
}

/** How long another process's look is waited for, in ms. */
const LOCK_MS = 2000;

/** What a tool's shell still writes when its agent is killed, it has written after this (ms). */
const LINGERS_MS = 5000;
/** So often git is asked again what changed, where it didn't say in time: each time its files are read a little sooner. */
const MOST_RECHECKS = 5;
/** For so long (ms) after a death, what is left running counts as the session's work. */
const LEFT_MS = 3_600_000;

/** Processes are looked for of sessions that died at most so long ago (ms). */
const SURVIVORS_MS = 24 * 3_600_000;

/** What agents' hosts tell of their sessions, as records and session tasks. */
export class SessionService {
  readonly spool: SessionSpool;
  readonly records: SessionRecords;
  private readonly lock: GenerationLock;

  constructor(
    private readonly ports: ServicePorts,
    private readonly configs: ConfigSource,
    private readonly hosts: readonly ObservedHost[],
    private readonly home: string,
  ) {
    this.spool = new SessionSpool(ports);
    this.records = new SessionRecords(ports);
    this.lock = new GenerationLock(join(ports.paths.root, 'sessions', 'locks'), ports);
  }

  async config(): Promise<SessionsConfig> {
    return (await this.configs.forWorktree(undefined)).config.sessions;
  }

  /**
   * Takes in what hosts reported since the last look, and says how each session stands. Where tracking is off, the spool
   * is removed and nothing outside the store is read; where the settings can't be read, nothing is done.
   * @param own the session that looks: its worktree is looked at as it begins
   */
  async refresh(own?: SessionRef): Promise<ObservedSession[]> {
    const config = await this.config();
    if (config.track === undefined) return this.list();
    if (!config.track) {
      this.spool.close();
      return this.list();
    }
    this.spool.reopen();
    const held = await this.lock.acquire(LOCK_MS).catch(() => undefined);
    // Another process takes in what there is: what it wrote is shown.
    if (held === undefined) return this.list();
    try {
      await this.takeIn(config, own);
    } catch (error) {
      this.ports.log.warn('What agents reported could not be taken in.', { error: messageOf(error) });
    } finally {
      held.release();
    }
    return this.list();
  }

  private async takeIn(config: SessionsConfig, own: SessionRef | undefined): Promise<void> {
    const reports = this.spool.read();
    const records = new Map(this.records.all().map((record) => [keyOf(refOf(record)), record]));
    const before = new Map(records);
    for (const report of reports) this.takeReport(report, records);
    await this.takeFound(config, records);
    const touched = new Set([...records].flatMap(([key, record]) => (before.get(key) === record ? [] : [key])));
    const asked = { places: new SessionPlaces(this.ports), left: new LeftProcesses() };
    for (const [key, record] of records) {
      const isTouched = touched.has(key) || (own !== undefined && key === keyOf(own));
      const settled = await this.settled(record, isTouched, config, asked);
      await this.keep(before.get(key), settled);
    }
    if (reports.length > 0) this.spool.remove(reports, this.ports.clock.now());
    const dropped = this.spool.takeDropped();
    if (dropped > 0) this.ports.log.warn('Reports of agents were dropped: too many waited.', { count: dropped });
  }

  private takeReport(report: SpooledReport, records: Map<string, SessionRecord>): void {
    const host = this.hosts.find((each) => each.host === report.host);
    const envelope = envelopeOf(report);
    const observed = host?.reported(report.body, envelope);
    if (host === undefined || observed === undefined) return;
    const ref = { host: observed.host ?? host.host, sessionId: observed.sessionId };
    const at = toTimestamp(envelope.at);
    const known = records.get(keyOf(ref)) ?? newSession(ref, at, 'hook');
    const told = observed.events.reduce(observe, known);
    const bound = boundIn(report.body);
    const counted = {
      ...told,
      folded: { ...told.folded, events: told.folded.events + 1 },
      ...(bound === undefined ? {} : { bound }),
    };
    records.set(keyOf(ref), this.withProcess(counted, envelope.process));
  }

  /** Names the process of a session; one that is named by its start too isn't replaced by one that isn't. */
  private withProcess(record: SessionRecord, seen: { pid: number; startTime?: string } | undefined): SessionRecord {
    const known = record.process;
    if (seen === undefined) return record;
    const startTime = seen.startTime ?? '';
    if (known?.pid === seen.pid && (startTime === '' || known.start_time === startTime)) return record;
    const self = this.ports.processes.self();
    const identity = { ...self, pid: seen.pid, start_time: startTime, incarnation: record.session_id.slice(0, 16) };
    return { ...record, process: identity };
  }

  /** Sessions that were found without hooks. */
  private async takeFound(config: SessionsConfig, records: Map<string, SessionRecord>): Promise<void> {
    for (const { host, find } of this.hosts) {
      if (find === undefined || !mayRead(config, host)) continue;
      for (const found of await find()) {
        const ref = { host, sessionId: found.sessionId };
        const [first] = found.events;
        if (first === undefined) continue;
        const known = records.get(keyOf(ref)) ?? newSession(ref, toTimestamp(first.at), first.source);
        const news = found.events.filter((event) => isNews(known, event));
        const told = this.withProcess(news.reduce(observe, known), found.process);
        if (!isDeepStrictEqual(told, known)) records.set(keyOf(ref), told);
      }
    }
  }

  /** A session with all that can be found out of it now. */
  private async settled(
    record: SessionRecord,
    isTouched: boolean,
    config: SessionsConfig,
    { places, left }: Asked,
  ): Promise<SessionRecord> {
    const host = this.hosts.find((each) => each.host === record.host);
    const vitality = this.vitalityOf(record);
    const isGone = vitality === 'dead' || vitality === 'rebooted';
    const isNewlyDead = isGone && record.died === undefined && record.phase !== 'ended';
    let now = record;
    if (!mayRead(config, record.host)) now = withoutTranscript(now);
    else if (host?.readTranscript !== undefined && (isTouched || isNewlyDead || (isInTurn(record) && !isGone))) {
      const read = await host.readTranscript(now);
      if (read !== undefined) now = { ...read.events.reduce(observe, now), read_to: read.readTo };
    }
    if (isGone && now.died === undefined && now.phase !== 'ended')
      now = { ...now, died: { at: toTimestamp(this.ports.clock.now()), in_turn: isInTurn(now) } };
    now = await places.placed(now);
    // After the turn, the files are the user's again.
    const isAtWork = isInTurn(now) && (now.died === undefined || (await this.leftSomething(now, left)));
    const isDue = (now.recheck?.tries ?? MOST_RECHECKS) < MOST_RECHECKS;
    if (isTouched || isNewlyDead || isAtWork || isDue) now = await this.withChanges(now, isAtWork, places);
    else if (now.task?.state === 'waiting' && sessionState(now, vitality) === 'ended')
      now = await places.withUncommitted(now);
    return this.asTask(now, config);
  }

  /** A session with what changed in its worktree; where git doesn't say in time, with a mark that it is asked again. */
  private async withChanges(record: SessionRecord, isAtWork: boolean, places: SessionPlaces): Promise<SessionRecord> {
    const { recheck, ...plain } = record;
    const based = await places.withBase(plain);
    const ended = isAtWork ? undefined : (recheck?.ended_at ?? workEnded(record));
    // What is asked in time may still find what the session's shell wrote last.
    const until = recheck === undefined || ended === undefined ? undefined : toMs(ended) + LINGERS_MS;
    const changed = await places.withChanges(based, until);
    // Outside of a repository there is nothing to ask for.
    if (changed !== based || record.worktree === undefined) return changed;
    const tries = isAtWork ? 1 : (recheck?.tries ?? 0) + 1;
    return { ...based, recheck: { tries, ...defined({ ended_at: ended }) } };
  }

  /** Whether what a dead session started may still change files: it ended a moment ago, or some of it runs. */
  private async leftSomething(record: SessionRecord, left: LeftProcesses): Promise<boolean> {
    const since = this.ports.clock.now() - toMs(record.died?.at ?? record.seen_at);
    return since < LINGERS_MS || (since < LEFT_MS && (await left.of(record)).length > 0);
  }

  private asTask(record: SessionRecord, { headless }: SessionsConfig): SessionRecord {
    const at = toTimestamp(this.ports.clock.now());
    const vitality = this.vitalityOf(record);
    const state = sessionState(record, vitality);
    const because = becomesTask(record, { state, home: this.home, headless });
    const begun = because === undefined ? record.task : { state: 'open' as const, since: at, because };
    if (begun === undefined) return record;
    const next = taskState(record, state);
    if (next === begun.state) return { ...record, task: begun };
    const { handed_over: handed, ...task } = begun;
    return {
      ...record,
      task: { ...task, state: next, since: at, ...(next === 'closed' && handed === true ? { handed_over: true } : {}) },
    };
  }

  private async keep(before: SessionRecord | undefined, record: SessionRecord): Promise<void> {
    const view = this.viewOf(record);
    if (retention(record, view.state, this.ports.clock.now()) === 'removed') {
      this.records.remove(view.ref);
      return;
    }
    if (isDeepStrictEqual(quiet(before), quiet(record))) return;
    this.records.write(record);
    if (view.hookPath === undefined) return;
    const survivors = await this.survivors(view);
    const text = renderSessionHook({ ...view, survivors, hookPath: view.hookPath, version: this.ports.version });
    this.records.writeHook(view.ref, text);
  }

  /** The system is asked only of a session that may still run: some need a program of their own to answer. */
  private vitalityOf(record: SessionRecord): Vitality | undefined {
    const { process, died, phase } = record;
    if (process === undefined || phase === 'ended') return undefined;
    return died === undefined ? this.ports.processes.vitality(process, signOf(record)) : 'dead';
  }

  private viewOf(record: SessionRecord): ObservedSession {
    const vitality = this.vitalityOf(record);
    const state = sessionState(record, vitality);
    const ref = refOf(record);
    const kept = retention(record, state, this.ports.clock.now());
    return {
      ref,
      record,
      state,
      survivors: [],
      hookPath: record.task === undefined ? undefined : this.records.hookPath(ref),
      shown: kept === 'line' ? 'line' : 'offered',
    };
  }

  /** All that is known, the newest first, without looking anywhere else. */
  list(): ObservedSession[] {
    return this.records
      .all()
      .sort((a, b) => toMs(b.seen_at) - toMs(a.seen_at))
      .map((record) => this.viewOf(record));
  }

  /** What of a dead session still runs. */
  async survivors({ record, state }: SessionView): Promise<readonly Survivor[]> {
    const died = record.died?.at ?? (state === 'interrupted' ? record.seen_at : undefined);
    const isLong = died !== undefined && this.ports.clock.now() - toMs(died) > SURVIVORS_MS;
    if (died === undefined || isLong) return [];
    return (await new LeftProcesses().of(record)).map(({ pid, command }) => ({ pid, command }));
  }

  /** HOOK.md's text of a session, as it would be now. */
  async markdown(session: ObservedSession): Promise<string> {
    const survivors = await this.survivors(session);
    const hookPath = session.hookPath ?? this.records.hookPath(session.ref);
    return renderSessionHook({ ...session, survivors, hookPath, version: this.ports.version });
  }

  /** Binds a session to a task: its facts are the task's from now on. */
  async bind(ref: SessionRef, bound: { readonly workspace: string; readonly id: string }): Promise<void> {
    await this.change(ref, ({ task: _task, ...record }) => ({
      ...record,
      bound: { workspace: bound.workspace, id: bound.id },
    }));
  }

  /** Notes that another agent took a session's work over: it is no longer offered. */
  async handedOver(ref: SessionRef): Promise<void> {
    const since = toTimestamp(this.ports.clock.now());
    await this.change(ref, (record) =>
      record.task === undefined
        ? record
        : { ...record, task: { ...record.task, state: 'closed', since, handed_over: true } },
    );
  }

  private async change(ref: SessionRef, edit: (record: SessionRecord) => SessionRecord): Promise<void> {
    const held = await this.lock.acquire(LOCK_MS);
    try {
      const record = this.records.read(ref);
      if (record !== undefined) this.records.write(edit(record));
    } finally {
      held.release();
    }
  }

  /** Deletes all that is kept of a session. */
  async forget(ref: SessionRef): Promise<void> {
    const held = await this.lock.acquire(LOCK_MS);
    try {
      this.records.remove(ref);
    } finally {
      held.release();
    }
  }
}

/** When the session's work ended: with its turn, or with its process in the middle of one. */
function workEnded({ died, phase_at: phaseAt }: SessionRecord): string {
  return died?.in_turn === true ? died.at : phaseAt;
}

/** A status by a host's file is older than what was reported since. */
function isNews(record: SessionRecord, event: SessionEvent): boolean {
  return event.change.kind !== 'phase' || event.at > toMs(record.phase_at);
}

function mayRead({ readTranscripts }: SessionsConfig, host: string): boolean {
  return readTranscripts.some((each) => each === host);
}

function refOf(record: SessionRecord): SessionRef {
  return { host: record.host, sessionId: record.session_id };
}

function keyOf({ host, sessionId }: SessionRef): string {
  return `${host} ${sessionId}`;
}

/** A record but for when it was looked at last. */
function quiet(record: SessionRecord | undefined): unknown {
  if (record?.changes === undefined) return record;
  return { ...record, changes: { ...record.changes, at: undefined } };
}

function envelopeOf({ at, head }: SpooledReport): SpoolEnvelope {
  const marks: SessionMark[] = [];
  if ((head['ci'] ?? '') !== '') marks.push('ci');
  if ((head['run'] ?? '') !== '') marks.push('run');
  if ((head['headless'] ?? '') !== '' || head['entry']?.startsWith('sdk') === true) marks.push('headless');
  const pid = Number(head['pid'] ?? '');
  const process = Number.isInteger(pid) && pid > 1 ? { process: { pid, startTime: head['start'] ?? '' } } : {};
  return { at: Math.round(at), marks, ...process };
}
