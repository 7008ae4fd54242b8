import { passesOverFailure } from '../task/acceptedFailure';
import { type WaitKind, canApprove, waitingSince } from '../task/waiting';
import { nextAttempt } from '../task/stepAttempt';
import { type Advice, endingOf, keepWhatIsDone, namedFiles, stepName } from './advice';
import { startCommand } from './commands';
import { code, prose } from './escape';
import type { HookView } from './view';

interface Kind {
  readonly heading: (name: string) => string;
  readonly intro: (name: string) => string;
  readonly ask: (view: HookView) => readonly string[];
}

const HUMAN_APPROVES = '`atlas approve`';
/** With the reason that is asked for where a check failed. */
const HUMAN_ACCEPTS = '`atlas approve --reason "<why>"`';
const HUMAN_REJECTS = '`atlas reject "<why>"`';

function acceptCommand({ hook }: HookView): string {
  return passesOverFailure(hook) ? HUMAN_ACCEPTS : HUMAN_APPROVES;
}

function lastFailure(view: HookView): string {
  const { step, hook } = view;
  const failed = hook.receipts.findLast(
    (receipt) => receipt.step_name === step?.step_name && receipt.attempt === step.attempt && receipt.exit_code !== 0,
  );
  return failed === undefined
    ? 'which check failed'
    : `that ${code(failed.command)} ended with exit code ${failed.exit_code} (receipt ${code(failed.receipt_id, 64)})`;
}

/** For each kind of waiting: what it is called, what happened, and what to ask the human for. */
const KINDS: Readonly<Record<WaitKind, Kind>> = {
  review: {
    heading: (name) => `⏸️ STOP: A human reviews ${name}`,
    intro: (name) => `${name} ends when a human has approved it.`,
    ask: () => [
      'Summarise for the human what was done in the steps before, and what you are unsure of',
      `Ask the human to approve it (${HUMAN_APPROVES}) or to send it back (${HUMAN_REJECTS})`,
    ],
  },
  question: {
    heading: (name) => `⏸️ STOP: ${name} waits for an answer`,
    intro: () => 'You asked a human a question. The work continues only with the answer.',
    ask: () => [
      'Ask the human to answer the question above, in the editor or with `atlas answer "<their answer>"`',
      'If they tell you the answer, and only then, run `atlas answer "<their answer>"` for them',
    ],
  },
  step_failed: {
    heading: (name) => `⏸️ STOP: ${name} failed, a human decides`,
    intro: (name) => `The attempt at ${name} was given up.`,
    ask: (view) => [
      'Tell the human what was tried and why it failed',
      `Ask the human to have it done again (${HUMAN_REJECTS}), to let it go on (\`atlas resume\`), or to accept the step as it is (${acceptCommand(view)})`,
    ],
  },
  interrupted: {
    heading: (name) => `⏸️ STOP: ${name} was interrupted, a human decides how to go on`,
    intro: () => 'How much of the work was done is not certain, so it was not repeated by itself.',
    ask: (view) => [
      ...(view.files.length === 0 ? [] : [`Look at what is there, without changing it: ${namedFiles(view)}`]),
      'Tell the human what `git status` and `git log -3 --oneline` show, and what seems to be missing',
      `Ask the human whether to go on where it stopped (\`atlas resume\`) or to do the step again (${HUMAN_REJECTS})`,
    ],
  },
  validation_failed: {
    heading: (name) => `⏸️ STOP: The checks of ${name} failed, a human decides`,
    intro: () =>
      'A declared command did not pass. Its output is kept in the folder `artifacts/validation` beside this file.',
    ask: (view) => [
      `Tell the human ${lastFailure(view)}, what its output says, and how you would fix it`,
      `Ask the human to let you fix it in this attempt (\`atlas resume\`), to have the step done again (${HUMAN_REJECTS}), or to accept it despite the failure (${HUMAN_ACCEPTS})`,
    ],
  },
  attempts_spent: {
    heading: (name) => `⏸️ STOP: All attempts at ${name} are spent, a human decides`,
    intro: (name) => `${name} was tried as often as it may be.`,
    ask: (view) => [
      'Tell the human what each attempt tried and why it did not succeed',
      `Ask the human to give it one attempt more (${HUMAN_REJECTS}), or to accept the step as it is (${acceptCommand(view)})`,
    ],
  },
};

/** What follows once a human has resumed the step; a step that is a human's decision can't be. */
function resumed(view: HookView, attempt: number): string {
  if (view.type === 'human') return '';
  return `; after \`atlas resume\` you go on in attempt ${attempt}, and then: ${endingOf(view).join('; ')}`;
}

/** `awaiting_human`: stop, tell the human, and what to do once they have decided. */
export function waitingAdvice(view: HookView): Advice {
  const { kind, message } = waitingSince(view.hook);
  const texts = KINDS[kind];
  const name = stepName(view);
  const word = kind === 'question' ? 'The question' : 'What was said';
  const said = message === undefined || message.trim() === '' ? '' : ` ${word}: "${prose(message, 2000)}"`;
  const { step } = view;
  const again =
    step === undefined || kind === 'question'
      ? ''
      : ` After a rejection that is ${startCommand(view, nextAttempt(step))}${resumed(view, step.attempt)}`;
  return {
    heading: texts.heading(name),
    intro: `${texts.intro(name)}${said}`,
    steps: [...texts.ask(view), `When the human has decided, read this file again: it says what comes next.${again}`],
    donts: [
      `Go on with ${name} or with a later step before the human has decided`,
      canApprove(kind)
        ? 'Approve, reject or resume it yourself: Atlas refuses that to agents'
        : `Approve it: there is nothing to approve, and approving is a human's`,
      ...keepWhatIsDone(view),
    ],
  };
}
