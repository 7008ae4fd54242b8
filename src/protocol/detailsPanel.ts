import * as z from 'zod/mini';
import { answerSchema, readySchema, unavailableSchema } from './panel';

const text = z.string().check(z.maxLength(4096));

/** What a details panel can be about; the editor keeps it over a reload. */
export const detailsSubjectSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('checkpoint'), workspace: text, id: text, checkpoint: text }),
  z.object({
    kind: z.literal('restore'),
    workspace: text,
    id: text,
    checkpoint: text,
    /** One character a byte; all files where none are named. */
    paths: z.array(text).check(z.maxLength(10_000)),
  }),
  z.object({ kind: z.literal('item'), workspace: text, item: z.int() }),
  z.object({ kind: z.literal('worker'), repository: text, worker: text }),
]);

/** What a details panel is about. */
export type DetailsSubject = z.infer<typeof detailsSubjectSchema>;

/** What the editor keeps of a details panel. */
export const detailsStateSchema = z.object({ subject: detailsSubjectSchema });

/** The colours that a standing can have; the word beside it says the same. */
export const DETAILS_LOOKS = ['plain', 'busy', 'waiting', 'good', 'warning', 'bad'] as const;

const factSchema = z.object({
  label: z.string(),
  text: z.string(),
  /** RFC 3339; the view shows it in the reader's own zone, in place of the text. */
  at: z.optional(z.string()),
});

const fileSchema = z.object({
  path: z.string(),
  detail: z.string(),
  /** Whether a click opens something. */
  opens: z.boolean(),
});

/** The fixed texts of the view, in the editor's language. */
const stringsSchema = z.object({
  actions: z.string(),
  notices: z.string(),
  openFile: z.string(),
  dismiss: z.string(),
  working: z.string(),
  timedOut: z.string(),
});

/** All that the panel shows. Texts are plain text. */
export const detailsModelSchema = z.object({
  subject: detailsSubjectSchema,
  /** What kind of thing it is, before the title. */
  kindLabel: z.string(),
  title: z.string(),
  standing: z.optional(z.object({ label: z.string(), look: z.enum(DETAILS_LOOKS) })),
  /** Since when, RFC 3339. */
  at: z.optional(z.string()),
  /** Said when the standing changes. */
  announcement: z.string(),
  notices: z.array(z.object({ id: z.string(), level: z.enum(['info', 'warning', 'error']), text: z.string() })),
  actions: z.array(
    z.object({ id: z.string(), label: z.string(), hint: z.string(), rank: z.enum(['primary', 'secondary']) }),
  ),
  facts: z.array(factSchema),
  /** What somebody wrote. */
  texts: z.array(z.object({ label: z.string(), text: z.string(), isCode: z.boolean() })),
  files: z.optional(z.object({ heading: z.string(), summary: z.string(), rows: z.array(fileSchema) })),
  strings: stringsSchema,
});

/** All that the panel shows. */
export type DetailsModel = z.infer<typeof detailsModelSchema>;

/** What the host tells the panel. */
export const toDetailsPanelSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('model'), model: detailsModelSchema }),
  unavailableSchema,
  answerSchema,
]);

/** What the host tells the panel. */
export type ToDetailsPanel = z.infer<typeof toDetailsPanelSchema>;

/** What the panel asks the host for. */
export const detailsRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('run'), action: text }),
  z.object({ kind: z.literal('openFile'), path: text }),
]);

/** What the panel asks the host for. */
export type DetailsRequest = z.infer<typeof detailsRequestSchema>;

/** What the panel tells the host. */
export const fromDetailsPanelSchema = z.discriminatedUnion('type', [
  readySchema,
  z.object({ type: z.literal('request'), id: z.int(), request: detailsRequestSchema }),
]);
