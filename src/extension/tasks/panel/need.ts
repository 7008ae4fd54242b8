import { flat } from '../../../core/hookMarkdown/escape';
import { eventsOf, lastEventOf } from '../../../core/history/historyEvent';
import type { Diagnosis } from '../../../core/recovery/liveness';
import { recoveryDetails } from '../../../core/recovery/recoveryDetails';
import { plainLines, cut } from '../../../core/shared/text';
import { toMs, toTimestamp } from '../../../core/shared/time';
import { failedChecks } from '../../../core/task/acceptedFailure';
import { stepLabel } from '../../../core/task/labels';
import type { CheckTally } from './checks';
import { situationOf } from '../../../core/task/taskActions';
import type { TaskRecord } from '../../../core/task/taskRecord';
import { waitingSince } from '../../../core/task/waiting';
import type { TaskNeed, TimedSentence } from '../../../protocol/taskPanel';
import { type NeedTexts, needTexts } from './needTexts';

/** So much of somebody's own words is shown; HOOK.md has all of them. */
const MAX_QUOTE = 2000;

/** What the sentences are made of beside the record. */
export interface NeedFacts {
  readonly diagnosis: Diagnosis | undefined;
  /** Whether a process runs the step's checks. */
  readonly validated: boolean;
  /** Whether the current step is a person's. */
  readonly isHumanStep: boolean;
  /** How many files changed after the last checkpoint, where that was looked at. */
  readonly changed: number | undefined;
  /** The last lines that the failed check printed. */
  readonly output: string | undefined;
  /** How the last runs of the task's checks stand. */
  readonly checks: CheckTally;
}

/** What a task needs now and why, in sentences. */
export function taskNeed(hook: TaskRecord, facts: NeedFacts): TaskNeed {
  const texts = needTexts();
  const step = stepLabel(hook.current_step?.step_name ?? '');
  const situation = situationOf(hook, facts.diagnosis?.kind);
  switch (situation) {
    case 'over':
      return overNeed(hook, texts);
    case 'setup':
      return info(texts.setup());
    case 'ready':
      return readyNeed(hook, step, facts.isHumanStep, texts);
    case 'running':
      return { ...info(texts.running(step)), ...quoteOf(texts.workingOn(), hook.current_step?.working_on) };
    case 'validating':
      return info(facts.validated ? texts.validating(step) : texts.submitted(step));
    case 'quiet':
      return quietNeed(facts.diagnosis, texts);
    case 'left':
      return { level: 'warning', sentences: [{ text: texts.left(step) }] };
    case 'crashed':
    case 'recovering':
      return interruptedNeed(hook, facts, texts);
    default:
      return waitingNeed(hook, step, facts, texts);
  }
}

function info(text: string): TaskNeed {
  return { level: 'info', sentences: [{ text }] };
}

function quoteOf(label: string, words: string | undefined): Pick<TaskNeed, 'quote'> {
  const text = cut(plainLines(words ?? '').trim(), MAX_QUOTE);
  return text === '' ? {} : { quote: { label, text } };
}

function overNeed(hook: TaskRecord, texts: NeedTexts): TaskNeed {
  if (hook.state === 'completed') return info(texts.completed());
  const event = lastEventOf(hook.history, 'fail', 'abandon');
  const reason = flat(event?.details.reason ?? event?.details.message ?? '', 500);
  if (hook.state === 'abandoned') return { ...info(texts.abandoned()), ...quoteOf(texts.reason(), reason) };
  const sentences = [{ text: reason === '' ? texts.failedSilently() : texts.failed() }];
  return { level: 'error', sentences, ...quoteOf(texts.reason(), reason) };
}

/** A step that comes again says why, in the words of whoever sent it back. */
function readyNeed(hook: TaskRecord, step: string, isHuman: boolean, texts: NeedTexts): TaskNeed {
  const sent = lastEventOf(hook.history, 'human_reject', 'start_step', 'human_approve', 'step_complete');
  if (sent?.type === 'human_reject')
    return { ...info(texts.sentBack(step)), ...quoteOf(texts.note(), sent.details.reason) };
  return info(isHuman ? texts.yours(step) : texts.ready(step));
}

function quietNeed(diagnosis: Diagnosis | undefined, texts: NeedTexts): TaskNeed {
  const since = diagnosis?.kind === 'quiet' ? toTimestamp(diagnosis.since) : undefined;
  return { level: 'warning', sentences: [timed(texts.quiet(), since), { text: texts.quietAdvice() }] };
}

function timed(text: string, at: string | undefined): TimedSentence {
  return at === undefined ? { text } : { text, at };
}

/** How long before an interruption (RFC 3339) the last checkpoint was made, in ms; `undefined` without one. */
function checkpointAge(hook: TaskRecord, at: string | undefined): number | undefined {
  const last = Math.max(...hook.checkpoints.map(({ created_at: made }) => toMs(made)));
  return at === undefined || !Number.isFinite(last) ? undefined : toMs(at) - last;
}

