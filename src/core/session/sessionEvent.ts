import type { FactSource, Phase, SessionMark } from './sessionRecord';

/** What a host tells of a session, in words that all hosts share. Texts are as the host gave them: not redacted, not cut. */
export type SessionChange =
  | { readonly kind: 'started'; readonly start?: string }
  | { readonly kind: 'request'; readonly text: string }
  | {
      readonly kind: 'tool_asked';
      readonly id: string;
      readonly name: string;
      readonly command?: string;
      readonly files?: readonly string[];
      /** What else says what it is asked to do, in a line. */
      readonly about?: string;
      /** Whether it asks the user something. */
      readonly asksUser?: boolean;
    }
  | {
      readonly kind: 'tool_ended';
      readonly id: string;
      readonly name?: string;
      readonly command?: string;
      readonly files?: readonly string[];
      readonly exitCode?: number;
      readonly failed?: boolean;
      readonly durationMs?: number;
    }
  | { readonly kind: 'permission_asked'; readonly id?: string }
  | { readonly kind: 'files'; readonly paths: readonly string[]; readonly tool: string }
  | { readonly kind: 'list'; readonly items: readonly ListItem[] }
  | { readonly kind: 'list_item'; readonly item: ListItem }
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'compacted'; readonly trigger?: string; readonly summary?: string }
  | { readonly kind: 'turn_ended'; readonly message?: string }
  | { readonly kind: 'phase'; readonly phase: Phase }
  | { readonly kind: 'ended'; readonly reason?: string }
  /** Nothing but what stands beside a change. */
  | { readonly kind: 'seen' };

/** An item of an agent's own list. */
export interface ListItem {
  readonly id: string;
  readonly text: string;
  readonly status: string;
}

/** A change with what stands beside it. */
export interface SessionEvent {
  /** Milliseconds since the epoch. */
  readonly at: number;
  readonly source: FactSource;
  readonly change: SessionChange;
  readonly cwd?: string;
  readonly transcript?: string;
  readonly marks?: readonly SessionMark[];
}
