import type { TaskInput } from '../../../src/core/transition/events';
import { type TaskRecord, isInFlight, isTerminal } from '../../../src/core/task/taskRecord';
import { type CrashFinding, type Owner, diagnose } from '../../../src/core/recovery/liveness';
import { planRecovery, recoveryContext } from '../../../src/core/recovery/recovery';
import { nextAttempt } from '../../../src/core/task/stepAttempt';
import { toMs, toTimestamp } from '../../../src/core/shared/time';
import { Violation, checkDetection } from './properties';
import type { TaskTemplate } from '../../../src/core/task/templates/template';
import {
  INITIAL,
  rebased,
  settingOf,
  type Setting,
  type State,
  type Writer,
  effectOf,
  evidenceOf,
  holds,
  idle,
  sent,
  timeAfter,
  withWriter,
} from './world';
import { type Move, afterEvent, pendingInput, writerMoves } from './writer';
import { isSeenNow, keyOf } from './stateKey';

const FOUND = 'crash found: ';
const INDEXES = [0, 1] as const;

function movesOf(setting: Setting, state: State): Move[] {
  return [
    ...INDEXES.flatMap((index) => writerMoves(setting, state, index)),
    ...crashes(state),
    ...detections(setting, state),
    ...humanMoves(setting, state),
    ...edits(setting, state),
  ];
}

/**
 * A writer that is late can only be refused, which changes nothing but itself: it is taken as refused at once, and that
 * it is gets checked. One that only read what has changed since is in the same place.
 */
function settled(setting: Setting, state: State): State {
  const [a, b] = state.writers.map((writer) => (isLateSender(setting, state, writer) ? idle(writer) : writer));
  return a === undefined || b === undefined ? state : { ...state, writers: [a, b] };
}

function isLateSender(setting: Setting, { hook }: State, writer: Writer): boolean {
  const step = hook?.current_step;
  const input = pendingInput(setting, hook, writer);
  if (hook !== undefined && writer.at === 'recover' && !isSeenNow(hook, writer)) {
    // Until the next crash only the state refuses it; from then on it has to be known for what it is.
    if (hook.state !== 'recovering') return false;
    if (input !== undefined && sent(setting, hook, input) !== undefined)
      throw new Violation('a late recovery was accepted');
    return true;
  }
  if (hook === undefined || input?.expect === undefined) return false;
  const attempt = writer.at === 'start' && step !== undefined ? nextAttempt(step) : step?.attempt;
  if (step?.step_index === writer.step && writer.attempt >= (attempt ?? 0)) return false;
  if (sent(setting, hook, input) !== undefined) throw new Violation(`a late ${input.type} was accepted`);
  return true;
}

/** One crash at any point: a writer is killed, or stops and wakes up at any time later. */
function crashes(state: State): Move[] {
  if (!state.budget.crash) return [];
  return INDEXES.flatMap((index) => {
    const writer = state.writers[index];
    if (writer.at === 'idle') return [];
    const budget = { ...state.budget, crash: false };
    return (['killed', 'stalled'] as const).map((life): Move => ({
      label: `writer ${index} is ${life} at ${writer.at}`,
      by: 'crash',
      next: withWriter({ ...state, budget }, index, buried({ ...writer, life }, state.hook)),
    }));
  });
}

/** A dead writer that held nothing says nothing any more. */
function buried(writer: Writer, hook: TaskRecord | undefined): Writer {
  return writer.life === 'killed' && !holds(writer, hook) && writer.at !== 'create' ? idle(writer) : writer;
}

const IDENTITY = { machine_id: 'm', boot_id: 'b', pid_namespace: '', start_time: '1' };

