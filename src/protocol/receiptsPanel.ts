import * as z from 'zod/mini';
import { VERDICTS } from '../core/receipt/receipt';
import { answerSchema, panelRefSchema, readySchema, unavailableSchema } from './panel';

/** A receipt's standing in the panel: a verdict, or that it was not verified yet. */
export const RECEIPT_STANDINGS = [...VERDICTS, 'unchecked'] as const;

/** A receipt's standing in the panel. */
export type ReceiptStanding = (typeof RECEIPT_STANDINGS)[number];

/** How a command ended. */
export const RECEIPT_RESULTS = ['passed', 'failed'] as const;

/** What a command wrote that may have been kept. */
export const OUTPUT_STREAMS = ['stdout', 'stderr'] as const;

/** The most rows that may be open at a time. */
export const MAX_OPEN_RECEIPTS = 100;

/** Names a receipt in the panel: ids come from a file that anybody may edit, and need not be unique. */
const keySchema = z.string().check(z.maxLength(255));

const rowSchema = z.object({
  key: keySchema,
  id: z.string(),
  standing: z.enum(RECEIPT_STANDINGS),
  standingLabel: z.string(),
  /** Why, where there is something to say. */
  why: z.optional(z.string()),
  currency: z.enum(['current', 'outdated', 'unknown', 'unchecked']),
  currencyLabel: z.string(),
  currencyHint: z.optional(z.string()),
  step: z.string(),
  attempt: z.optional(z.string()),
  command: z.string(),
  /** How the command ended, in words. */
  result: z.string(),
  /** The command did not pass, whatever the receipt is worth. */
  failed: z.boolean(),
  duration: z.string(),
  completedAt: z.string(),
});

const factSchema = z.object({
  label: z.string(),
  text: z.string(),
  /** `block` keeps its lines; `time` is RFC 3339. */
  look: z.enum(['text', 'mono', 'block', 'time']),
});

const filesSchema = z.object({
  label: z.string(),
  paths: z.array(z.string()),
  /** How many more there are, in words. */
  more: z.optional(z.string()),
});

const groupSchema = z.object({
  id: z.enum(['run', 'proof', 'files']),
  heading: z.string(),
  facts: z.array(factSchema),
  lists: z.array(filesSchema),
});

const checkSchema = z.object({
  label: z.string(),
  passed: z.boolean(),
  message: z.string(),
  expected: z.optional(z.string()),
  found: z.optional(z.string()),
  differences: z.array(z.object({ field: z.string(), expected: z.string(), found: z.string() })),
});

const outputSchema = z.object({
  stream: z.enum(OUTPUT_STREAMS),
  label: z.string(),
  /** Why it can't be opened. */
  missing: z.optional(z.string()),
});

/** A receipt in full. */
export const receiptDetailsSchema = z.object({
  key: keySchema,
  checks: z.array(checkSchema),
  /** What was not looked at, in words. */
  notLookedAt: z.optional(z.string()),
  groups: z.array(groupSchema),
  statement: z.optional(z.string()),
  outputs: z.array(outputSchema),
});

/** The fixed texts of the view, in the editor's language; `{0}` and `{1}` are filled in there. */
const stringsSchema = z.object({
  receipts: z.string(),
  verifyAll: z.string(),
  checking: z.string(),
  export: z.string(),
  openHookMd: z.string(),
  actions: z.string(),
  promise: z.string(),
  keys: z.string(),
  filter: z.string(),
  filterText: z.string(),
  filterHint: z.string(),
  allResults: z.string(),
  allStandings: z.string(),
  allFiles: z.string(),
  currentFiles: z.string(),
  outdatedFiles: z.string(),
  clearFilter: z.string(),
  shown: z.string(),
  none: z.string(),
  noMatch: z.string(),
  more: z.string(),
  columns: z.object({
    details: z.string(),
    result: z.string(),
    standing: z.string(),
    currency: z.string(),
    step: z.string(),
    command: z.string(),
    duration: z.string(),
    completed: z.string(),
  }),
  detailsOf: z.string(),
  checks: z.string(),
  notChecked: z.string(),
  passed: z.string(),
  notPassed: z.string(),
  expected: z.string(),
  found: z.string(),
  differences: z.string(),
  field: z.string(),
  statement: z.string(),
  verify: z.string(),
  loading: z.string(),
  dismiss: z.string(),
  working: z.string(),
  timedOut: z.string(),
});

