import { join } from 'node:path';
import { type PromptValues, cutAtLine, embedded, fillPrompt } from '../../core/shared/agentText';
import type { FileSystem } from '../../core/shared/ports';
import { readBelow } from './outsideFile';

const MAX_PROMPT_BYTES = 64 * 1024;
/** The most characters of one prompt. */
const MAX_PROMPT = 4000;

const CHANNEL = /^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$/u;

/** Who works here: the main session, or one that a trigger started, with the channel that it answers on. */
export interface SessionKind {
  readonly trigger: boolean;
  /** Empty where none is known. */
  readonly channel: string;
}

/** Told from `ATLAS_TRIGGER` and `ATLAS_TRIGGER_CHANNEL`; a trigger's channel is called as the trigger unless it is named. */
export function sessionKind(env: NodeJS.ProcessEnv): SessionKind {
  const trigger = env['ATLAS_TRIGGER'] ?? '';
  const named = env['ATLAS_TRIGGER_CHANNEL'] ?? '';
  const channel = named === '' ? trigger : named;
  // It becomes part of a file's name.
  return { trigger: trigger !== '', channel: CHANNEL.test(channel) ? channel : '' };
}

/** A prompt's file in `.atlas/prompts/`, and what is said where there is none. */
interface Prompt {
  /** As the file ends: `trigger-<channel>-<name>.md`, else `trigger-<name>.md`; of the main session `<name>.md`. */
  readonly name: 'pre-compact' | 'compact';
  readonly trigger: string;
  readonly main: (memory: string) => string;
}

const PRE_COMPACT: Prompt = {
  name: 'pre-compact',
  trigger: `Context is about to be compressed. This session was started by a trigger (channel: {{channel}}).

1. Write down what the task {{task}} still needs, and what was answered already, in the task's checkpoint
2. Write lasting facts to MEMORY.md, and today's results to the journal of {{today}}

Don't begin anything new before that.`,
  main: (memory) => `Context is about to be compressed. Consolidate important findings:

1. Write lasting facts, decisions, and preferences to ${memory}/MEMORY.md
2. Write task results and daily context to ${memory}/{{today}}.md
3. If a project topic is relevant, create/update a file in ${memory}/projects/

MEMORY.md is for long-term, timeless information. The journal is for daily details.`,
};

const COMPACT: Prompt = {
  name: 'compact',
  trigger: `Context was compressed. This session was started by a trigger (channel: {{channel}}) and works on the task {{task}}.
Finish what it was started for, answer on its channel, and stop.`,
  main: (memory) => `Context was compressed: what you remember of this session is a summary.
Where the task {{task}} stands is in its HOOK.md, lasting facts are in ${memory}/MEMORY.md, today's in ${memory}/{{today}}.md.
Trust these over the summary, and continue with "What To Do Now".`,
};

/** The prompts of a worktree, with its own files before ours. */
export class Prompts {
  constructor(
    private readonly files: FileSystem,
    private readonly worktree: string,
    private readonly kind: SessionKind,
    private readonly values: PromptValues,
    private readonly memory: string,
    /** Is told of a prompt that is there and not read. */
    private readonly refused: (why: string) => void = () => undefined,
  ) {}

  preCompact(): string {
    return this.of(PRE_COMPACT, MAX_PROMPT);
  }

  /** What is said after one, in at most `max` characters. */
  compact(max: number = MAX_PROMPT): string {
    return this.of(COMPACT, max);
  }

  /** Fit to be embedded; never empty. */
  private of({ name, trigger, main }: Prompt, max: number): string {
    const { channel } = this.kind;
    const files = this.kind.trigger
      ? [...(channel === '' ? [] : [`trigger-${channel}-${name}.md`]), `trigger-${name}.md`]
      : [`${name}.md`];
    const own = files.map((file) => this.own(file)).find((text) => text !== undefined);
    const filled = fillPrompt(own ?? (this.kind.trigger ? trigger : main(this.memory)), this.values);
    return cutAtLine(embedded(filled).trim(), max, '[Truncated: the template is longer.]');
  }

  private own(name: string): string | undefined {
    const path = join(this.worktree, '.atlas', 'prompts', name);
    const text = readBelow(this.files, this.worktree, path, MAX_PROMPT_BYTES, this.refused)?.text;
    return text === undefined || text.trim() === '' ? undefined : text;
  }
}
