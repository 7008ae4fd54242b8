import { dirname, join, relative } from 'node:path';
import * as z from 'zod/mini';
import { type AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import type { FileSystem } from '../../core/shared/ports';
import { ensureFolder, replaceFile, unlinkWithRetry } from '../../system/files/atomicFile';
import { fileError } from '../../system/files/fileErrors';
import { isBelow, realPathOfNew } from '../../system/files/placedFile';
import { type Wired, type WiredHook, takeOut, unwire, wire, wiredHooks } from './hookEntries';
import type { Host } from '../hosts/hosts';
import { withSection, withoutSection } from './recoverySection';
import type { ServicePorts } from '../../service/ports';
import { readJson } from '../../system/files/readJson';
import { sha256 } from '../../store/task/recordFile';

const MAX_SETTINGS_BYTES = 1024 * 1024;

const recordSchema = z.looseObject({
  path: z.string(),
  existed: z.boolean(),
  /** Folders that weren't there either, the outermost first. */
  made: z.optional(z.array(z.string())),
  after_sha256: z.string(),
  /** What was put in, in UTF-16 units. */
  ranges: z.array(z.object({ offset: z.int().check(z.gte(0)), length: z.int().check(z.gte(0)) })),
});

type InstallRecord = z.infer<typeof recordSchema>;

/** A file that is to be changed: `undefined` where there is none, before or after. */
export interface FileChange {
  readonly path: string;
  readonly before: string | undefined;
  readonly after: string | undefined;
  /** Where a link leads, if the file is one or lies behind one. */
  readonly leadsTo?: string;
  /** Whether that is outside the repository. */
  readonly outside?: boolean;
  /** What was put in, to be noted for the day it is taken out. */
  readonly ranges: Wired['ranges'];
}

/** Plans and makes the changes of hosts' settings files. What was put in is noted in the store, so that it can be taken out exactly. */
export class Installer {
  constructor(
    private readonly ports: Pick<ServicePorts, 'files' | 'ids' | 'paths'>,
    private readonly worktree: string,
  ) {}

  /** What installing changes; a change whose `before` is its `after` need not be made. */
  planInstall(host: Host, atlas: string, section: boolean): Result<FileChange[]> {
    const settings = this.plan(join(this.worktree, host.file), (text) => {
      const clean = this.cleaned(join(this.worktree, host.file), text ?? '');
      return clean.ok ? wire(clean.value, host, atlas) : clean;
    });
    if (!settings.ok || !section) return settings.ok ? ok([settings.value]) : settings;
    const instructions = this.plan(join(this.worktree, host.instructions), (text) =>
      ok({ text: withSection(text ?? ''), ranges: [] }),
    );
    return instructions.ok ? ok([settings.value, instructions.value]) : instructions;
  }

  /** What changes in another settings file of the folder, where `wireInto` puts what is ours into it. */
  planSettings(file: string, wireInto: (text: string) => Result<Wired>): Result<FileChange> {
    const path = join(this.worktree, file);
    return this.plan(path, (text) => {
      const clean = this.cleaned(path, text ?? '');
      return clean.ok ? wireInto(clean.value) : clean;
    });
  }

  /** What taking out changes there. */
  planClean(file: string): Result<FileChange> {
    return this.planWithout(file, (path, text) => this.cleaned(path, text));
  }

  /** A file that is ours as a whole; one by somebody else in its place is refused. */
  planOwnFile(file: string, text: string | undefined, isOurs: (text: string) => boolean): Result<FileChange> {
    const path = join(this.worktree, file);
    const planned = this.plan(path, (before) =>
      before === undefined || isOurs(before)
        ? ok({ text: text ?? '', ranges: text === undefined ? [] : [[0, text.length]] })
        : fail('unsafe_path', 'Another program made this file.'),
    );
    if (!planned.ok) return planned;
    return ok({ ...planned.value, after: text });
  }

  /** The text of a file of the folder; `undefined` where there is none. */
  textOf(file: string): Result<string | undefined> {
    return this.read(join(this.worktree, file));
  }

  /** Whether something was put into a file of the folder and not taken out again, by the store's own notes. */
  hasChanged(file: string): boolean {
    return this.record(join(this.worktree, file)) !== undefined;
  }

  planUninstall(host: Host): Result<FileChange[]> {
    const changes: FileChange[] = [];
    for (const [name, clean] of [
      [host.file, (path: string, text: string) => this.cleaned(path, text)],
      [host.instructions, (_path: string, text: string) => ok(withoutSection(text))],
    ] as const) {
      const change = this.planWithout(name, clean);
      if (!change.ok) return change;
      changes.push(change.value);
    }
    return ok(changes);
  }

  private planWithout(name: string, clean: (path: string, text: string) => Result<string>): Result<FileChange> {
    const path = join(this.worktree, name);
    const change = this.plan(path, (text) => {
      const cleaned = text === undefined ? ok('') : clean(path, text);
      return cleaned.ok ? ok({ text: cleaned.value, ranges: [] }) : cleaned;
    });
    if (!change.ok) return change;
    const { before, after } = change.value;
    const gone =
      before === undefined || (after !== before && holdsNothing(after ?? '') && this.record(path)?.existed !== true);
    return ok({ ...change.value, after: gone ? undefined : after });
  }

  /** Our hooks that are wired. */
  installed(host: Host): Result<WiredHook[]> {
    const path = join(this.worktree, host.file);
    const read = this.read(path);
    if (!read.ok) return read;
    const hooks = wiredHooks(read.value ?? '', host);
    return hooks.ok ? hooks : leftAsItIs(path, hooks.error);
  }

  /** Makes a change, unless somebody else changed the file since it was planned. */
  apply({ path, leadsTo, before, after, ranges }: FileChange): Result<void> {
    if (before === after) return ok(undefined);
    const { files, ids } = this.ports;
    const now = this.read(path);
    if (!now.ok) return now;
    if (now.value !== before || this.target(path).leadsTo !== leadsTo)
      return fail('write_failed', `${path} was changed by another program in the meantime.`, { hint: 'Try again.' });
    // Taking out puts nothing in, and leaves a file that had something.
    const installs = ranges.length > 0 || before === undefined || before === '';
    try {
      const existed = before === undefined ? false : (this.record(path)?.existed ?? true);
      if (after === undefined) {
        unlinkWithRetry(files, files.realPath(path));
        this.removeMade(path);
      } else {
        if (installs)
          this.note({
            path,
            existed,
            made: [...(this.record(path)?.made ?? []), ...missingFolders(files, dirname(path))],
            after_sha256: sha256(after),
            ranges: ranges.map(([offset, length]) => ({ offset, length })),
          });
        ensureFolder(files, dirname(path));
        // A link stays one.
        const real = before === undefined ? path : files.realPath(path);
        const mode = files.stat(real)?.mode;
        replaceFile(files, ids, real, after, { durable: true, ...(mode === undefined ? {} : { mode }) });
      }
      if (!installs) this.forget(path);
      return ok(undefined);
    } catch (error) {
      return { ok: false, error: fileError('write_failed', `${path} could not be changed`, error) };
    }
  }

  /** Removes the folders that were made for a file, as far as nothing else is in them by now. */
  private removeMade(path: string): void {
    for (const folder of (this.record(path)?.made ?? []).toReversed()) {
      if (!isBelow(folder, this.worktree)) return;
      try {
        this.ports.files.removeEmptyFolder(folder);
      } catch {
        // Somebody uses it, or it is gone: either way it is no longer ours to remove.
        return;
      }
    }
  }

  private plan(path: string, make: (text: string | undefined) => Result<Wired>): Result<FileChange> {
    const before = this.read(path);
    if (!before.ok) return before;
    const made = make(before.value);
    if (!made.ok) return leftAsItIs(path, made.error);
    return ok({ path, ...this.target(path), before: before.value, after: made.value.text, ranges: made.value.ranges });
  }

  /** Where a path leads by links, in it or above it. */
  private target(path: string): Pick<FileChange, 'leadsTo' | 'outside'> {
    const { files } = this.ports;
    const worktree = realPathOfNew(files, this.worktree);
    const [plain, real] = [join(worktree, relative(this.worktree, path)), realPathOfNew(files, path)];
    return real === plain ? {} : { leadsTo: real, outside: !isBelow(real, worktree) };
  }

  /** The text without anything of ours: exactly as it was before, where nothing changed since. */
  private cleaned(path: string, text: string): Result<string> {
    const record = this.record(path);
    return record?.after_sha256 === sha256(text)
      ? ok(takeOut({ text, ranges: record.ranges.map(({ offset, length }) => [offset, length] as const) }))
      : unwire(text);
  }

  private read(path: string): Result<string | undefined> {
    const { files } = this.ports;
    try {
      if (files.stat(path) === undefined) return ok(undefined);
      if (files.stat(files.realPath(path))?.kind !== 'file') return fail('unreadable', `${path} is not a file.`);
      const bytes = files.read(path, MAX_SETTINGS_BYTES);
      return ok(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes));
    } catch (error) {
      return { ok: false, error: fileError('unreadable', `${path} could not be read`, error) };
    }
  }

  private recordPath(path: string): string {
    return join(this.ports.paths.root, 'installed', `${sha256(path).slice(0, 16)}.json`);
  }

  private record(path: string): InstallRecord | undefined {
    const record = readJson(this.ports.files, this.recordPath(path), MAX_SETTINGS_BYTES, recordSchema);
    return record?.path === path ? record : undefined;
  }

  private note(record: InstallRecord): void {
    const { files, ids } = this.ports;
    const path = this.recordPath(record.path);
    ensureFolder(files, dirname(path));
    replaceFile(files, ids, path, `${JSON.stringify(record)}\n`, { durable: true });
  }

  private forget(path: string): void {
    const { files } = this.ports;
    if (files.stat(this.recordPath(path)) !== undefined) unlinkWithRetry(files, this.recordPath(path));
  }
}

/** The folders above a new file that aren't there yet, the outermost first. */
function missingFolders(files: FileSystem, folder: string): string[] {
  if (files.stat(folder) !== undefined || dirname(folder) === folder) return [];
  return [...missingFolders(files, dirname(folder)), folder];
}

/** Whether nothing is left that somebody could have meant: no text, no key but the form's version. */
function holdsNothing(text: string): boolean {
  return /^\s*(?:\{\s*(?:"version"\s*:\s*\d+\s*,?\s*)?\}\s*)?$/u.test(text);
}

function leftAsItIs(path: string, { code, message, hint }: AtlasError): Result<never> {
  return fail(code, `${path} was not changed. ${message}`, { hint: hint ?? 'Fix the file and try again.' });
}
