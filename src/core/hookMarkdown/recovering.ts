import { RECOVERY_ACTIONS, type RecoveryAction } from '../task/taskRecord';
import { nextAttempt } from '../task/stepAttempt';
import { type Advice, endingOf, keepWhatIsDone, namedFiles, startAndWork, stepName, typeDonts } from './advice';
import { startCommand, validateCommand } from './commands';
import { code, prose } from './escape';
import type { HookView } from './view';
import { lookAround } from './working';

type Plan = Pick<Advice, 'heading' | 'steps' | 'donts'>;

const APPLY = 'Run `atlas recover`: it applies the plan above';

/** For each recommended action: the one heading, what to do, and what not. */
const PLANS: Readonly<Record<RecoveryAction, (view: HookView) => Plan>> = {
  retry_step: retryStep,
  retry_from_checkpoint: (view) => ({
    heading: `🔁 RECOVER: Continue the ${stepName(view)} step from its last checkpoint`,
    steps: [
      `${APPLY}, and ${stepName(view)} runs again in the same attempt`,
      ...lookAround(view),
      `Compare them with the checkpoint ${checkpointId(view)}: what is in it is done, what came after may be half done`,
      ...endingOf(view),
    ],
    donts: ['Start over from the beginning', 'Throw away changes that came after the checkpoint before you read them'],
  }),
  retry_validation: (view) => ({
    heading: `🔁 RECOVER: Run the checks of the ${stepName(view)} step again`,
    steps: [
      `${APPLY}, and the checks can run again in the same attempt`,
      `Run ${validateCommand(view)}`,
      'If they pass, read this file again: Atlas is at the next step. If they fail, tell the human which failed and why',
    ],
    donts: [
      'Rely on output from before the interruption: a check that did not end proves nothing',
      `Change files before the checks have run: the work on ${stepName(view)} is what is being checked`,
    ],
  }),
  skip_step: (view) => ({
    heading: `⏭️ RECOVER: ${stepName(view)} is done, go on to the next step`,
    steps: [
      `${APPLY}: it records ${stepName(view)} as done without repeating it`,
      'Read this file again: it then names the next step and its commands',
    ],
    donts: [`Do ${stepName(view)} again: its effect is there already`],
  }),
  manual: (view) => ({
    heading: `✋ RECOVER: A human has to look at ${stepName(view)}`,
    steps: [
      ...(view.files.length === 0 ? [] : [`Look at the files, without changing them: ${namedFiles(view)}`]),
      'Look at `git status` and `git log -5 --oneline` for what the interrupted attempt left',
      'Run `atlas recover`: it hands the task to a human',
      'Tell the human what you saw and what is uncertain, ask the human to decide, and stop',
    ],
    donts: [
      `Do ${stepName(view)} again, or fix it, before the human has decided: repeating it could do harm`,
      'Choose another recovery than the computed one: that is for a human to choose',
    ],
  }),
  await_human: (view) => ({
    heading: `⏸️ RECOVER: ${stepName(view)} was waiting for a human and still is`,
    steps: [
      'Run `atlas recover`: the task waits for the human again, as before',
      'Ask the human to decide, and stop until they have',
    ],
    donts: [`Go on with ${stepName(view)} before the human has decided`],
  }),
};

function checkpointId(view: HookView): string {
  const id = view.hook.recovery?.last_checkpoint_id ?? view.checkpoint?.checkpoint_id;
  return id === undefined ? 'named above' : code(id, 64);
}

function retryStep(view: HookView): Plan {
  const { step } = view;
  if (step === undefined) {
    return {
      heading: '🔁 RECOVER: Set the task up again',
      steps: [`${APPLY}: the set-up is repeated`, 'Read this file again: it then names the first step'],
      donts: ['Change files of the repository before the first step has started'],
    };
  }
  const attempt = nextAttempt(step);
  return {
    heading: `🔁 RECOVER: Do the ${stepName(view)} step again (attempt ${attempt} of ${step.max_attempts})`,
    steps: [
      APPLY,
      ...(view.files.length === 0
        ? []
        : [`See what the interrupted attempt left, so that you build on it: ${namedFiles(view)}`]),
      ...startAndWork(view),
    ],
    donts: [`Work on ${stepName(view)} before ${startCommand(view, attempt)} has succeeded`, ...typeDonts(view)],
  };
}

/** The action of a recovery; one that this program doesn't know is a human's. */
export function actionOf(view: HookView): RecoveryAction {
  const named = view.hook.recovery?.recommended_action;
  return RECOVERY_ACTIONS.find((action) => action === named) ?? 'manual';
}

/** `recovering`: apply the computed plan, then go on as it says. */
export function recoveringAdvice(view: HookView): Advice {
  const plan = PLANS[actionOf(view)](view);
  const reason = view.hook.recovery?.reason ?? '';
  const why = reason.trim() === '' ? 'Atlas does not know more about it.' : `Why: ${prose(reason)}`;
  const intro = `The work was interrupted. The plan is \`${actionOf(view)}\`. ${why}`;
  return { ...plan, intro, donts: [...plan.donts, ...keepWhatIsDone(view)] };
}
