import * as z from 'zod/mini';
import { responseSchema } from './requests';

/** A task's name, as panels and their kept state have it. */
export const panelRefSchema = z.object({ workspace: z.string(), id: z.string() });

/** What the editor keeps of every panel of a task over a reload; a panel may keep more beside it. */
export const panelStateSchema = z.object({ ref: panelRefSchema });

/** The task can't be shown now; what was shown before stays, marked as old. */
export const unavailableSchema = z.object({
  type: z.literal('unavailable'),
  message: z.string(),
  hint: z.optional(z.string()),
});

/** The host's answer to a request. */
export const answerSchema = z.object({ type: z.literal('response'), response: responseSchema });

/** What the host tells every panel, beside the panel's own messages. */
export type PanelMessage = z.infer<typeof unavailableSchema> | z.infer<typeof answerSchema>;

/** A panel's page is there and wants its model. */
export const readySchema = z.object({ type: z.literal('ready') });

/** What a panel tells the host. */
export type FromPanel<T> =
  { readonly type: 'ready' } | { readonly type: 'request'; readonly id: number; readonly request: T };

/** A schema, seen as what it is used for. */
export interface Parser<T> {
  safeParse(value: unknown): { readonly success: true; readonly data: T } | { readonly success: false };
}
