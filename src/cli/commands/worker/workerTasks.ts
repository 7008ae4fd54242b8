import { AtlasError, type Result, fail, ok, unwrap } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import { normalizeTimestamp, parseDuration, toTimestamp } from '../../../core/shared/time';
import { defined } from '../../../core/shared/defined';
import { type Ledger, type LedgerTask, openBlockers } from '../../../core/worker/ledger';
import { convoyStatuses, readyIn } from '../../../workers/ledger/convoys';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import { table } from '../../render/table';
import { openWorkers, statuses, unsharedNotes } from './worker';
import { convoyAnswer, convoyData } from './workerConvoys';
import type { LedgerTaskData, WorkerAnswer } from './workerSchemas';

/** The most of tasks or a context that is read, in bytes. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;

/** A JSON value from a text of a caller. Fails with `usage`. */
function jsonOf(text: string, what: string): Result<unknown> {
  try {
    return ok(JSON.parse(text) as unknown);
  } catch (error) {
    return fail('usage', `${what} is not JSON: ${oneLine(error instanceof Error ? error.message : '')}`);
  }
}

/** A JSON object from a text of a caller; throws `usage`. */
export function objectOf(text: string, what: string): Readonly<Record<string, unknown>> {
  const value = unwrap(jsonOf(text, what));
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>;
  throw new AtlasError('usage', `${what} is not a JSON object.`);
}

/** When work has to be done: a time, or from now on; throws `usage`. */
function deadlineOf(text: string | undefined, now: number): string | undefined {
  if (text === undefined) return undefined;
  const at = normalizeTimestamp(text);
  if (at !== undefined) return at;
  const span = parseDuration(text);
  if (span.ok && span.value > 0 && span.value < 1e12) return toTimestamp(now + span.value);
  throw new AtlasError('usage', `${JSON.stringify(oneLine(text, 40))} is neither a time nor a duration.`, {
    hint: 'Write a time such as 2026-01-31T12:00:00Z, or a duration such as 2h.',
  });
}

/** The fields of a task that a command line names. */
function definitionFrom(call: Call, id: string, now: number): Readonly<Record<string, unknown>> & { id: string } {
  const input = call.text('input');
  const blockedBy = call.list('blockedBy');
  return defined({
    id,
    type: call.text('type') ?? 'task',
    input: input === undefined ? undefined : objectOf(input, 'The input'),
    timeout: deadlineOf(call.text('timeout'), now),
    blockedBy: blockedBy.length === 0 ? undefined : blockedBy,
    convoyId: call.text('convoy'),
    discoveredFrom: call.text('discoveredFrom'),
  });
}

/** Tasks as one JSON value, or as a line each. */
function manyFrom(text: string): readonly unknown[] {
  const whole = jsonOf(text, 'It');
  if (whole.ok) return Array.isArray(whole.value) ? (whole.value as unknown[]) : [whole.value];
  const tasks: unknown[] = [];
  for (const [index, line] of text.split(/\r?\n/u).entries()) {
    if (line.trim() === '') continue;
    tasks.push(unwrap(jsonOf(line, `Line ${index + 1}`)));
  }
  return tasks;
}

/** `worker task add`: adds tasks to the ledger. */
export const addTasks: Handler = async (context, call) => {
  const opened = await openWorkers(context);
  const { workers, ports } = opened;
  const [id, from] = [call.operands[0], call.text('from')];
  if ((id === undefined) === (from === undefined))
    throw new AtlasError('usage', 'Name one task by its ID, or read several with --from.', {
      hint: 'See: atlas worker task add --help',
    });
  const tasks = await tasksFrom(context, call, ports.clock.now());
  const added = unwrap(await workers.slinging.addTasks(tasks));
  const isNew = new Set(added);
  const ids = tasks.map((each) => String((each as { readonly id: unknown }).id));
  const data: WorkerAnswer<'worker task add'> = {
    added: [...added],
    known: [...new Set(ids.filter((each) => !isNew.has(each)))],
  };
  const text = [
    ...(data.added.length === 0 ? [] : [`Added: ${data.added.join(', ')}\n`]),
    ...(data.known.length === 0 ? [] : [`Already in the ledger, unchanged: ${data.known.join(', ')}\n`]),
  ];
  return { exit: EXIT.done, text: text.join(''), data, notes: unsharedNotes(opened) };
};

async function tasksFrom(context: CliContext, call: Call, now: number): Promise<readonly unknown[]> {
  const from = call.text('from');
  if (from === undefined) return [definitionFrom(call, call.operands[0] ?? '', now)];
  return manyFrom(await context.readText(from, MAX_INPUT_BYTES));
}

/** `worker task list`: the tasks of the ledger. */
export const listTasks: Handler = async (context, call) => {
  const wanted = call.text('status');
  return tasksAnswer(context, ({ tasks }) =>
    [...tasks.last.values()].filter(({ status }) => wanted === undefined || status === wanted),
  );
};

/** `worker ready`: the tasks that can be slung now. */
export const ready: Handler = async (context, call) =>
  tasksAnswer(context, (ledger) => readyIn(ledger, call.text('convoy')));

async function tasksAnswer(context: CliContext, choose: (ledger: Ledger) => readonly LedgerTask[]): Promise<Answer> {
  const { ledger } = await statuses(context);
  const tasks = choose(ledger).map((record) => taskData(ledger, record));
  const notes = damageNotes(ledger);
  const data: WorkerAnswer<'worker task list'> = { tasks };
  const text = table(
    [{ flexible: 'TASK' }, 'STATUS', { flexible: 'TYPE' }, { flexible: 'WORKER' }, { flexible: 'WAITS FOR' }],
    tasks.map((each) => [each.id, each.status, oneLine(each.type, 60), each.worker ?? '', each.waits_for.join(', ')]),
    context.streams.columns,
  );
  return { exit: EXIT.done, text: tasks.length === 0 ? 'No tasks.\n' : text, wanted: true, data, notes };
}

