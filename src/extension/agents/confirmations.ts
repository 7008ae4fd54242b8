import * as vscode from 'vscode';
import { commandsOf } from '../../core/task/task';
import { oneLine, plainLines } from '../../core/shared/text';
import { refKey } from '../../core/task/taskRef';
import type { StoredTask } from '../../core/task/storedTask';
import type { Session } from '../windowTasks';
import { isAboutTask, workspaceIn } from './toolFolder';

/** As much of an argument as a person reads before they allow a call, in characters and in lines. */
const [SHOWN, SHOWN_LINES] = [600, 12];

/** What is said of a tool: while it runs, and where it changes something, before. */
interface ToolTexts {
  readonly running: () => string;
  readonly confirm?: { readonly title: () => string; readonly what: () => string };
}

const TEXTS: Readonly<Record<string, ToolTexts>> = {
  atlas_status: { running: () => vscode.l10n.t('Looking at the task') },
  atlas_read_hook: { running: () => vscode.l10n.t('Reading HOOK.md') },
  atlas_verify_receipts: { running: () => vscode.l10n.t('Verifying the receipts') },
  atlas_start_step: {
    running: () => vscode.l10n.t('Starting the step'),
    confirm: {
      title: () => vscode.l10n.t('Start the step?'),
      what: () =>
        vscode.l10n.t('Starts the current step of the task. After a crash, the computed plan is applied first.'),
    },
  },
  atlas_note: {
    running: () => vscode.l10n.t('Noting progress'),
    confirm: {
      title: () => vscode.l10n.t('Note progress?'),
      what: () => vscode.l10n.t('Records what is worked on in the step that runs.'),
    },
  },
  atlas_checkpoint: {
    running: () => vscode.l10n.t('Making a checkpoint'),
    confirm: {
      title: () => vscode.l10n.t('Make a checkpoint?'),
      what: () =>
        vscode.l10n.t('Records how far the work is, with the state of git and of the files. No file is changed.'),
    },
  },
  atlas_validate: {
    running: () => vscode.l10n.t('Running the validation'),
    confirm: {
      title: () => vscode.l10n.t('Run the validation?'),
      what: () =>
        vscode.l10n.t(
          'Runs the commands that the step declares, signs a receipt of each, and passes or fails the step. Only what a human has allowed is run.',
        ),
    },
  },
  atlas_submit_output: {
    running: () => vscode.l10n.t("Submitting the step's output"),
    confirm: {
      title: () => vscode.l10n.t("Submit the step's output?"),
      what: () => vscode.l10n.t("Records the step's output. Its validation comes next."),
    },
  },
  atlas_complete_step: {
    running: () => vscode.l10n.t('Completing the step'),
    confirm: {
      title: () => vscode.l10n.t('Complete the step?'),
      what: () => vscode.l10n.t('Ends the step, which declares no checks, and goes on to the next one.'),
    },
  },
  atlas_ask_human: {
    running: () => vscode.l10n.t('Handing the step to you'),
    confirm: {
      title: () => vscode.l10n.t('Hand the step to you?'),
      what: () => vscode.l10n.t('The task waits until you have answered.'),
    },
  },
  atlas_recover: {
    running: () => vscode.l10n.t('Recovering the task'),
    confirm: {
      title: () => vscode.l10n.t('Recover the task?'),
      what: () => vscode.l10n.t('Finds out what a crash left, and applies the computed plan.'),
    },
  },
  atlas_get_next_task: {
    running: () => vscode.l10n.t('Looking into the inbox'),
    confirm: {
      title: () => vscode.l10n.t('Take the next item of the inbox?'),
      what: () =>
        vscode.l10n.t('Gives the item to this agent. Nobody else gets it for an hour, or as long as is said.'),
    },
  },
  atlas_task_complete: {
    running: () => vscode.l10n.t('Completing the item'),
    confirm: {
      title: () => vscode.l10n.t('Complete the item of the inbox?'),
      what: () => vscode.l10n.t('Records what came of the item, and wakes the session that waits for the answer.'),
    },
  },
  atlas_inbox_add: {
    running: () => vscode.l10n.t('Adding to the inbox'),
    confirm: {
      title: () => vscode.l10n.t('Add to the inbox?'),
      what: () => vscode.l10n.t('Asks the sessions of this workspace for something.'),
    },
  },
};

/** What the editor shows of a call: what runs, and before one that changes something, what is about to change. */
export function prepared(
  name: string,
  input: object,
  session: Pick<Session, 'ownTasks'>,
): vscode.PreparedToolInvocation {
  const texts = TEXTS[name];
  const invocationMessage = texts?.running() ?? vscode.l10n.t('Calling a tool of Atlas');
  if (texts?.confirm === undefined && texts !== undefined) return { invocationMessage };
  const title = texts?.confirm?.title() ?? vscode.l10n.t('Call a tool of Atlas?');
  const message = new vscode.MarkdownString(texts?.confirm?.what() ?? '');
  // In a block of code nothing of others is a link, an icon or a heading.
  const facts = [...(isAboutTask(name) ? taskFacts(name, input, session) : []), ...argumentFacts(input)];
  if (facts.length > 0) message.appendCodeblock(facts.join('\n'), 'text');
  return { invocationMessage, confirmationMessages: { title, message } };
}

/** The arguments as they were given; a line of one can't pass for another argument. */
function argumentFacts(input: object): string[] {
  return Object.entries(input).map(([key, value]: [string, unknown]) => {
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    return `${oneLine(key, 60)}: ${shown(text)}`;
  });
}

function shown(text: string): string {
  const lines = plainLines(text).slice(0, SHOWN).split('\n');
  const cut = text.length > SHOWN || lines.length > SHOWN_LINES;
  return `${lines.slice(0, SHOWN_LINES).join('\n    ')}${cut ? ' …' : ''}`;
}

/** The task that is about to change, as far as this window knows it. */
function taskFacts(name: string, input: object, session: Pick<Session, 'ownTasks'>): string[] {
  const task = taskOf(input, session.ownTasks());
  if (task === undefined) return [];
  const { hook } = task;
  const step = hook.current_step;
  const planned = task.task.steps[step?.step_index ?? -1];
  const commands = name === 'atlas_validate' && planned !== undefined ? commandsOf(planned) : [];
  return [
    `${refKey(task.ref)}  ${oneLine(task.task.description, 100)}`,
    ...(step === undefined
      ? []
      : [`${oneLine(step.step_name, 64)}, ${hook.state}, ${step.attempt}/${step.max_attempts}`]),
    ...commands.map((command) => `$ ${oneLine(command, SHOWN)}`),
  ];
}

function taskOf(input: object, tasks: readonly StoredTask[]): StoredTask | undefined {
  const { task: named } = input as { readonly task?: unknown };
  const workspace = workspaceIn(input);
  const fitting = tasks.filter(({ ref }) => {
    if (workspace !== undefined && ref.workspace !== workspace) return false;
    return typeof named !== 'string' || named === ref.id || named === refKey(ref);
  });
  return fitting.length === 1 ? fitting[0] : undefined;
}