/** The owners' files of those who hold the attempt; one who stopped has none and is only silent. */
function ownersOf(state: State, now: number): Owner[] {
  return state.writers.flatMap((writer, pid): Owner[] => {
    if (!holds(writer, state.hook) || writer.life === 'stalled') return [];
    const process = { ...IDENTITY, pid, incarnation: String(pid) };
    const bound = { step_index: writer.step, attempt: writer.attempt };
    const file = {
      kind: 'agent' as const,
      process,
      ...(writer.at === 'setup' ? {} : bound),
      started_at: toTimestamp(now),
    };
    return [
      { file, vitality: writer.life === 'alive' ? 'alive' : 'dead', lastTouch: toMs(state.hook?.updated_at ?? '') },
    ];
  });
}

function detections(setting: Setting, state: State): Move[] {
  const { hook, budget } = state;
  if (hook === undefined || !isInFlight(hook.state)) return [];
  const moves: Move[] = [];
  const unnoticed = state.writers.some((writer) => writer.life !== 'alive' && !writer.noticed && holds(writer, hook));
  if (unnoticed) {
    const living = state.writers.some((writer) => writer.life === 'alive' && holds(writer, hook));
    const now = timeAfter(hook) + (living ? 0 : setting.config.staleThresholdMs);
    const found = diagnose(hook, {
      now,
      owners: ownersOf(state, now),
      staleThresholdMs: setting.config.staleThresholdMs,
    });
    if (found.kind === 'crashed') moves.push(...recorded(setting, state, hook, found, 'detection'));
  }
  if (budget.ask) {
    const found = { kind: 'crashed', type: 'unknown', cause: 'requested', lastSign: toMs(hook.updated_at) } as const;
    moves.push(...recorded(setting, { ...state, budget: { ...budget, ask: false } }, hook, found, 'human'));
  }
  return moves;
}

function recorded(
  setting: Setting,
  state: State,
  hook: TaskRecord,
  found: CrashFinding,
  by: 'detection' | 'human',
): Move[] {
  const evidence = evidenceOf(setting, state);
  const plan = planRecovery(hook, setting.task, evidence, found.lastSign);
  const at = toTimestamp(timeAfter(hook));
  const input: TaskInput = { type: 'crash_detected', recovery: recoveryContext(hook, found, plan, evidence, at) };
  const after = sent(setting, hook, input);
  if (after === undefined) throw new Violation('a crash was not recorded');
  checkDetection(setting, state, plan, input, after);
  const [a, b] = state.writers.map((writer) =>
    writer.life === 'alive' ? writer : buried({ ...writer, noticed: true }, after),
  );
  if (a === undefined || b === undefined) throw new Error('two writers');
  return [{ label: `${FOUND}${plan.action}`, by, next: { ...state, hook: after, writers: [a, b] } }];
}

/** A human's answers, each where the table and its guards take it. */
function humanMoves(setting: Setting, state: State): Move[] {
  const { hook } = state;
  if (hook?.state !== 'awaiting_human') return [];
  const types = ['human_approve', 'human_reject', 'human_resume', 'fail', 'abandon'] as const;
  return types.flatMap((type): Move[] => {
    const input: TaskInput = { type, by: 'human' };
    const after = sent(setting, hook, input);
    if (after === undefined) return [];
    const world = afterEvent(setting, state, input, after);
    return [{ label: type, by: 'human', next: { ...state, hook: after, world } }];
  });
}

/** A human saves a file in the middle of a validation or a commit, once. */
function edits(setting: Setting, state: State): Move[] {
  const { hook, world, budget } = state;
  const busy = hook !== undefined && (isInFlight(hook.state) || hook.state === 'recovering');
  const effect = hook?.current_step === undefined ? 'work' : effectOf(setting, hook.current_step.step_index);
  const matters = effect === 'validation' || effect === 'commit';
  if (!budget.edit || !busy || !matters) return [];
  const edited = { ...world, leftover: true, edited: hook.receipts.length };
  return [
    {
      label: 'a file is edited',
      by: 'environment',
      next: { ...state, world: edited, budget: { ...budget, edit: false } },
    },
  ];
}

/**
 * All that one kind of step can do, for every template that has it: states in which another template enters the step are
 * added to those that are known.
 */
