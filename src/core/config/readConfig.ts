import * as z from 'zod/mini';
import { TRANSCRIPT_HOSTS } from '../session/sessionHost';
import { parseSize } from '../shared/text';
import { parseDuration } from '../shared/time';
import { policyOf, verifySettingsSchema } from '../verify/policy';
import {
  type ConfigProblem,
  DEFAULT_CONFIG,
  type SessionsConfig,
  type SnapshotConfig,
  type TaskConfig,
} from './config';
import { UNREAD_CONFIG } from './unreadConfig';

const durationText = z.union([
  z.string().check(z.refine((text) => parseDuration(text).ok, 'write a duration such as 30s, 5m, 1h30m, 7d, or 0')),
  z.literal(0),
]);
const HARDENED_LIMIT = 0x7fff_ffff;
const derivationIndex = z.int().check(z.gte(0, 'must be at least 0'), z.lte(HARDENED_LIMIT, 'at most 2147483647'));

/** The shape of `hooks` in config.yaml; unknown keys are allowed and kept. */
const taskSettingsSchema = z.looseObject({
  max_checkpoints: z.optional(z.int().check(z.gte(1, 'at least 1'), z.lte(100_000, 'at most 100000'))),
  checkpoint_interval: z.optional(durationText),
  stale_threshold: z.optional(durationText),
  max_step_attempts: z.optional(z.int().check(z.gte(1, 'at least 1'), z.lte(100, 'at most 100'))),
  auto_checkpoint: z.optional(
    z.looseObject({
      on_commit: z.optional(z.boolean()),
      on_push: z.optional(z.boolean()),
      on_pr: z.optional(z.boolean()),
      on_validation: z.optional(z.boolean()),
      on_step_complete: z.optional(z.boolean()),
    }),
  ),
  signing: z.optional(z.looseObject({ scheme: z.optional(z.enum(['hd', 'ed25519'])) })),
  key_derivation: z.optional(
    z.looseObject({
      purpose: z.optional(derivationIndex),
      coin_type: z.optional(derivationIndex),
      account: z.optional(derivationIndex),
    }),
  ),
  validation: z.optional(
    z.looseObject({
      commands: z.optional(z.array(z.string().check(z.minLength(1, 'a command must not be empty')))),
      timeout: z.optional(durationText),
    }),
  ),
  retention: z.optional(
    z.looseObject({
      completed: z.optional(durationText),
      failed: z.optional(durationText),
      abandoned: z.optional(durationText),
    }),
  ),
  memory_folder: z.optional(z.string().check(z.minLength(1, 'must name a folder'), z.maxLength(1000, 'too long'))),
});

const sizeValue = z.union([
  z.string().check(z.refine((text) => parseSize(text) !== undefined, 'write a size such as 500 KB, 50 MB or 2 GB')),
  z.int().check(z.gte(0, 'at least 0')),
]);

/** The shape of `gate` in config.yaml. */
const gateSettingsSchema = z.looseObject({ enabled: z.optional(z.boolean()) });

/** The shape of `snapshots` in config.yaml. */
const snapshotSettingsSchema = z.looseObject({
  enabled: z.optional(z.boolean()),
  max_file_size: z.optional(sizeValue),
  max_size: z.optional(sizeValue),
});

/** The shape of `sessions` in config.yaml. */
const sessionSettingsSchema = z.looseObject({
  track: z.optional(z.boolean()),
  headless: z.optional(z.boolean()),
  read_transcripts: z.optional(z.array(z.enum(TRANSCRIPT_HOSTS))),
});

/** The shape of config.yaml; other keys at the top belong to other programs. */
export const configSchema = z.looseObject({
  hooks: z.optional(taskSettingsSchema),
  snapshots: z.optional(snapshotSettingsSchema),
  sessions: z.optional(sessionSettingsSchema),
  gate: z.optional(gateSettingsSchema),
  verify: z.optional(verifySettingsSchema),
});

type Settings = z.infer<typeof configSchema>;
type HookSettings = z.infer<typeof taskSettingsSchema>;

function removePath(target: unknown, path: readonly PropertyKey[]): void {
  const [head, ...rest] = path;
  if (head === undefined || typeof target !== 'object' || target === null) return;
  const record = target as Record<PropertyKey, unknown>;
  // An element of a list can't be dropped without moving the others: the whole list falls back to its default.
  if (rest.length === 0 || Array.isArray(record[head])) Reflect.deleteProperty(record, head);
  else removePath(record[head], rest);
}

/** Settings without the values that are wrong; each of those is a problem, and its default holds. */
function usable(data: unknown): { settings: Settings; problems: ConfigProblem[] } {
  if (typeof data !== 'object' || data === null) return { settings: {}, problems: [] };
  // A section without anything in it is null.
  const copy: unknown = Object.fromEntries(Object.entries(structuredClone(data)).filter(([, value]) => value !== null));
  const problems: ConfigProblem[] = [];
  for (;;) {
    const parsed = configSchema.safeParse(copy);
    if (parsed.success) return { settings: parsed.data, problems };
    const issue = parsed.error.issues[0];
    if (issue === undefined || issue.path.length === 0) return { settings: {}, problems };
    problems.push({ path: issue.path.filter((part) => typeof part !== 'symbol'), message: issue.message, issue });
    removePath(copy, issue.path);
  }
}

