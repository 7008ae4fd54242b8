import { describe, expect, it } from 'vitest';
import { MAY_DISCARD, discardingCommand } from '../../../src/core/snapshot/discardingCommand';

const DISCARDS: readonly (readonly [command: string, name: string])[] = [
  ['git reset --hard', 'git reset --hard'],
  ['git reset --hard HEAD~2', 'git reset --hard'],
  ['git -C packages/a -c core.pager=cat reset --hard', 'git reset --hard'],
  ['cd src && git reset --hard', 'git reset --hard'],
  ["bash -lc 'git reset --hard HEAD'", 'git reset --hard'],
  ['sudo /usr/bin/git reset --merge', 'git reset --hard'],
  ['git clean -fd', 'git clean'],
  ['git clean --force', 'git clean'],
  ['git checkout -- src', 'git checkout --'],
  ['git checkout .', 'git checkout --'],
  ['git checkout src/a.ts', 'git checkout --'],
  ['git checkout HEAD~1 src', 'git checkout --'],
  ['git checkout -f main', 'git checkout --'],
  ['git restore .', 'git restore'],
  ['git restore --staged --worktree a', 'git restore'],
  ['git restore -SW a', 'git restore'],
  ['git switch --discard-changes main', 'git switch --discard-changes'],
  ['rm -rf build', 'rm -r'],
  ['rm -f -R build', 'rm -r'],
  ['rm --recursive build', 'rm -r'],
  ['LANG=C rm -r "build"', 'rm -r'],
  ['if true; then rm -r build; fi', 'rm -r'],
  ['make; (rm -r a)', 'rm -r'],
  ['git.exe clean -fdx', 'git clean'],
];

const HARMLESS: readonly string[] = [
  ...['git reset', 'git reset --soft HEAD~1', 'git clean -n', 'git clean --dry-run', 'git clean -nd'],
  ...[
    'git checkout main',
    'git checkout -b next',
    'git checkout -b v1.2',
    'git restore --staged a',
    'git restore -S a',
  ],
  ...[
    'git switch main',
    'git commit -m "reset --hard"',
    'echo git reset --hard',
    'rm a.txt',
    'rm -f a.txt',
    'rmdir -p a',
  ],
  ...['git log -- reset', 'git stash', '', '   ', '&&', 'git', 'cat rm -r'],
];

describe('a command that throws work away', () => {
  it.each(DISCARDS)('is known: %s', (command, name) => {
    expect(discardingCommand(command)).toBe(name);
    expect(new RegExp(MAY_DISCARD, 'u').test(JSON.stringify({ command }))).toBe(true);
  });

  it.each(HARMLESS)('is not what leaves all files as they are: %s', (command) => {
    expect(discardingCommand(command)).toBeUndefined();
  });

  it('is found in a text of any length in no time to speak of', () => {
    const long = `git ${'-c x '.repeat(200_000)}reset --hard`;
    expect(discardingCommand(long)).toBe('git reset --hard');
  });
});
