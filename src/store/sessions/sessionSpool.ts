import { join } from 'node:path';
import type { FileSystem, Ids } from '../../core/shared/ports';
import type { StorePaths } from '../paths';
import { MAY_DISCARD_IN_SHELL } from '../../core/snapshot/discardingCommand';
import { ensureFolder, removeFile, replaceFile } from '../../system/files/atomicFile';

/** The most that waits in the spool, in bytes: what comes then is dropped and counted. */
export const MAX_SPOOL_BYTES = 16 * 1024 * 1024;
/** The most that is kept of one report, in bytes. */
export const MAX_REPORT_BYTES = 512 * 1024;
/** Reports between two looks of the script at what waits; with what they take at most, they fill the other half. */
const LOOK_EVERY = 16;

/** A report as it waits. */
export interface SpooledReport {
  readonly name: string;
  readonly host: string;
  /** When it was written, in ms since the epoch. */
  readonly at: number;
  readonly head: Readonly<Record<string, string>>;
  readonly body: string;
}

/** Reports that are read at once. */
const MOST_AT_ONCE = 5000;
/** What the script writes last: a report without it isn't whole yet. To rename it instead would cost a program more. */
const LAST = '\nend';
/** A report that is still being written after this long (ms) never will be. */
const HALF_MS = 60_000;

/** `observed/`: what hosts report, one file an event, until it is drained. The one place with unredacted words. */
export class SessionSpool {
  readonly folder: string;
  private readonly script: string;
  /** What wasn't whole at the last read. */
  private half: readonly string[] = [];

  constructor(private readonly ports: { readonly files: FileSystem; readonly ids: Ids; readonly paths: StorePaths }) {
    this.folder = join(ports.paths.root, 'observed');
    this.script = join(ports.paths.root, 'observe.sh');
  }

  get isOpen(): boolean {
    return this.ports.files.stat(this.folder)?.kind === 'folder';
  }

  /** Where the hooks' script lies. */
  get scriptPath(): string {
    return this.script;
  }

  /**
   * Makes the folder, without which hooks write nothing, and the script that they run. Throws where it can't.
   * @param atlas how `atlas` is started, as a shell's words: run in the background when a session starts
   */
  open(atlas: string): void {
    const { files, ids } = this.ports;
    ensureFolder(files, this.ports.paths.root);
    ensureFolder(files, this.folder, 0o700);
    const text = spoolScript(this.folder, atlas);
    const isThere = files.stat(this.script)?.kind === 'file';
    if (isThere && Buffer.from(files.read(this.script, 65_536)).toString('utf8') === text) return;
    replaceFile(files, ids, this.script, text, { durable: false });
  }

  /**
   * What keeps hooks from reporting, for people; nothing where all is as {@link open} makes it.
   * @param starts how `atlas` may be started by the script
   */
  faults(starts: readonly string[]): string[] {
    const { files } = this.ports;
    const [folder, script] = [files.stat(this.folder), files.stat(this.script)];
    const isOurs = (): boolean => {
      const text = Buffer.from(files.read(this.script, 65_536)).toString('utf8');
      return starts.some((atlas) => text === spoolScript(this.folder, atlas));
    };
    return [
      ...(folder?.kind === 'folder' ? [] : ['The folder for reports is missing.']),
      // On Windows, modes say nothing.
      ...(folder?.kind === 'folder' && process.platform !== 'win32' && (folder.mode & 0o777) !== 0o700
        ? ['The folder for reports has other permissions than it should (0700).']
        : []),
      ...(script?.kind === 'file' && isOurs()
        ? []
        : ["The script that hooks run is missing, or isn't this version's."]),
    ];
  }

  /** Makes the folder and the script as {@link open} does, and gives the folder its permissions back. Throws where it can't. */
  repair(atlas: string): void {
    this.open(atlas);
    if (process.platform !== 'win32') this.ports.files.chmod(this.folder, 0o700);
  }

  /** Makes the folder again where the settings turned observing off and on: the script is still there then. */
  reopen(): void {
    const { files } = this.ports;
    if (files.stat(this.folder) !== undefined || files.stat(this.script)?.kind !== 'file') return;
    ensureFolder(files, this.folder, 0o700);
  }

  /** Removes the folder with all that waits. */
  close(): void {
    if (this.ports.files.stat(this.folder) !== undefined) this.ports.files.removeFolder(this.folder);
  }

  /** Whether anything waits. */
  hasReports(): boolean {
    return this.isOpen && this.ports.files.list(this.folder).some((name) => name.endsWith('.json'));
  }

  /** What waits, the oldest first. */
  read(): SpooledReport[] {
    const { files } = this.ports;
    if (!this.isOpen) return [];
    const names = files.list(this.folder);
    const whole = names.filter((name) => name.endsWith('.json'));
    const aged = whole.flatMap((name) => {
      const stat = files.stat(join(this.folder, name));
      return stat?.kind === 'file' ? [{ name, at: stat.mtimeMs }] : [];
    });
    const sorted = aged.sort((a, b) => a.at - b.at || (a.name < b.name ? -1 : 1)).slice(0, MOST_AT_ONCE);
    const reports = sorted.map(({ name, at }) => ({ name, report: this.report(name, at) }));
    this.half = reports.flatMap(({ name, report }) => (report === undefined ? [name] : []));
    return reports.flatMap(({ report }) => report ?? []);
  }

