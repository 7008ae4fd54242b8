import { defined } from '../shared/defined';
import { attemptsSpent, nextAttempt } from '../task/stepAttempt';
import { isAiLike } from '../task/templates/template';
import {
  type Advice,
  commandList,
  endingOf,
  keepWhatIsDone,
  namedFiles,
  startAndWork,
  stepName,
  typeDonts,
  workOf,
} from './advice';
import { command, validateCommand } from './commands';
import { answerTo, noteTo } from './current';
import { code, prose } from './escape';
import type { HookView } from './view';

/** `initializing`: the set-up is not done, there is no step to work on. */
export function initializingAdvice(): Advice {
  return {
    heading: '⏳ WAIT: The task is being set up',
    intro: 'No step has begun and nothing of yours is lost.',
    steps: [
      'Run `atlas status`. When it says Ready, read this file again',
      'If it still says Setting up after a few minutes, setup was interrupted: run `atlas recover --dry-run` to see what Atlas would do, then `atlas recover`, and read this file again',
    ],
    donts: ['Change files of the repository yet', 'Start a second task for the same work'],
  };
}

/** Why the step waits to be started, when that isn't simply that the one before it ended. */
function beforeStart(view: HookView): { word: string; intro?: string } {
  const event = view.entered;
  switch (event?.type) {
    case 'human_reject':
      return {
        word: '🔁 REDO',
        intro: `A human rejected the previous attempt${event.details.reason !== undefined ? ` and wrote: ${sentenceQuoted(event.details.reason)} Do it differently this time.` : ' without giving a reason; ask them if it is not clear why.'}`,
      };
    case 'retry_step':
      return {
        word: '🔁 RETRY',
        intro:
          'The previous attempt was interrupted. Parts of its work can be in the files already: look before you change them.',
      };
    case 'skip_step':
      return {
        word: '▶️ START',
        intro: 'The step before was interrupted after its work was done, so it was not repeated.',
      };
    case undefined:
    default:
      return { word: '▶️ START' };
  }
}

/** `step_pending`: the next step has to be started. */
export function pendingAdvice(view: HookView): Advice {
  const { step } = view;
  if (step === undefined) {
    return {
      heading: '✅ FINISH: No step is left',
      steps: ['Run `atlas status`: it lets Atlas finish the task', 'Tell the human that the work is done'],
      donts: keepWhatIsDone(view),
    };
  }
  const { word, intro } = beforeStart(view);
  const name = stepName(view);
  const human = view.type === 'human' || attemptsSpent(step);
  const heading = human
    ? `⏸️ HAND OVER: ${name} needs a human`
    : `${word}: Begin the ${name} step (attempt ${nextAttempt(step)} of ${step.max_attempts})`;
  return {
    heading,
    ...defined({ intro }),
    steps: startAndWork(view),
    donts: [
      ...(human ? [] : [`Work on ${name} before it is started: Atlas could not recover what you do`]),
      ...keepWhatIsDone(view),
      ...typeDonts(view),
    ],
  };
}

/** A quotation that ends its sentence, with one full stop. */
function sentenceQuoted(text: string): string {
  const quoted = prose(text);
  return /[.!?\u2026]$/u.test(quoted) ? `"${quoted}"` : `"${quoted}".`;
}

/** What has to be settled before the work goes on: something is missing, or git is in the middle of something. */
function settleFirst(view: HookView): string[] {
  const { operation, since_is_gone: isGone } = view.hook.worktree_state ?? {};
  const ask = (question: string): string => `run ${command(view, `step ask "${question}"`)} and stop`;
  return [
    ...(operation === undefined
      ? []
      : [
          `End the ${prose(operation, 40)} that is in progress, as \`git status\` says. If you can't tell how, ${ask('How should I finish the git operation in progress?')}`,
        ]),
    ...(isGone === true
      ? [
          `The commit of the last checkpoint is missing: look with \`git reflog\` what became of it. If you can't tell, ${ask('Where is the commit of the last checkpoint?')}`,
        ]
      : []),
    ...(noteTo(view) === undefined ? [] : ['Do it differently this time, as the human wrote above']),
    ...(answerTo(view) === undefined ? [] : ["Act on the human's answer above"]),
  ];
}