function durationOr(text: string | 0 | undefined, otherwise: number): number {
  if (text === undefined) return otherwise;
  const parsed = parseDuration(String(text));
  return parsed.ok ? parsed.value : otherwise;
}

function sizeOr(value: string | number | undefined, otherwise: number): number {
  if (typeof value === 'number') return value;
  return (value === undefined ? undefined : parseSize(value)) ?? otherwise;
}

/** What holds where the user says nothing of a setting, by its path in the file. */
type Fallback = (...path: readonly string[]) => TaskConfig;

function sessionsConfig(settings: Settings['sessions'], fallback: Fallback): SessionsConfig {
  const d = DEFAULT_CONFIG.sessions;
  // What was read of transcripts is deleted with the consent to read them.
  const isKnown = ['track', 'read_transcripts'].every(
    (name) => fallback('sessions', name).sessions.track !== undefined,
  );
  return {
    track: isKnown ? (settings?.track ?? d.track) : undefined,
    headless: settings?.headless ?? d.headless,
    readTranscripts: settings?.read_transcripts ?? d.readTranscripts,
  };
}

function snapshotConfig(settings: Settings['snapshots'], fallback: Fallback): SnapshotConfig {
  const d = DEFAULT_CONFIG.snapshots;
  return {
    enabled: settings?.enabled ?? d.enabled,
    maxFileSize: sizeOr(settings?.max_file_size, d.maxFileSize),
    maxSize: sizeOr(settings?.max_size, fallback('snapshots', 'max_size').snapshots.maxSize),
  };
}

function retentionOf(settings: HookSettings['retention'], fallback: Fallback): TaskConfig['retentionMs'] {
  const of = (state: 'completed' | 'failed' | 'abandoned'): number =>
    durationOr(settings?.[state], fallback('hooks', 'retention', state).retentionMs[state]);
  return { completed: of('completed'), failed: of('failed'), abandoned: of('abandoned') };
}

/**
 * The settings that hold, from what config.yaml says and, for what a repository may set for itself (validation commands,
 * automatic checkpoints), from its `.atlas/config.yaml`. Wrong values are reported, with paths from the top of the file,
 * and replaced by their defaults; but for what a wrong value limits, nothing is deleted ({@link UNREAD_CONFIG}).
 * @param isRead whether the user's file could be read
 */
export function readConfig(
  user: unknown,
  repository?: unknown,
  isRead = true,
): { config: TaskConfig; problems: ConfigProblem[]; repositoryProblems: ConfigProblem[] } {
  const own = usable(user);
  const local = usable(repository);
  const s = own.settings.hooks ?? {};
  const localHooks = local.settings.hooks ?? {};
  const d = DEFAULT_CONFIG;
  const auto = { ...s.auto_checkpoint, ...localHooks.auto_checkpoint };
  const fallback: Fallback = (...path) => {
    const isWrong = own.problems.some((problem) =>
      problem.path.every((part, index) => index >= path.length || part === path[index]),
    );
    return isRead && !isWrong ? DEFAULT_CONFIG : UNREAD_CONFIG;
  };
  return {
    problems: own.problems,
    repositoryProblems: local.problems,
    config: {
      maxCheckpoints: s.max_checkpoints ?? fallback('hooks', 'max_checkpoints').maxCheckpoints,
      checkpointIntervalMs: durationOr(s.checkpoint_interval, d.checkpointIntervalMs),
      staleThresholdMs: durationOr(s.stale_threshold, d.staleThresholdMs),
      maxStepAttempts: s.max_step_attempts ?? d.maxStepAttempts,
      autoCheckpoint: {
        onCommit: auto.on_commit ?? d.autoCheckpoint.onCommit,
        onPush: auto.on_push ?? d.autoCheckpoint.onPush,
        onPr: auto.on_pr ?? d.autoCheckpoint.onPr,
        onValidation: auto.on_validation ?? d.autoCheckpoint.onValidation,
        onStepComplete: auto.on_step_complete ?? d.autoCheckpoint.onStepComplete,
      },
      signing: { scheme: s.signing?.scheme ?? d.signing.scheme },
      keyDerivation: {
        purpose: s.key_derivation?.purpose ?? d.keyDerivation.purpose,
        coinType: s.key_derivation?.coin_type ?? d.keyDerivation.coinType,
        account: s.key_derivation?.account ?? d.keyDerivation.account,
      },
      validation: {
        commands: localHooks.validation?.commands ?? s.validation?.commands ?? d.validation.commands,
        timeoutMs: durationOr(s.validation?.timeout, d.validation.timeoutMs),
      },
      retentionMs: retentionOf(s.retention, fallback),
      memoryFolder: s.memory_folder ?? d.memoryFolder,
      snapshots: snapshotConfig(own.settings.snapshots, fallback),
      sessions: sessionsConfig(own.settings.sessions, fallback),
      gate: { enabled: own.settings.gate?.enabled ?? d.gate.enabled },
      verify: local.settings.verify === undefined ? undefined : policyOf(local.settings.verify),
    },
  };
}