class StepGraph {
  private readonly known = new Map<string, number>();
  private readonly waiting: (State | undefined)[] = [];
  private readonly cameFrom: [number, string][] = [];
  private readonly edges: Edge[][] = [];
  private readonly exits = new Map<number, State>();
  private readonly ends = new Map<number, string>();
  private expanded = 0;

  constructor(readonly setting: Setting) {}

  /** Enters the step in some states: counts what can happen then, and gives the states in which it is left. */
  enter(entries: readonly State[]): Explored & { readonly exits: readonly State[] } {
    const begins = entries.map((entry) => this.visit(entry, -1, 'the step begins'));
    while (this.expanded < this.waiting.length) this.expand(this.expanded++);
    const reached = new Set(begins);
    const plans: Record<string, number> = {};
    const ends: Record<string, number> = {};
    const exits: State[] = [];
    let [moves, crashed] = [0, 0];
    for (const at of reached) {
      const end = this.ends.get(at);
      const exit = this.exits.get(at);
      if (end !== undefined) add(ends, { [end]: 1 });
      if (exit !== undefined) exits.push(exit);
      for (const { to, by, label } of this.edges[at] ?? []) {
        reached.add(to);
        moves += 1;
        if (by === 'crash') crashed += 1;
        if (label.startsWith(FOUND)) add(plans, { [label.slice(FOUND.length)]: 1 });
      }
    }
    return { states: reached.size, moves, crashes: crashed, plans, ends, exits };
  }

  get size(): number {
    return this.waiting.length;
  }

  /** From every state the step can be ended, and without a human nothing goes round in circles. */
  check(): void {
    mustEnd(this.edges, [...this.exits.keys(), ...this.ends.keys()], this.cameFrom);
    mustNotCircle(this.edges, this.cameFrom);
  }

  private visit(reached: State, from: number, label: string): number {
    const { setting } = this;
    const state = settled(setting, reached);
    const key = keyOf(setting, state);
    const seen = this.known.get(key);
    if (seen !== undefined) return seen;
    const at = this.waiting.push(state) - 1;
    this.known.set(key, at);
    this.cameFrom.push([from, label]);
    this.edges.push([]);
    return at;
  }

  private expand(at: number): void {
    const state = this.waiting[at];
    if (state === undefined) throw new Error('a state was expanded before');
    this.waiting[at] = undefined;
    const { hook } = state;
    if (hook !== undefined && isTerminal(hook.state)) {
      this.ends.set(at, hook.state);
      return;
    }
    const step = hook?.current_step?.step_index;
    const isSetUp = this.setting.step === 0;
    if (isSetUp ? step !== undefined : step !== this.setting.step) {
      this.exits.set(at, state);
      return;
    }
    withTrace(this.cameFrom, at, () => {
      for (const { label, by, next } of movesOf(this.setting, state)) {
        this.edges[at]?.push({ to: this.visit(next, at, label), by, label });
      }
    });
  }
}

/** What was found out about one template. */
interface Explored {
  readonly states: number;
  readonly moves: number;
  readonly crashes: number;
  readonly plans: Readonly<Record<string, number>>;
  readonly ends: Readonly<Record<string, number>>;
}

/**
 * Explores templates step by step, with the properties of single moves checked on the way. What was done in the steps
 * before shows only in the world and in late writers: the states in which a step is left are those in which the next one
 * begins, and steps of the same kind are one graph.
 */
export class Model {
  private readonly graphs = new Map<string, StepGraph>();

  /**
   * @param commands that the project declares for validation steps
   * @param sighted whether git and the forge's command can tell what happened
   */
  constructor(
    private readonly commands: readonly string[],
    private readonly sighted: boolean,
  ) {}

  /** States that were explored, those that templates share counted once. */
  get size(): number {
    return [...this.graphs.values()].reduce((sum, graph) => sum + graph.size, 0);
  }