/** The worktree is gone: whatever the state, nothing can be done in it. */
export function missingAdvice(view: HookView): Advice {
  return {
    heading: "⏸️ STOP: The task's worktree is missing",
    intro: "It was moved or removed. What was done in it since the last checkpoint can't be seen.",
    steps: [
      'Tell the human that the worktree named under Current State is missing',
      'When it is back, run `atlas status` and read this file again',
    ],
    donts: ['Do the work somewhere else', ...keepWhatIsDone(view)],
  };
}

/** The first steps of continuing work that was under way. */
export function lookAround(view: HookView): string[] {
  return [
    ...(view.files.length === 0 ? [] : [`Review the files modified in this step: ${namedFiles(view)}`]),
    'Run `git status` and `git diff`: what is there is done, the last change may be incomplete',
  ];
}

function whereToContinue(view: HookView): string {
  const on = view.step?.working_on;
  return on === undefined || on === ''
    ? 'Compare what is there with what the step must deliver, and do what is missing'
    : `Continue with: ${prose(on)}`;
}

/** What may stand in the history after a step's start without any work having been done. */
const NO_WORK: readonly string[] = ['adopted_edit', 'observe'];

/** Whether work on the attempt was recorded already; a step that was just started has none. */
function isUnderWay({ hook, step }: HookView): boolean {
  const started = hook.history.findLastIndex(({ trigger }) => trigger === 'start_step');
  return step !== undefined && hook.history.slice(started + 1).some(({ trigger }) => !NO_WORK.includes(trigger));
}

const DOING: Readonly<Partial<Record<HookView['type'], string>>> = {
  validation: 'Run the checks of the',
  git: 'Do the git work of the',
  ci: 'Wait for the checks of the',
  human: 'Help the human with the',
};

/** `step_running`: begin the step's work, continue it, or take it over from somebody who was interrupted. */
export function runningAdvice(view: HookView): Advice {
  const ai = isAiLike(view.type);
  const underWay = isUnderWay(view);
  const [whatToDo, ...meanwhile] = workOf(view);
  const work = ai && underWay ? [...lookAround(view), whereToContinue(view), ...meanwhile] : workOf(view);
  const fresh = noteTo(view) === undefined ? '▶️ BEGIN' : '🔁 REDO';
  const word = view.interruption !== undefined ? '🔁 TAKE OVER' : underWay ? '✅ RESUME' : fresh;
  const doing = DOING[view.type] ?? (underWay ? 'Continue the' : 'Work on the');
  return {
    heading: `${word}: ${doing} ${stepName(view)} step`,
    steps: [...settleFirst(view), ...(whatToDo === undefined ? [] : work), ...endingOf(view)],
    donts: [
      ...(underWay ? ['Start over from the beginning'] : []),
      `Run \`atlas step start\`: ${stepName(view)} is running already`,
      ...keepWhatIsDone(view),
      ...typeDonts(view),
    ],
  };
}

/** How the declared commands stand in this attempt, one a line of code. */
function commandStandings(view: HookView): string[] {
  const { step, hook } = view;
  return view.commands.map((declared) => {
    const newest = hook.receipts.findLast(
      (receipt) =>
        receipt.command === declared && receipt.step_name === step?.step_name && receipt.attempt === step.attempt,
    );
    if (newest === undefined) return `${code(declared)}: no result in this attempt`;
    return `${code(declared)}: ${newest.exit_code === 0 ? 'passed' : `failed with exit code ${newest.exit_code}`}`;
  });
}

/** `step_validating`: the declared commands decide. */
export function validatingAdvice(view: HookView): Advice {
  const name = stepName(view);
  const standings = commandStandings(view);
  return {
    heading: `🧪 VALIDATE: Run the checks of the ${name} step`,
    intro:
      standings.length === 0
        ? `The work on ${name} was submitted. It declares no commands, so it needs at least one that you name and that passes.`
        : `The work on ${name} was submitted. So far: ${standings.join('; ')}.`,
    steps: [
      'Run `atlas status`: if it says that a validation is running, wait for it to end and read this file again',
      `Run ${validateCommand(view)}${view.commands.length === 0 ? '' : `, which runs ${commandList(view)}`}`,
      'If it passes, Atlas goes on to the next step by itself: read this file again',
      'If it fails, the task waits for a human: tell them which command failed and what its output says',
    ],
    donts: [
      `Change files before the checks have run: the work on ${name} is what is being checked`,
      `Run the commands by hand instead of \`atlas validate\`: only its receipts count`,
      `Run \`atlas step complete\`: ${name} ends only when its checks passed`,
      ...keepWhatIsDone(view),
    ],
  };
}
