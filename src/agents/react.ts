import { type Reaction, printedLength } from './hostReply';
import type { HostName, LifecycleEvent } from './hosts';
import type { Occasion } from './occasion';
import { preCompact } from './preCompact';
import { sessionStart } from './sessionStart';
import { stop } from './stop';
import { SUBAGENT_REVIEW } from './subagentReview';

/** The log alone has it. */
const recorded = async (): Promise<Reaction> => Promise.resolve({ text: '', blocks: false });

type React = (occasion: Occasion, host: HostName | undefined) => Promise<Reaction>;

const REACTIONS: Readonly<Record<LifecycleEvent, React>> = {
  'session-start': async (occasion, host) => sessionStart(occasion, (text) => printedLength(host, text)),
  stop,
  'pre-compact': preCompact,
  'subagent-stop': async () => Promise.resolve({ text: SUBAGENT_REVIEW, blocks: false }),
  'session-end': recorded,
  'stop-failure': recorded,
};

/** Reacts to an event. Never throws: what goes wrong is added to the occasion's problems, and nobody is kept. */
export async function reactTo(occasion: Occasion, host: HostName | undefined): Promise<Reaction> {
  try {
    return await REACTIONS[occasion.called.event](occasion, host);
  } catch (error) {
    occasion.problem(`"${occasion.called.event}" could not be answered`, error);
    return { text: '', blocks: false };
  }
}
