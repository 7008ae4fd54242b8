import { execFileSync } from 'node:child_process';

/** A line of a tree, by whatever name. */
export interface RawEntry {
  readonly mode: string;
  readonly name: string;
  readonly id: string;
  /** The name, where that is no text. */
  readonly bytes?: Uint8Array;
}

/** Writes objects into a bare repository that git itself would not write. */
export class HostileObjects {
  constructor(private readonly bare: string) {}

  private write(type: string, bytes: Uint8Array): string {
    const args = ['hash-object', '-t', type, '-w', '--literally', '--stdin'];
    return execFileSync('git', args, { cwd: this.bare, input: bytes, encoding: 'utf8' }).trim();
  }

  file(name: string, content: string | Uint8Array, mode = '100644'): RawEntry {
    return { mode, name, id: this.write('blob', Buffer.from(content)) };
  }

  /** A file whose name is not text, or is empty. */
  raw(bytes: Uint8Array): RawEntry {
    return { ...this.file(`raw ${bytes.length}`, 'x'), bytes };
  }

  /** A file of so many zeros, which are small once they are packed. */
  zeros(bytes: number): RawEntry {
    const line = `head -c ${bytes} /dev/zero | git -c core.bigFileThreshold=1m hash-object -w --stdin`;
    const id = execFileSync('/bin/sh', ['-c', line], { cwd: this.bare, encoding: 'utf8' }).trim();
    return { mode: '100644', name: 'zeros', id };
  }

  /** A commit of this text. */
  commit(text: string): string {
    return this.write('commit', Buffer.from(text));
  }

  /** A folder, its entries in the order and by the names that are given. */
  folder(name: string, entries: readonly RawEntry[]): RawEntry {
    const lines = entries.map((entry) =>
      Buffer.concat([
        Buffer.from(`${entry.mode} `),
        ...[entry.bytes ?? Buffer.from(entry.name), Buffer.from([0]), Buffer.from(entry.id, 'hex')],
      ]),
    );
    return { mode: '40000', name, id: this.write('tree', Buffer.concat(lines)) };
  }

  /** Moves a branch on to a commit with these files; what is named anew takes the place of what was there. */
  plant(branch: string, entries: readonly RawEntry[], from = branch): void {
    const git = (...args: string[]): string =>
      execFileSync('git', args, { cwd: this.bare, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] }).trimEnd();
    const tip = git('rev-parse', '--verify', '--quiet', from);
    const known = git('ls-tree', tip)
      .split('\n')
      .map((line) => /^(\d+) \w+ ([0-9a-f]+)\t(.+)$/u.exec(line) ?? [])
      .map(([, mode = '', id = '', name = '']): RawEntry => ({ mode: mode.replace(/^0/u, ''), name, id }))
      .filter(({ name }) => entries.every((entry) => entry.name !== name));
    const { id } = this.folder('', [...known, ...entries]);
    const author = ['-c', 'user.name=x', '-c', 'user.email=x@example.invalid'];
    const commit = git(...author, 'commit-tree', '-p', tip, '-m', 'hostile', id);
    git('update-ref', `refs/heads/${branch}`, commit);
  }
}