/** All that the panel shows but for the details. Texts are plain text. */
export const receiptsPanelModelSchema = z.object({
  ref: panelRefSchema,
  title: z.string(),
  place: z.string(),
  /** How many passed and failed. */
  results: z.array(z.object({ result: z.enum(RECEIPT_RESULTS), label: z.string(), count: z.int() })),
  /** How many are outdated, in words; left out when none is. */
  outdated: z.optional(z.string()),
  /** All standings, those too that no receipt has. */
  counts: z.array(z.object({ standing: z.enum(RECEIPT_STANDINGS), label: z.string(), count: z.int() })),
  /** Said when it changes. */
  announcement: z.string(),
  keys: z.string(),
  checking: z.boolean(),
  /** The newest first. */
  rows: z.array(rowSchema),
  strings: stringsSchema,
});

/** All that the panel shows but for the details. */
export type ReceiptsPanelModel = z.infer<typeof receiptsPanelModelSchema>;
/** A receipt in the table. */
export type ReceiptRow = z.infer<typeof rowSchema>;
/** A receipt in full. */
export type ReceiptDetails = z.infer<typeof receiptDetailsSchema>;
/** A line of a receipt's details. */
export type ReceiptFact = z.infer<typeof factSchema>;
/** Lines of a receipt's details that belong together. */
export type ReceiptGroup = z.infer<typeof groupSchema>;
/** The fixed texts of the view. */
export type ReceiptsPanelStrings = z.infer<typeof stringsSchema>;

/** What the host tells the panel. */
export const toReceiptsPanelSchema = z.discriminatedUnion('type', [
  /** With the details of the receipts that the panel last asked for. */
  z.object({ type: z.literal('model'), model: receiptsPanelModelSchema, details: z.array(receiptDetailsSchema) }),
  z.object({ type: z.literal('details'), details: z.array(receiptDetailsSchema) }),
  /** Open this one and bring it into view. */
  z.object({ type: z.literal('reveal'), key: keySchema }),
  unavailableSchema,
  answerSchema,
]);

/** What the host tells the panel. */
export type ToReceiptsPanel = z.infer<typeof toReceiptsPanelSchema>;

/** What the panel asks the host for. */
export const receiptsPanelRequestSchema = z.discriminatedUnion('kind', [
  z.object({ kind: z.literal('verifyAll') }),
  z.object({ kind: z.literal('verify'), key: keySchema }),
  z.object({ kind: z.literal('export') }),
  z.object({ kind: z.literal('openHookMd') }),
  z.object({ kind: z.literal('openOutput'), key: keySchema, stream: z.enum(OUTPUT_STREAMS) }),
  /** Names all receipts whose details are wanted, now and with each model from here on. */
  z.object({ kind: z.literal('show'), keys: z.array(keySchema).check(z.maxLength(MAX_OPEN_RECEIPTS)) }),
]);

/** What the panel asks the host for. */
export type ReceiptsPanelRequest = z.infer<typeof receiptsPanelRequestSchema>;

/** What the panel tells the host. */
export const fromReceiptsPanelSchema = z.discriminatedUnion('type', [
  readySchema,
  z.object({ type: z.literal('request'), id: z.int(), request: receiptsPanelRequestSchema }),
]);

/** What is looked for in the table. */
export const receiptsFilterSchema = z.object({
  text: z.string().check(z.maxLength(1000)),
  result: z.enum(['all', ...RECEIPT_RESULTS]),
  standing: z.enum(['all', ...RECEIPT_STANDINGS]),
  files: z.enum(['all', 'current', 'outdated']),
});

/** What is looked for in the table. */
export type ReceiptsFilter = z.infer<typeof receiptsFilterSchema>;

/** What the editor keeps of the panel over a reload, and while it is hidden. */
export const receiptsPanelStateSchema = z.object({
  ref: panelRefSchema,
  filter: receiptsFilterSchema,
  open: z.array(keySchema).check(z.maxLength(MAX_OPEN_RECEIPTS)),
});

/** What the editor keeps of the panel. */
export type ReceiptsPanelState = z.infer<typeof receiptsPanelStateSchema>;
