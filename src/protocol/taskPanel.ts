import * as z from 'zod/mini';
import { TASK_ACTIONS } from '../core/task/taskActions';
import { CHECKPOINT_TRIGGERS, TASK_STATES, RECOVERY_ACTIONS } from '../core/task/taskRecord';
import { documentNodeSchema, webLinkSchema } from './document';
import { answerSchema, panelRefSchema, readySchema, unavailableSchema } from './panel';

const actionSchema = z.object({
  action: z.enum(TASK_ACTIONS),
  /** Of `recover`: what is done at once. */
  recovery: z.optional(z.enum(RECOVERY_ACTIONS)),
  label: z.string(),
  hint: z.string(),
  rank: z.enum(['primary', 'secondary', 'more', 'ending']),
});

const noticeSchema = z.object({
  id: z.string(),
  level: z.enum(['info', 'warning', 'error']),
  text: z.string(),
  at: z.optional(z.string()),
});

const markSchema = z.object({
  id: z.string(),
  at: z.string(),
  trigger: z.enum(CHECKPOINT_TRIGGERS),
  triggerLabel: z.string(),
  /** What the mark is, as one text for a tooltip and a screen reader; the time is added by the view. */
  label: z.string(),
});

const timelineSchema = z.object({
  from: z.string(),
  to: z.string(),
  /** In order of time. */
  marks: z.array(markSchema),
});

const fileSchema = z.object({
  path: z.string(),
  kind: z.enum(['unchanged', 'changed', 'missing', 'new', 'unknown']),
  label: z.string(),
});

/** The fixed texts of the view, in the editor's language. */
const stringsSchema = z.object({
  actions: z.string(),
  moreActions: z.string(),
  timeline: z.string(),
  timelineHelp: z.string(),
  noCheckpoints: z.string(),
  gap: z.string(),
  latest: z.string(),
  files: z.string(),
  noFiles: z.string(),
  document: z.string(),
  notices: z.string(),
  updated: z.string(),
  openFile: z.string(),
  openSource: z.string(),
  copySynopsis: z.string(),
  copyPath: z.string(),
  dismiss: z.string(),
  working: z.string(),
  timedOut: z.string(),
});

/** All that the panel shows. Texts are plain text. */
export const taskPanelModelSchema = z.object({
  ref: panelRefSchema,
  title: z.string(),
  state: z.enum(TASK_STATES),
  stateLabel: z.string(),
  /** Workspace, template and the like, in the order in which they are shown. */
  facts: z.array(z.object({ label: z.string(), text: z.string() })),
  /** Said when state, step or attempt change. */
  announcement: z.string(),
  updatedAt: z.string(),
  notices: z.array(noticeSchema),
  actions: z.array(actionSchema),
  timeline: timelineSchema,
  files: z.array(fileSchema),
  document: z.array(documentNodeSchema),
  strings: stringsSchema,
});

/** All that the panel shows. */
export type TaskPanelModel = z.infer<typeof taskPanelModelSchema>;
/** A button. */
export type TaskPanelAction = z.infer<typeof actionSchema>;
/** Something that has to be told beside the document. */
export type TaskPanelNotice = z.infer<typeof noticeSchema>;
/** A checkpoint in the timeline. */
export type TimelineMark = z.infer<typeof markSchema>;
/** The fixed texts of the view. */
export type TaskPanelStrings = z.infer<typeof stringsSchema>;

/** What the host tells the panel. */
export const toTaskPanelSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('model'), model: taskPanelModelSchema }),
  unavailableSchema,
  answerSchema,
]);

/** What the host tells the panel. */
export type ToTaskPanel = z.infer<typeof toTaskPanelSchema>;

/** What the panel asks the host for. */
export const taskPanelRequestSchema = z.discriminatedUnion('kind', [
  z.object({
    kind: z.literal('run'),
    action: z.enum(TASK_ACTIONS),
    recovery: z.optional(z.enum(RECOVERY_ACTIONS)),
  }),
  z.object({ kind: z.literal('openLink'), href: webLinkSchema }),
  z.object({ kind: z.literal('openFile'), path: z.string().check(z.maxLength(4096)) }),
  z.object({ kind: z.literal('openSource') }),
  z.object({ kind: z.literal('showCheckpoint'), id: z.string().check(z.maxLength(255)) }),
  z.object({ kind: z.literal('copy'), what: z.enum(['synopsis', 'path']) }),
]);

/** What the panel asks the host for. */
export type TaskPanelRequest = z.infer<typeof taskPanelRequestSchema>;

/** What the panel tells the host. */
export const fromTaskPanelSchema = z.discriminatedUnion('type', [
  readySchema,
  z.object({ type: z.literal('request'), id: z.int(), request: taskPanelRequestSchema }),
]);