  private report(name: string, at: number): SpooledReport | undefined {
    const { files } = this.ports;
    try {
      const text = Buffer.from(files.readAt(join(this.folder, name), 0, MAX_REPORT_BYTES + 4096)).toString('utf8');
      const end = text.indexOf('\n');
      const [version, ...words] = text.slice(0, Math.max(0, end)).split(' ');
      const ending = version === 'v2' ? LAST : '';
      if (end === -1 || !text.endsWith(ending)) return undefined;
      const head = Object.fromEntries(
        words.map((word) => [word.split('=')[0] ?? '', word.slice(word.indexOf('=') + 1)]),
      );
      return { name, host: name.split('.')[0] ?? '', at, head, body: text.slice(end + 1, text.length - ending.length) };
    } catch {
      // Drained by another process.
      return undefined;
    }
  }

  /** Adds a report of our own. Throws where it can't be written. */
  put(host: string, body: string, now: number): void {
    const { files, ids } = this.ports;
    if (!this.isOpen) return;
    const path = join(this.folder, `${host}.atlas.${ids.hex(8)}.json`);
    replaceFile(files, ids, path, `v1\n${body}`, { durable: false, mode: 0o600 });
    files.touch(path, now);
  }

  /** Removes what was drained, and what never became whole. */
  remove(reports: readonly SpooledReport[], now: number): void {
    const { files } = this.ports;
    for (const { name } of reports) removeFile(files, join(this.folder, name));
    for (const name of files.list(this.folder)) {
      const path = join(this.folder, name);
      const isOld = now - (files.stat(path)?.mtimeMs ?? now) > HALF_MS;
      const isHalf = name.endsWith('.tmp') || this.half.includes(name);
      if (name === 'full' || (isHalf && isOld)) removeFile(files, path);
    }
  }

  /** How many reports were dropped since this was asked last. */
  takeDropped(): number {
    const { files } = this.ports;
    const path = join(this.folder, 'dropped');
    const size = files.stat(path)?.size ?? 0;
    if (size > 0) removeFile(files, path);
    return size;
  }
}

/**
 * The script that hooks run: the host's JSON, below a line of what its environment tells, as a file of its own that counts
 * once its last line is there. Whatever is broken, it says nothing and exits 0. Only builtins but for `head` and, once in
 * {@link LOOK_EVERY} reports, `du`. When a session or a turn starts, `atlas` looks at its worktree in the
 * background; a command that may throw work away waits until it did.
 */
export function spoolScript(folder: string, atlas: string): string {
  const half = MAX_SPOOL_BYTES / 2 / 1024;
  return `#!/bin/sh
# Made by Atlas: keeps what an agent's host reports until Atlas reads it. Without the folder, it does nothing.
exec 2>/dev/null >/dev/null
umask 077
d='${folder.replaceAll("'", String.raw`'\''`)}'
h=$1
a=\${2-}
[ -d "$d" ] || exec cat
if [ -e "$d/full" ]; then printf . >>"$d/dropped"; exec cat; fi
p=$PPID
s=
i=0
while [ "$i" -lt 6 ] && [ "$p" -gt 1 ] && read -r l <"/proc/$p/stat"; do
  c=\${l#*\\(}
  c=\${c%)*}
  set -f
  set -- \${l##*) }
  set +f
  s=\${20}
  case $c in sh | bash | dash | zsh | fish | ksh | ash | busybox | env | timeout) p=$2 s= ;; *) break ;; esac
  i=$((i + 1))
done
[ -n "$s" ] || p=
${MAY_DISCARD_IN_SHELL}
n=$d/$h.$$
i=0
b=
while [ -e "$n.$i.json" ]; do i=$((i + 1)); done
{
  printf '%s\\n' "v2 pid=\${p:-\${CLAUDE_PID-}} start=$s ci=\${CI:+1} run=\${ATLAS_AGENT:+1} entry=\${CLAUDE_CODE_ENTRYPOINT-}"
  case $a in
  tool) b=$(head -c ${MAX_REPORT_BYTES}) && printf %s "$b" ;;
  *) head -c ${MAX_REPORT_BYTES} ;;
  esac
  [ "$a" != turn ] || exec 3<"$n.$i.json"
  printf '\\nend'
} >"$n.$i.json"
case $a in
start) (${atlas} sessions refresh </dev/null &) ;;
turn) { sed '1d;$d' <&3 | ${atlas} lifecycle turn-start --host "$h"; } & ;;
tool) if may_discard "$b"; then printf %s "$b" | ${atlas} lifecycle before-discard --host "$h"; fi ;;
esac
set -- "$d"/*.json
if [ $(($# % ${LOOK_EVERY})) -eq 0 ]; then
  u=$(du -sk "$d")
  [ "\${u%%[!0-9]*}" -lt ${half} ] || : >"$d/full"
fi
exit 0
`;
}
