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

/** A sentence; `{time}` in it stands for the time, which the view shows in the reader's own zone. */
const sentenceSchema = z.object({ text: z.string(), at: z.optional(z.string()) });

/** What can be seen on a step beside its checkpoints. */
export const STEP_MARKS = ['failure', 'wait', 'interruption'] as const;

const markSchema = z.object({
  id: z.string(),
  at: z.string(),
  kind: z.enum([...CHECKPOINT_TRIGGERS, ...STEP_MARKS]),
  /** What the legend calls marks of this kind. */
  kindLabel: z.string(),
  /** What the mark is, as one text for a tooltip and a screen reader; the time is added by the view. */
  label: z.string(),
  /** The checkpoint that it opens. */
  checkpoint: z.optional(z.string()),
});

/** How a step stands in the row of steps. */
export const STEP_LOOKS = [
  'done',
  'skipped',
  'accepted',
  'running',
  'waiting',
  'interrupted',
  'failed',
  'ready',
  'pending',
] as const;

const stepSchema = z.object({
  name: z.string(),
  look: z.enum(STEP_LOOKS),
  lookLabel: z.string(),
  isCurrent: z.boolean(),
  /** Which attempt it is, where it isn't the first. */
  attempt: z.optional(z.string()),
  /** Oldest first. */
  marks: z.array(markSchema),
  /** How many older marks are left out, in words. */
  earlier: z.optional(z.string()),
});

/** What is needed now, and why. */
const needSchema = z.object({
  level: z.enum(['info', 'warning', 'error']),
  sentences: z.array(sentenceSchema),
  /** Somebody's own words: a question, a summary, a reason. */
  quote: z.optional(z.object({ label: z.string(), text: z.string() })),
  /** The last lines that a failed check printed. */
  output: z.optional(z.string()),
});

const fileSchema = z.object({
  path: z.string(),
  kind: z.enum(['modified', 'added', 'deleted', 'unknown']),
  kindLabel: z.string(),
  added: z.optional(z.int()),
  removed: z.optional(z.int()),
  /** Said where it changed after the last checkpoint. */
  recent: z.optional(z.string()),
  /** Whether there is a file to open. */
  exists: z.boolean(),
});

const changesSchema = z.object({
  summary: z.string(),
  recent: z.optional(sentenceSchema),
  /** What changed last first. */
  files: z.array(fileSchema),
  more: z.optional(z.string()),
});

const checkSchema = z.object({
  receiptId: z.string(),
  command: z.string(),
  passed: z.boolean(),
  /** Whether a valid receipt says so. */
  isProven: z.boolean(),
  /** Result, receipt and files, in this order. */
  facts: z.array(z.object({ label: z.string(), text: z.string(), look: z.enum(['good', 'bad', 'old', 'plain']) })),
  at: z.string(),
  /** The last lines that it printed. */
  output: z.optional(z.string()),
});

const activitySchema = z.object({
  id: z.string(),
  at: z.string(),
  text: z.string(),
  level: z.enum(['info', 'warning', 'error']),
});

/** The fixed texts of the view, in the editor's language. */
const stringsSchema = z.object({
  now: z.string(),
  moreActions: z.string(),
  steps: z.string(),
  stepsHelp: z.string(),
  noCheckpoints: z.string(),
  latest: z.string(),
  changes: z.string(),
  reviewChanges: z.string(),
  reviewHint: z.string(),
  checks: z.string(),
  noChecks: z.string(),
  agentSaid: z.string(),
  output: z.string(),
  showReceipt: z.string(),
  activity: z.string(),
  earlier: z.string(),
  document: z.string(),
  notices: z.string(),
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
  /** Since when it stands like this, RFC 3339. */
  since: z.string(),
  /** Template, branch and repository. */
  facts: z.array(z.object({ label: z.string(), text: z.string() })),
  /** Said when state, step or attempt change. */
  announcement: z.string(),
  notices: z.array(noticeSchema),
  steps: z.array(stepSchema),
  need: z.optional(needSchema),
  actions: z.array(actionSchema),
  /** Absent until git was asked, and where there is no repository. */
  changes: z.optional(changesSchema),
  checks: z.array(checkSchema),
  /** What the agent said last: words beside what the checks came to. */
  agentSaid: z.optional(z.string()),
  /** Newest first. */
  activity: z.array(activitySchema),
  document: z.array(documentNodeSchema),
  strings: stringsSchema,
});

/** All that the panel shows. */
export type TaskPanelModel = z.infer<typeof taskPanelModelSchema>;
/** A button. */
export type TaskPanelAction = z.infer<typeof actionSchema>;
/** Something that has to be told beside the document. */
export type TaskPanelNotice = z.infer<typeof noticeSchema>;
/** What can be seen on a step. */
export type StepMark = z.infer<typeof markSchema>;
/** A step in the row of steps. */
export type PanelStep = z.infer<typeof stepSchema>;
/** What is needed now, and why. */
export type TaskNeed = z.infer<typeof needSchema>;
/** A sentence with a time in it. */
export type TimedSentence = z.infer<typeof sentenceSchema>;
/** What the task changed. */
export type PanelChanges = z.infer<typeof changesSchema>;
/** A changed file. */
export type PanelFile = PanelChanges['files'][number];
/** The last run of a check. */
export type PanelCheck = z.infer<typeof checkSchema>;
/** Something that happened, in a sentence. */
export type PanelActivity = z.infer<typeof activitySchema>;
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
  z.object({ kind: z.literal('showReceipt'), id: z.string().check(z.maxLength(255)) }),
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
