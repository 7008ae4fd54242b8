import { lastEventOf } from '../history/historyEvent';
import { type ForeignEdits, foreignEdits } from '../task/foreignEdits';
import { nextAttempt } from '../task/stepAttempt';
import { type StepContext, type TaskRecord, type ValidationReceipt, isTerminal } from '../task/taskRecord';
import { worktreeOf } from '../task/task';
import { cut } from '../shared/text';
import { toMs } from '../shared/time';
import { block, bullets, code, prose, stacked } from './escape';
import { goalLines } from './plan';
import { sinceLastCheckpoint } from './since';
import { type HookView } from './view';
import { utc } from './utc';

const MAX_FILES = 30;
const MAX_DONE = 10;
const MAX_PROMPT_SHOWN = 2000;

/** Sections are separated as in the seed's template. */
export const RULE = '---';

/** `## Current State`: what the task is, and what must be known before anything else. */
export function currentState(view: HookView): string {
  const { hook, task } = view;
  const worktree = worktreeOf(task);
  const lines = [
    `**Task:** ${task.description.trim() === '' ? '(no description)' : prose(task.description, 1000)}`,
    `**Task ID:** ${code(hook.task_id)}`,
    `**Template:** ${task.template_id === '' ? '(unknown)' : code(task.template_id)}`,
    `**Workspace:** ${hook.workspace_id === '' ? '(unknown)' : code(hook.workspace_id)}`,
    ...(worktree === undefined ? [] : [`**Worktree:** ${code(worktree, 4096)}`]),
    ...(view.branch === undefined ? [] : [`**Branch:** ${code(view.branch)}`]),
    `**Started:** ${utc(hook.created_at)}`,
    `**Last Updated:** ${utc(hook.updated_at)}`,
  ];
  return [`## Current State: \`${hook.state}\``, stacked(lines), ...adoptedEdits(view)].join('\n\n');
}

const EDITS: Readonly<Record<ForeignEdits['kind'], string>> = {
  adopted: '`hook.json` was written by another program',
  edited: '`hook.json` was edited by something other than Atlas',
  rolled_back: '`hook.json` was put back to an older version, so what happened after that may be missing here',
};

/** Foreign edits are told until a human acknowledges them: what follows them stands on them. */
function adoptedEdits({ hook }: HookView): string[] {
  const edits = foreignEdits(hook);
  if (edits === undefined) return [];
  const times = edits.count === 1 ? 'once' : `${edits.count} times`;
  return [
    [
      `> ⚠️ **Changed from outside:** ${EDITS[edits.kind]} (${times}, last seen ${utc(edits.at)}).`,
      '> No human has acknowledged that. Do not trust the state below before you have compared it with `git status` and `git log`.',
    ].join('  \n'),
  ];
}

/** `## What You Were Doing`: the step, its files, the last checkpoint and the last output. */
export function whatYouWereDoing(view: HookView): string {
  return [
    '## What You Were Doing',
    stacked(stepLines(view)),
    ...noteOf(view),
    ...answerOf(view),
    ...doneSoFar(view),
    ...sinceLastCheckpoint(view),
    ...filesModified(view),
    ...(view.session?.work ?? []),
    ...(view.session?.hasMessage === true ? [lastRun(view)] : []),
    '### Last Checkpoint',
    lastCheckpoint(view),
    ...quoted('### Your Instructions', view.step?.prompt),
    ...quoted('### Your Last Output', view.step?.last_output),
    ...quoted('### Output of the Interrupted Command', view.hook.recovery?.partial_output),
  ].join('\n\n');
}

/** What the checks came to, beside what the agent said: the words are nobody's proof. */
function lastRun(view: HookView): string {
  const last = lastRunOf(view.hook);
  if (last === undefined) return '**Last run of a check:** none in this step.';
  const { command, exit_code: exit, completed_at: at } = last;
  return `**Last run of a check:** ${code(command, 300)} ${exit === 0 ? 'passed' : `failed with exit code ${exit}`} (${utc(at)}, recorded by Atlas).${filesOf(view, at)}`;
}

