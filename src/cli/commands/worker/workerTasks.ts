import { type Result, fail, ok } from '../../../core/shared/errors';
import { count, oneLine } from '../../../core/shared/text';
import { normalizeTimestamp, parseDuration, toTimestamp } from '../../../core/shared/time';
import { type Ledger, type LedgerTask, openBlockers } from '../../../core/worker/ledger';
import { convoyStatuses, readyIn } from '../../../workers/ledger/convoys';
import type { Call } from '../../parse/call';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import { table } from '../../render/table';
import { openWorkers, unsharedNotes } from './worker';
import { convoyAnswer, convoyData } from './workerConvoys';
import type { LedgerTaskData, WorkerAnswer } from './workerSchemas';

/** The most of tasks or a context that is read, in bytes. */
const MAX_INPUT_BYTES = 16 * 1024 * 1024;

/** A JSON value from a text of a caller. Fails with `usage`. */
export function jsonOf(text: string, what: string): Result<unknown> {
  try {
    return ok(JSON.parse(text) as unknown);
  } catch (error) {
    return fail('usage', `${what} is not JSON: ${oneLine(error instanceof Error ? error.message : '')}`);
  }
}

/** A JSON object from a text of a caller. Fails with `usage`. */
export function objectOf(text: string, what: string): Result<Readonly<Record<string, unknown>>> {
  const value = jsonOf(text, what);
  if (!value.ok) return value;
  if (typeof value.value === 'object' && value.value !== null && !Array.isArray(value.value))
    return ok(value.value as Record<string, unknown>);
  return fail('usage', `${what} is not a JSON object.`);
}

/** When work has to be done: a time, or from now on. Fails with `usage`. */
function deadlineOf(text: string | undefined, now: number): Result<string | undefined> {
  if (text === undefined) return ok(undefined);
  const at = normalizeTimestamp(text);
  if (at !== undefined) return ok(at);
  const span = parseDuration(text);
  if (span.ok && span.value > 0 && span.value < 1e12) return ok(toTimestamp(now + span.value));
  return fail('usage', `${JSON.stringify(oneLine(text, 40))} is neither a time nor a duration.`, {
    hint: 'Write a time such as 2026-01-31T12:00:00Z, or a duration such as 2h.',
  });
}

/** The fields of a task that a command line names. */
function definitionFrom(
  call: Call,
  id: string,
  now: number,
): Result<Readonly<Record<string, unknown>> & { id: string }> {
  const input = call.text('input');
  const parsed = input === undefined ? ok(undefined) : objectOf(input, 'The input');
  if (!parsed.ok) return parsed;
  const timeout = deadlineOf(call.text('timeout'), now);
  if (!timeout.ok) return timeout;
  const blockedBy = call.list('blockedBy');
  const fields = {
    type: call.text('type') ?? 'task',
    input: parsed.value,
    timeout: timeout.value,
    blockedBy: blockedBy.length === 0 ? undefined : blockedBy,
    convoyId: call.text('convoy'),
    discoveredFrom: call.text('discoveredFrom'),
  };
  return ok({ id, ...Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) });
}

/** Tasks as one JSON value, or as a line each. */
function manyFrom(text: string): Result<readonly unknown[]> {
  const whole = jsonOf(text, 'It');
  if (whole.ok) return ok(Array.isArray(whole.value) ? (whole.value as unknown[]) : [whole.value]);
  const tasks: unknown[] = [];
  for (const [index, line] of text.split(/\r?\n/u).entries()) {
    if (line.trim() === '') continue;
    const task = jsonOf(line, `Line ${index + 1}`);
    if (!task.ok) return task;
    tasks.push(task.value);
  }
  return ok(tasks);
}

/** `worker task add`: adds tasks to the ledger. */
export async function addTasks(context: CliContext, call: Call): Promise<Result<Answer>> {
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const { workers, ports } = opened.value;
  const [id, from] = [call.operands[0], call.text('from')];
  if ((id === undefined) === (from === undefined))
    return fail('usage', 'Name one task by its ID, or read several with --from.', {
      hint: 'See: atlas worker task add --help',
    });
  const tasks = await tasksFrom(context, call, ports.clock.now());
  if (!tasks.ok) return tasks;
  const added = await workers.slinging.addTasks(tasks.value);
  if (!added.ok) return added;
  const isNew = new Set(added.value);
  const ids = tasks.value.map((each) => String((each as { readonly id: unknown }).id));
  const data: WorkerAnswer<'worker task add'> = {
    added: [...added.value],
    known: [...new Set(ids.filter((each) => !isNew.has(each)))],
  };
  const text = [
    ...(data.added.length === 0 ? [] : [`Added: ${data.added.join(', ')}\n`]),
    ...(data.known.length === 0 ? [] : [`Already in the ledger, unchanged: ${data.known.join(', ')}\n`]),
  ];
  return ok({ exit: EXIT.done, text: text.join(''), data, notes: unsharedNotes(opened.value) });
}