function damageNotes({ tasks, convoys, evidence }: Ledger): string[] {
  const bad = [tasks, convoys, evidence].flatMap(({ findings }) => findings).length;
  return bad === 0
    ? []
    : [`${count(bad, 'line')} of the ledger can't be read and ${bad === 1 ? 'is' : 'are'} ignored.`];
}

/** What JSON says of a task. */
function taskData(ledger: Ledger, record: LedgerTask): LedgerTaskData {
  const { task } = record;
  return {
    id: record.id,
    type: task.type,
    status: record.status,
    worker: record.worker ?? null,
    claim: record.claim,
    at: record.at,
    timeout: task.timeout ?? null,
    convoy_id: task.convoyId ?? null,
    blocked_by: task.blockedBy ?? [],
    waits_for: record.status === 'OPEN' ? openBlockers(ledger, task) : [],
    discovered_from: task.discoveredFrom ?? null,
  };
}

/** `worker task show <id>`: all that was recorded of a task. */
export const showTask: Handler = async (context, call) => {
  const { ledger, workers } = await statuses(context);
  const [id = ''] = call.operands;
  const record = ledger.tasks.last.get(id);
  if (record === undefined)
    throw new AtlasError('not_found', `The ledger has no task ${JSON.stringify(oneLine(id))}.`, {
      hint: 'List the tasks with: atlas worker task list',
    });
  const records = ledger.tasks.all.filter((each) => each.id === id);
  const evidence = ledger.evidence.all.filter((each) => each.taskId === id);
  const hook = workers.find(({ state }) => state?.taskId === id)?.folder ?? null;
  const task = taskData(ledger, record);
  const data: WorkerAnswer<'worker task show'> = { task, definition: record.task, records, evidence, hook };
  const text = [
    `Task:     ${id}`,
    `Type:     ${oneLine(task.type)}`,
    `Status:   ${task.status}${task.worker === null ? '' : `, ${task.worker}`}`,
    ...(task.timeout === null ? [] : [`Deadline: ${task.timeout}`]),
    ...(task.convoy_id === null ? [] : [`Convoy:   ${task.convoy_id}`]),
    ...(task.discovered_from === null ? [] : [`From:     ${task.discovered_from}`]),
    ...(task.waits_for.length === 0 ? [] : [`Waits:    for ${task.waits_for.join(', ')}`]),
    ...(hook === null ? [] : [`Folder:   ${oneLine(hook, 500)}`]),
    `Input:    ${oneLine(JSON.stringify(record.task.input), 500)}`,
    'Records:',
    ...records.map(
      (each) =>
        `  ${each.at}  ${each.status}${each.worker === undefined ? '' : ` by ${each.worker}`} (claim ${each.claim}, incarnation ${each.incarnation})`,
    ),
    ...evidence.flatMap((each) => [
      `Evidence of claim ${each.claim}: ${each.status}${each.error === undefined ? '' : `, ${oneLine(`${each.error.code}: ${each.error.message}`, 300)}`}`,
      `  input  ${each.inputHash}`,
      `  output ${each.outputHash}`,
    ]),
  ];
  return { exit: EXIT.done, text: text.map((line) => `${line}\n`).join(''), wanted: true, data };
};

/** `worker sling <task> <worker>`: hangs a task on a worker's hook. */
export const sling: Handler = async (context, call) => {
  const { workers, ports } = await openWorkers(context);
  const [id = '', worker = ''] = call.operands;
  const task = definitionFrom(call, id, ports.clock.now());
  const file = call.text('context');
  const more = objectOf(file === undefined ? '{}' : await context.readText(file, MAX_INPUT_BYTES), 'The context');
  const tools = call.list('tool');
  const wish = { worker, task, context: more, ...(tools.length === 0 ? {} : { tools }) };
  const { claim, folder, task: hung } = unwrap(await workers.slinging.sling(wish));
  const data: WorkerAnswer<'worker sling'> = { worker, task_id: id, claim, folder };
  const differs = (['type', 'input', 'timeout'] as const).some(
    (name) => call.text(name) !== undefined && JSON.stringify(hung[name]) !== JSON.stringify(task[name]),
  );
  const notes = differs ? ['The ledger already has this task. Its definition there is used.'] : [];
  return { exit: EXIT.done, text: `Assigned ${id} to ${worker}: ${oneLine(folder, 500)}\n`, data, notes };
};

/** `worker convoy create <id> <task…>`: groups tasks. */
export const createConvoy: Handler = async (context, call) => {
  const opened = await openWorkers(context);
  const [id = ''] = call.operands;
  const { workers } = opened;
  const { changed } = unwrap(await workers.slinging.createConvoy({ id, title: call.text('title'), tasks: call.rest }));
  const all = unwrap(await workers.statuses.all());
  const made = convoyStatuses(all.ledger).find((each) => each.id === id);
  if (made === undefined) throw new AtlasError('not_found', `Convoy ${id} was removed again.`);
  const data: WorkerAnswer<'worker convoy create'> = { convoy: convoyData(made), changed };
  const number = count(made.tasks.length, 'task');
  const text = changed ? `Created convoy ${id} with ${number}.\n` : `Convoy ${id} already exists.\n`;
  return { exit: EXIT.done, text, data, notes: unsharedNotes(opened) };
};

/** `worker convoy status [<id>]`: how far convoys are. */
export const convoyStatus: Handler = async (context, call) => {
  const { ledger } = await statuses(context);
  return convoyAnswer(convoyStatuses(ledger), call.operands[0]);
};
