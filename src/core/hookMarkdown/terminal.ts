import type { TerminalState } from '../task/taskRecord';
import { type Advice, keepWhatIsDone } from './advice';
import { prose } from './escape';
import type { HookView } from './view';

const OVER: Readonly<Record<TerminalState, { heading: string; intro: string; tell: string; dont: string }>> = {
  completed: {
    heading: '✅ NOTHING: The task is complete',
    intro: 'Every step is done.',
    tell: 'If somebody asks, say that the task is complete; the tables below say what was done and what proves it',
    dont: 'Do any step again',
  },
  failed: {
    heading: '🛑 NOTHING: The task has failed',
    intro: 'A human ended this task as failed.',
    tell: 'If somebody asks, say that the task has failed and what the tables below show to be done',
    dont: 'Try to make it succeed after all: it was ended on purpose',
  },
  abandoned: {
    heading: '🛑 NOTHING: The task was abandoned',
    intro: 'A human gave this task up.',
    tell: 'If somebody asks, say that the task was abandoned and what the tables below show to be done',
    dont: 'Go on with it, or undo what it left: it was given up on purpose',
  },
};

/** A terminal state: nothing is to be done any more. */
export function overAdvice(view: HookView, state: TerminalState): Advice {
  const texts = OVER[state];
  const { reason } =
    (view.entered !== undefined && 'reason' in view.entered.details ? view.entered.details : undefined) ?? {};
  return {
    heading: texts.heading,
    intro: `${texts.intro}${reason !== undefined && reason.trim() !== '' ? ` The reason given: "${prose(reason)}"` : ''}`,
    steps: [texts.tell, 'For more work, ask the human to start a new task (`atlas start "<description>"`)'],
    donts: [texts.dont, ...keepWhatIsDone(view)],
  };
}