/** How old the last checkpoint was when a task was interrupted, in a sentence. */
export function lastCheckpointText(hook: TaskRecord): string {
  const texts = needTexts();
  const earlier = checkpointAge(hook, recoveryDetails(hook.recovery).lastSignOfLife ?? hook.recovery?.detected_at);
  return earlier === undefined ? texts.noCheckpoint() : texts.lastCheckpoint(earlier);
}

/** What happened, how old the last checkpoint was then, and what may be lost. */
function interruptedNeed(hook: TaskRecord, { diagnosis, changed }: NeedFacts, texts: NeedTexts): TaskNeed {
  const recorded = recoveryDetails(hook.recovery);
  const found = diagnosis?.kind === 'crashed' ? diagnosis : undefined;
  const cause = found?.cause ?? recorded.cause ?? '';
  const at =
    found === undefined ? (recorded.lastSignOfLife ?? hook.recovery?.detected_at) : toTimestamp(found.lastSign);
  const earlier = checkpointAge(hook, at);
  const unsure = hook.recovery?.recommended_action === 'manual' ? flat(hook.recovery.reason, 500) : '';
  return {
    level: 'warning',
    sentences: [
      timed(texts.cause(cause, at !== undefined), at),
      { text: earlier === undefined ? texts.noCheckpoint() : texts.lastCheckpoint(earlier) },
      ...(changed === undefined ? [] : [{ text: texts.changedSince(changed, earlier !== undefined) }]),
      ...(unsure === '' ? [] : [{ text: unsure }]),
    ],
    ...quoteOf(texts.agentsError(), found?.failure ?? recorded.agentFailure),
  };
}

/** An interruption that a person has to decide about: what happened, as long as it is known. */
function undecidedNeed(hook: TaskRecord, step: string, facts: NeedFacts, texts: NeedTexts): TaskNeed {
  const last = lastEventOf(hook.history, 'manual_required', 'human_required');
  const recovery = last?.type === 'manual_required' ? last.details.recovery : undefined;
  if (recovery === undefined) {
    const { message } = waitingSince(hook);
    return { level: 'warning', sentences: [{ text: texts.interrupted(step) }], ...quoteOf(texts.reason(), message) };
  }
  const told = interruptedNeed({ ...hook, recovery }, facts, texts);
  return { ...told, sentences: [...told.sentences, { text: texts.decide(step) }] };
}

function waitingNeed(hook: TaskRecord, step: string, facts: NeedFacts, texts: NeedTexts): TaskNeed {
  const { kind, message } = waitingSince(hook);
  switch (kind) {
    case 'question':
      return { ...info(texts.question()), ...quoteOf(texts.questionLabel(), message) };
    case 'review':
      return reviewNeed(step, message ?? lastSummary(hook), facts.checks, texts);
    case 'validation_failed': {
      const failed = failedChecks(hook);
      const sentences =
        failed.length === 0
          ? [{ text: texts.checkFailed(step) }]
          : failed.map((each) => ({ text: texts.exited(flat(each.command, 200), each.exit_code) }));
      const why = failed.length === 0 ? quoteOf(texts.reason(), message) : {};
      return { level: 'error', sentences, ...why, ...(facts.output === undefined ? {} : { output: facts.output }) };
    }
    case 'step_failed':
      return { level: 'error', sentences: [{ text: texts.gaveUp(step) }], ...quoteOf(texts.reason(), message) };
    case 'attempts_spent':
      return { level: 'error', sentences: [{ text: texts.spent(step, hook.current_step?.max_attempts ?? 0) }] };
    case 'interrupted':
      return undecidedNeed(hook, step, facts, texts);
  }
}

/** What a review is decided by: the agent's words, and what its checks came to. */
function reviewNeed(step: string, said: string | undefined, checks: CheckTally, texts: NeedTexts): TaskNeed {
  const sentences = [
    { text: texts.review(step) },
    { text: texts.checks(checks.ran, checks.failed) },
    ...(checks.unproven > 0 ? [{ text: texts.unproven(checks.unproven) }] : []),
    ...(checks.outdated ? [{ text: texts.outdated() }] : []),
  ];
  const level = checks.failed + checks.unproven > 0 || checks.outdated ? 'warning' : 'info';
  return { level, sentences, ...quoteOf(texts.summary(), said) };
}

/** What the agent said last of what a step came to: the step before, where a person's own step follows it. */
function lastSummary({ history }: TaskRecord): string | undefined {
  const told = eventsOf(history, 'step_output', 'step_complete', 'validate_pass');
  return told.findLast(({ details }) => details.summary !== undefined)?.details.summary;
}