/** The last run of a check in the present step. */
export function lastRunOf({ receipts, current_step: step }: TaskRecord): ValidationReceipt | undefined {
  return receipts.findLast((receipt) => receipt.step_name === step?.step_name);
}

/** Whether a run was of the files that are there now, as far as that is known. */
function filesOf({ hook, lastRunFiles }: HookView, at: string): string {
  const isLater = (time: string | undefined): boolean => time !== undefined && toMs(time) > toMs(at);
  const { files = [] } = hook.worktree_state ?? {};
  if (lastRunFiles === 'current') return ' The files are still the same.';
  const isOutdated = lastRunFiles === 'outdated' || files.some(({ modified_at: time }) => isLater(time));
  return isOutdated ? ' The files have changed since.' : '';
}

/** Why a human sent an earlier attempt back; until the step ends, as the next attempt is judged by it. */
function noteOf(view: HookView): string[] {
  const note = noteTo(view);
  return note === undefined ? [] : ['### Why the Human Sent the Last Attempt Back', block(note)];
}

/** What a human wrote when they sent the present step back, once it runs again: before, it stands with what to do. */
export function noteTo({ hook, step }: HookView): string | undefined {
  const rejection = lastEventOf(hook.history, 'human_reject');
  if (rejection === undefined || hook.state === 'step_pending') return undefined;
  return rejection.details.step_index === step?.step_index ? rejection.details.reason : undefined;
}

/** What a human answered in this step, with the question; until the step ends. */
function answerOf(view: HookView): string[] {
  const found = answerTo(view);
  if (found === undefined) return [];
  return [
    found.by === 'human' ? "### The Human's Answer" : "### The Human's Answer, as an agent passed it on",
    ...(found.asked === undefined ? [] : [`To: "${prose(found.asked, 2000)}"`]),
    block(found.answer),
  ];
}

/** The newest answer of a human in the present step, with what was asked. */
export function answerTo({
  hook,
  step,
}: HookView): { answer: string; by: string | undefined; asked: string | undefined } | undefined {
  const index = hook.history.findLastIndex(
    (event) => event.trigger === 'human_resume' && event.details?.['answer'] !== undefined,
  );
  const event = lastEventOf(hook.history.slice(0, index + 1), 'human_resume');
  const { answer, answered_by: by } = event?.details ?? {};
  if (answer === undefined || event?.details.step_index !== step?.step_index) return undefined;
  const asked = lastEventOf(hook.history.slice(0, index), 'human_required')?.details.message;
  return { answer, by, asked };
}

/** What the checkpoints of this attempt say was done, oldest first. */
function doneSoFar({ hook, step }: HookView): string[] {
  const own = hook.checkpoints.filter(
    ({ step_index: index, attempt, trigger }) =>
      index === step?.step_index &&
      attempt === step.attempt &&
      (trigger === 'manual' || trigger === 'git_commit' || trigger === 'git_push' || trigger === 'pr_created'),
  );
  if (own.length === 0) return [];
  const shown = own.slice(-MAX_DONE).map(({ description }) => prose(description));
  const more = own.length - shown.length;
  return ['### Done So Far', bullets([...(more > 0 ? [`${more} earlier: \`atlas hook checkpoints\``] : []), ...shown])];
}

function stepLines(view: HookView): string[] {
  const { step, task, hook } = view;
  if (step === undefined) {
    return [
      hook.state === 'completed'
        ? `**Step:** none left, all ${task.steps.length} are done`
        : `**Step:** none yet (of ${task.steps.length})`,
    ];
  }
  const place = `step ${step.step_index + 1} of ${task.steps.length}`;
  const next = hook.state === 'step_pending' && step.started_at === undefined;
  const on = step.working_on ?? '';
  return [
    `**Step:** ${code(step.step_name, 64)} (${place}${next ? ', not started yet' : ''}, type \`${view.type}\`)`,
    `**Attempt:** ${step.attempt} of ${step.max_attempts}${attemptStanding(hook, step)}`,
    ...goalLines(view),
    `**Working On:** ${on.trim() === '' ? '(nothing noted yet)' : prose(on)}`,
  ];
}

