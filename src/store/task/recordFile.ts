import { createHash } from 'node:crypto';
import type * as z from 'zod/mini';
import { AtlasError, type Result, fail, messageOf, ok } from '../../core/shared/errors';
import { type TaskRecord, SCHEMA_VERSION, taskRecordSchema } from '../../core/task/taskRecord';
import { markdownSeq } from '../../core/hookMarkdown/markdownSeq';
import { RECORD_LISTS, TASK_LISTS, takePlainLists } from '../../core/history/plainRecords';
import type { FileSystem } from '../../core/shared/ports';
import { type Task, taskSchema } from '../../core/task/task';
import { codeOf, fileError } from '../../system/files/fileErrors';

/** The largest hook.json or task.json that is read, in bytes; far above any that Atlas writes. */
export const MAX_STATE_BYTES = 64 * 1024 * 1024;

/** SHA-256 of some bytes in hex. */
export function sha256(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('hex');
}

/** Bytes of a state file. The four kinds of "not there" are errors of different codes; none of them is "empty". */
export function readStateFile(files: FileSystem, path: string, maxBytes = MAX_STATE_BYTES): Result<Uint8Array> {
  try {
    const stat = files.stat(path);
    if (stat === undefined) return fail('not_found', `${path} does not exist.`);
    if (stat.kind === 'link') {
      return fail(
        'unsafe_path',
        `${path} is a symbolic link, which is not followed because it could lead out of the store.`,
        {
          hint: 'Replace the link with the file itself.',
        },
      );
    }
    if (stat.kind !== 'file') {
      return fail('unreadable', `${path} is not a file.`, { hint: `Move the ${stat.kind} away.` });
    }
    return ok(files.read(path, maxBytes));
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return fail('not_found', `${path} does not exist.`);
    const code = codeOf(error) === 'EFBIG' ? 'damaged' : 'unreadable';
    return { ok: false, error: fileError(code, `${path} could not be read`, error) };
  }
}

/** SHA-256 of a state file's bytes in hex; empty where it can't be read. */
export function stateFileHash(files: FileSystem, path: string): string {
  const bytes = readStateFile(files, path);
  return bytes.ok ? sha256(bytes.value) : '';
}

/** Longer than HOOK.md's last line, in bytes. */
const FOOTER_BYTES = 512;

/** The journal's sequence number in HOOK.md's footer; `undefined` if there is none, or it can't be read. */
export function readMarkdownSeq(files: FileSystem, path: string): number | undefined {
  try {
    const stat = files.stat(path);
    if (stat?.kind !== 'file') return undefined;
    const length = Math.min(stat.size, FOOTER_BYTES);
    return markdownSeq(new TextDecoder().decode(files.readAt(path, stat.size - length, length)));
  } catch {
    return undefined;
  }
}

const UTF8 = new TextDecoder('utf-8', { fatal: true });

/** Which versions of a file are read: of a newer one only what is known, and only to show it. */
export type FileVersions = 'known' | 'any';

/** JSON, of no newer version unless that is wanted: that must be neither changed nor taken for damaged. */
function parseJson(path: string, bytes: Uint8Array, versions: FileVersions = 'known'): Result<unknown> {
  if (bytes.length === 0) return fail('damaged', `${path} is empty.`);
  let data: unknown;
  try {
    data = JSON.parse(UTF8.decode(bytes));
  } catch (error) {
    return fail('damaged', `${path} is not valid JSON: ${messageOf(error)}`, { cause: error });
  }
  const tooNew = versions === 'any' ? undefined : checkVersion(path, data);
  return tooNew === undefined ? ok(data) : { ok: false, error: tooNew };
}

function checkVersion(path: string, data: unknown): AtlasError | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const record = data as Record<string, unknown>;
  for (const version of [record['schema_version'], record['version']]) {
    const major =
      typeof version === 'string' || typeof version === 'number' ? Number.parseInt(String(version), 10) : NaN;
    if (major > Number.parseInt(SCHEMA_VERSION, 10)) {
      return new AtlasError(
        'too_new',
        `${path} has schema version ${String(version)}, but this version of Atlas supports ${SCHEMA_VERSION}.`,
        {
          hint: 'Update Atlas. Until then, the task is read-only.',
        },
      );
    }
  }
  return undefined;
}

function describeIssue(path: string, issue: { path: PropertyKey[]; message: string } | undefined): string {
  const where = issue === undefined || issue.path.length === 0 ? '' : `: field "${issue.path.map(String).join('.')}"`;
  return `${path} is not valid${where}: ${issue?.message ?? 'unknown shape'}`;
}

/** What a state file says, by its schema; `damaged` or `too_new` when it can't be had. */
export function parseState<T>(path: string, bytes: Uint8Array, schema: z.ZodMiniType<T>): Result<T> {
  const json = parseJson(path, bytes);
  return json.ok ? checked(path, schema, json.value) : json;
}

function checked<T>(path: string, schema: z.ZodMiniType<T>, data: unknown): Result<T> {
  const parsed = schema.safeParse(data);
  return parsed.success ? ok(parsed.data) : fail('damaged', describeIssue(path, parsed.error.issues[0]));
}

/** A hook from the bytes of hook.json; `damaged` or `too_new` when it can't be had. */
export function parseRecord(path: string, bytes: Uint8Array, versions?: FileVersions): Result<TaskRecord> {
  return parseWithLists(path, parseJson(path, bytes, versions), taskRecordSchema, RECORD_LISTS);
}

/** A task from the bytes of task.json; `damaged` or `too_new` when it can't be had. */
export function parseTask(path: string, bytes: Uint8Array, versions?: FileVersions): Result<Task> {
  return parseWithLists(path, parseJson(path, bytes, versions), taskSchema, TASK_LISTS);
}

/** Long lists of what is plainly sound are not looked at by the schema, which would take many times as long. */
function parseWithLists<T>(
  path: string,
  json: Result<unknown>,
  schema: z.ZodMiniType<T>,
  lists: Parameters<typeof takePlainLists>[1],
): Result<T> {
  if (!json.ok) return json;
  const { rest, plain } = takePlainLists(json.value, lists);
  const parsed = checked(path, schema, rest);
  return parsed.ok ? ok({ ...parsed.value, ...plain }) : parsed;
}