  /** Explores one template to its end. */
  explore(template: TaskTemplate): Explored {
    const all = { states: 0, moves: 0, crashes: 0, plans: {}, ends: {} };
    let before: Setting | undefined;
    let entries: readonly State[] = [INITIAL];
    for (let index = -1; index < template.steps.length; index += 1) {
      const graph = this.graphOf(template, index);
      const { setting } = graph;
      const from = before;
      const found = graph.enter(from === undefined ? entries : entries.map((each) => rebased(from, setting, each)));
      all.states += found.states;
      all.moves += found.moves;
      all.crashes += found.crashes;
      add(all.plans, found.plans);
      add(all.ends, found.ends);
      entries = found.exits;
      before = setting;
    }
    return all;
  }

  /** What holds of whole graphs; to be called when all is explored. */
  check(): void {
    for (const graph of this.graphs.values()) graph.check();
  }

  private graphOf(template: TaskTemplate, index: number): StepGraph {
    const setting = settingOf(template, index, this.commands, this.sighted);
    const step = template.steps[index];
    const effect = step === undefined ? '' : effectOf(setting, setting.step);
    const kind =
      step === undefined ? 'set-up' : [step.type, step.idempotent, step.validation, step.maxAttempts, effect];
    const key = JSON.stringify([kind, index === template.steps.length - 1]);
    const graph = this.graphs.get(key) ?? new StepGraph(setting);
    this.graphs.set(key, graph);
    return graph;
  }
}

function add(sum: Record<string, number>, more: Readonly<Record<string, number>>): void {
  for (const [key, value] of Object.entries(more)) sum[key] = (sum[key] ?? 0) + value;
}

interface Edge {
  readonly to: number;
  readonly by: Move['by'];
  readonly label: string;
}

type Origins = readonly (readonly [number, string])[];

function traceTo(cameFrom: Origins, at: number): string {
  const [from, label] = cameFrom[at] ?? [-1, ''];
  return from < 0 ? label : `${traceTo(cameFrom, from)}\n  ${label}`;
}

function withTrace<T>(cameFrom: Origins, at: number, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!(error instanceof Violation)) throw error;
    throw new Violation(`${error.message}, after:\n${traceTo(cameFrom, at)}`);
  }
}

/** From every state the step can be ended, though who stopped never wakes up and nobody gives up. */
function mustEnd(edges: readonly Edge[][], goals: readonly number[], cameFrom: Origins): void {
  const before = edges.map((): number[] => []);
  for (const [from, out] of edges.entries()) {
    for (const { to, by, label } of out) {
      if (label === 'fail' || label === 'abandon') continue;
      if (by === 'writer' || by === 'detection' || by === 'human') before[to]?.push(from);
    }
  }
  const ending = new Set(goals);
  for (const at of ending) for (const from of before[at] ?? []) ending.add(from);
  const stuck = edges.findIndex((_out, at) => !ending.has(at));
  if (stuck !== -1) throw new Violation(`the step can't be ended any more, after:\n${traceTo(cameFrom, stuck)}`);
}

/** The graph of all moves but a human's has no cycle. */
function mustNotCircle(edges: readonly Edge[][], cameFrom: Origins): void {
  const incoming = new Int32Array(edges.length);
  const own = edges.map((out) => out.filter(({ by }) => by !== 'human').map(({ to }) => to));
  for (const to of own.flat()) incoming[to] = (incoming[to] ?? 0) + 1;
  const todo = [...incoming.keys()].filter((at) => incoming[at] === 0);
  for (const at of todo) {
    for (const to of own[at] ?? []) {
      incoming[to] = (incoming[to] ?? 0) - 1;
      if (incoming[to] === 0) todo.push(to);
    }
  }
  if (todo.length === edges.length) return;
  const stuck = incoming.findIndex((count) => count > 0);
  throw new Violation(`round in circles without a human, after:\n${traceTo(cameFrom, stuck)}`);
}