async function tasksFrom(context: CliContext, call: Call, now: number): Promise<Result<readonly unknown[]>> {
  const from = call.text('from');
  if (from === undefined) {
    const definition = definitionFrom(call, call.operands[0] ?? '', now);
    return definition.ok ? ok([definition.value]) : definition;
  }
  const text = await context.readText(from, MAX_INPUT_BYTES);
  return text.ok ? manyFrom(text.value) : text;
}

/** `worker task list`: the tasks of the ledger. */
export async function listTasks(context: CliContext, call: Call): Promise<Result<Answer>> {
  const wanted = call.text('status');
  return tasksAnswer(context, ({ tasks }) =>
    [...tasks.last.values()].filter(({ status }) => wanted === undefined || status === wanted),
  );
}

/** `worker ready`: the tasks that can be slung now. */
export async function ready(context: CliContext, call: Call): Promise<Result<Answer>> {
  return tasksAnswer(context, (ledger) => readyIn(ledger, call.text('convoy')));
}

async function tasksAnswer(
  context: CliContext,
  choose: (ledger: Ledger) => readonly LedgerTask[],
): Promise<Result<Answer>> {
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const all = await opened.value.workers.statuses.all();
  if (!all.ok) return all;
  const { ledger } = all.value;
  const tasks = choose(ledger).map((record) => taskData(ledger, record));
  const notes = damageNotes(ledger);
  const data: WorkerAnswer<'worker task list'> = { tasks };
  const columns = [
    { title: 'TASK', flexible: true as const },
    { title: 'STATUS' },
    { title: 'TYPE', flexible: true as const },
  ];
  const text = table(
    [...columns, { title: 'WORKER', flexible: true }, { title: 'WAITS FOR', flexible: true }],
    tasks.map((each) => [each.id, each.status, oneLine(each.type, 60), each.worker ?? '', each.waits_for.join(', ')]),
    context.streams.columns,
  );
  return ok({ exit: EXIT.done, text: tasks.length === 0 ? 'No tasks.\n' : text, wanted: true, data, notes });
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
export async function showTask(context: CliContext, call: Call): Promise<Result<Answer>> {
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const all = await opened.value.workers.statuses.all();
  if (!all.ok) return all;
  const { ledger, workers } = all.value;
  const [id = ''] = call.operands;
  const record = ledger.tasks.last.get(id);
  if (record === undefined)
    return fail('not_found', `The ledger has no task ${JSON.stringify(oneLine(id))}.`, {
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
  return ok({ exit: EXIT.done, text: text.map((line) => `${line}\n`).join(''), wanted: true, data });
}

/** `worker sling <task> <worker>`: hangs a task on a worker's hook. */
export async function sling(context: CliContext, call: Call): Promise<Result<Answer>> {
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const { workers, ports } = opened.value;
  const [id = '', worker = ''] = call.operands;
  const task = definitionFrom(call, id, ports.clock.now());
  if (!task.ok) return task;
  const file = call.text('context');
  const text = file === undefined ? ok('{}') : await context.readText(file, MAX_INPUT_BYTES);
  const more = text.ok ? objectOf(text.value, 'The context') : text;
  if (!more.ok) return more;
  const tools = call.list('tool');
  const slung = await workers.slinging.sling({
    worker,
    task: task.value,
    context: more.value,
    ...(tools.length === 0 ? {} : { tools }),
  });
  if (!slung.ok) return slung;
  const { claim, folder, task: hung } = slung.value;
  const data: WorkerAnswer<'worker sling'> = { worker, task_id: id, claim, folder };
  const differs = (['type', 'input', 'timeout'] as const).some(
    (name) => call.text(name) !== undefined && JSON.stringify(hung[name]) !== JSON.stringify(task.value[name]),
  );
  const notes = differs ? ['The ledger already has this task. Its definition there is used.'] : [];
  return ok({ exit: EXIT.done, text: `Assigned ${id} to ${worker}: ${oneLine(folder, 500)}\n`, data, notes });
}

/** `worker convoy create <id> <task…>`: groups tasks. */
export async function createConvoy(context: CliContext, call: Call): Promise<Result<Answer>> {
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const [id = ''] = call.operands;
  const { workers } = opened.value;
  const created = await workers.convoys.create({ id, title: call.text('title'), tasks: call.rest });
  if (!created.ok) return created;
  const all = await workers.statuses.all();
  if (!all.ok) return all;
  const made = convoyStatuses(all.value.ledger).find((each) => each.id === id);
  if (made === undefined) return fail('not_found', `Convoy ${id} was removed again.`);
  const { changed } = created.value;
  const data: WorkerAnswer<'worker convoy create'> = { convoy: convoyData(made), changed };
  return ok({
    exit: EXIT.done,
    text: changed
      ? `Created convoy ${id} with ${count(made.tasks.length, 'task')}.\n`
      : `Convoy ${id} already exists.\n`,
    data,
    notes: unsharedNotes(opened.value),
  });
}

/** `worker convoy status [<id>]`: how far convoys are. */
export async function convoyStatus(context: CliContext, call: Call): Promise<Result<Answer>> {
  const opened = await openWorkers(context);
  if (!opened.ok) return opened;
  const all = await opened.value.workers.statuses.all();
  if (!all.ok) return all;
  return convoyAnswer(convoyStatuses(all.value.ledger), call.operands[0]);
}
