import { MAX_AGENT_TEXT, cutAtLine } from '../../core/shared/agentText';
import { HOSTS, type HostName, type LifecycleEvent } from './hosts';

/** What an event comes to, before a host's form is given to it. */
export interface Reaction {
  /** For the agent; empty for nothing. */
  readonly text: string;
  /** Whether the agent has to go on: `text` says with what. */
  readonly blocks: boolean;
}

/** Nothing is said, and nobody is kept. */
export const NOTHING: Reaction = { text: '', blocks: false };

/** What is written and exited with. */
export interface Reply {
  readonly out: string;
  readonly err: string;
  readonly exit: 0 | 2;
}

/** How long a session's first text is as a host gets it, in characters. */
export function printedLength(host: HostName | undefined, text: string): number {
  return replyOf(host, 'session-start', { text, blocks: false }).out.length;
}

/** Says a reaction as its host understands it, as plain text where no host is named; never longer than a host takes. */
export function replyTo(host: HostName | undefined, event: LifecycleEvent, reaction: Reaction): Reply {
  let { text } = reaction;
  for (;;) {
    const reply = replyOf(host, event, { ...reaction, text });
    const excess = reply.out.length + reply.err.length - MAX_AGENT_TEXT;
    if (excess <= 0 || text === '') return reply;
    text = cutAtLine(text, Math.max(0, text.length - excess - CUT.length), CUT);
  }
}

const CUT = '[Truncated.]';

function replyOf(host: HostName | undefined, event: LifecycleEvent, { text, blocks }: Reaction): Reply {
  if (host === 'cursor') return { out: jsonLine(cursorAnswer(event, text, blocks)), err: '', exit: 0 };
  // Where a host blocks, it reads why on standard error.
  if (blocks) return { out: '', err: `${text}\n`, exit: 2 };
  if (host === undefined || host === 'claude') return { out: text === '' ? '' : `${text}\n`, err: '', exit: 0 };
  return { out: text === '' ? '' : jsonLine(jsonAnswer(host, event, text)), err: '', exit: 0 };
}

function jsonAnswer(host: HostName, event: LifecycleEvent, text: string): object {
  if (event !== 'session-start') return { systemMessage: text };
  const hookEventName = HOSTS[host].events.find((each) => each.event === event)?.key ?? 'SessionStart';
  return { hookSpecificOutput: { hookEventName, additionalContext: text } };
}

function cursorAnswer(event: LifecycleEvent, text: string, blocks: boolean): object {
  if (text === '') return {};
  if (event === 'session-start') return { additional_context: text };
  if (event === 'pre-compact') return { user_message: text };
  // A follow-up is sent as a message of the user, so a reminder must not be one.
  return event === 'stop' && blocks ? { followup_message: text } : {};
}

function jsonLine(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