function attemptStanding({ state }: TaskRecord, step: StepContext): string {
  if (step.started_at === undefined) return '';
  const ended = state === 'step_pending' ? `, has ended; the next is attempt ${nextAttempt(step)}` : '';
  return `, started ${utc(step.started_at)}${ended}`;
}

function filesModified(view: HookView): string[] {
  if (view.files.length === 0) return [];
  const shown = view.files.slice(0, MAX_FILES);
  const more = view.files.length - shown.length;
  const items = shown.map(({ path, state }) => `${code(path)}${state === undefined ? '' : ` (${stateOf(state)})`}`);
  return [
    '### Files You Modified',
    bullets([...items, ...(more === 0 ? [] : [`… and ${more} more, all in \`hook.json\``])]),
  ];
}

const FILE_STATES: Readonly<Record<string, string>> = {
  unchanged: 'unchanged since the last checkpoint',
  changed: 'changed since the last checkpoint',
  missing: 'missing: it was there at the last checkpoint',
  new: 'new since the last checkpoint',
};

function stateOf(state: string): string {
  return FILE_STATES[state] ?? 'not known whether it changed since the last checkpoint';
}

function lastCheckpoint({ checkpoint }: HookView): string {
  if (checkpoint === undefined) return '> None yet: nothing of this task was saved so far.';
  const commit = checkpoint.git_commit === undefined ? '' : `at commit ${code(checkpoint.git_commit.slice(0, 12))}`;
  const dirty =
    checkpoint.git_dirty === undefined ? '' : checkpoint.git_dirty ? 'with uncommitted changes' : 'nothing uncommitted';
  const tree = [commit, dirty].filter((part) => part !== '').join(', ');
  return [
    `> ID: ${code(checkpoint.checkpoint_id, 64)}`,
    `> Time: ${utc(checkpoint.created_at)}`,
    `> Step: ${code(checkpoint.step_name, 64)}${checkpoint.attempt === undefined ? '' : ` (attempt ${checkpoint.attempt})`}`,
    `> Trigger: \`${checkpoint.trigger}\``,
    `> Status: "${prose(checkpoint.description)}"`,
    ...(tree === '' ? [] : [`> Git: ${tree}`]),
  ].join('  \n');
}

function quoted(heading: string, text: string | undefined): string[] {
  if (text === undefined || text.trim() === '') return [];
  return [`${heading} (truncated)`, block(cut(text, MAX_PROMPT_SHOWN))];
}

/** `## If Something Is Wrong`: ways out that destroy nothing. */
export function ifSomethingIsWrong(view: HookView): string {
  const { root, hookPath } = view.location;
  const over = isTerminal(view.hook.state);
  const items = [
    "Run `atlas status` to see Atlas's view of the task; if it differs from this file, trust `atlas status` and run `atlas hook regenerate`",
    ...(over ? [] : ['Run `atlas recover --dry-run` to see what Atlas would do about an interruption, and why']),
    'If a command is refused because the task has changed, another session changed it: read this file again',
    `If \`atlas\` finds no task or several, add \`--task\` with the Task ID above; the store is ${code(root, 4096)} (\`ATLAS_HOME\`)`,
    'Newer commits and edits on this branch are normal. If the branch, a commit or a file is missing, change nothing and tell the human what is missing',
    'If the store itself seems damaged, run `atlas doctor` and show the human what it says',
    ...(over ? [] : ['If the task should be given up, ask the human to do that: it is not for an agent to decide']),
  ];
  return [
    '## If Something Is Wrong',
    'If this recovery context seems incorrect:',
    items.map((item, index) => `${index + 1}. ${item}`).join('\n'),
    `This file: ${code(hookPath, 4096)}`,
  ].join('\n\n');
}
