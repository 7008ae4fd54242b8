import { describe, expect, it } from 'vitest';
import type { GitStatus, Repository } from '../../../src/core/shared/ports';
import { StatusCache } from '../../../src/git/read/statusCache';

const here = { worktree: '/repo', commonDir: '/repo/.git', gitDir: '/repo/.git', main: '/repo' };
const there: Repository = { ...here, worktree: '/other' };
const dirty = (...files: string[]): GitStatus => ({
  dirty: files.length > 0,
  files,
  changes: files.map((path) => ({ path, change: 'modified' })),
});
const NOTHING = { status: undefined, late: undefined };

/** A git whose answers are given when the test says so. */
class SlowGit {
  readonly asked: string[] = [];
  private readonly answers: ((status: GitStatus | undefined) => void)[] = [];
  readonly glances = new StatusCache(async ({ worktree }) => {
    this.asked.push(worktree);
    return new Promise((resolve) => this.answers.push(resolve));
  });

  /** Answers the oldest question, and lets whoever waits for it go on. */
  async answer(status: GitStatus | undefined): Promise<void> {
    this.answers.shift()?.(status);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

describe('a glance at a worktree', () => {
  it('tells what git says at once, and nothing of it again', async () => {
    const glances = new StatusCache(async () => Promise.resolve(dirty('a.txt')));
    expect(await glances.glance(here)).toEqual({ status: dirty('a.txt'), late: undefined });
    expect(await glances.glance(here)).toEqual({ status: dirty('a.txt'), late: undefined });
  });

  it('does not wait for a git that takes long, which the next one tells of, once', async () => {
    const git = new SlowGit();
    const before = Date.now();
    expect(await git.glances.glance(here)).toEqual(NOTHING);
    await git.answer(dirty('a.txt'));
    const next = await git.glances.glance(here);
    expect(next).toEqual({ status: undefined, late: { files: ['a.txt'], at: expect.any(Number) as number } });
    expect(next.late?.at).toBeGreaterThanOrEqual(before);
    await git.answer(undefined);
    expect(await git.glances.glance(here)).toEqual(NOTHING);
  });

  it('looks once at a time, and at each worktree by itself', async () => {
    const git = new SlowGit();
    await Promise.all([git.glances.glance(here), git.glances.glance(here), git.glances.glance(there)]);
    expect(git.asked).toEqual(['/repo', '/other']);
  });

  it('takes a git that fails for one that says nothing', async () => {
    const glances = new StatusCache(async () => Promise.reject(new Error('no git')));
    expect(await glances.glance(here)).toEqual(NOTHING);
    expect(await glances.glance(here)).toEqual(NOTHING);
  });

  it('has nothing to tell where git could not say, though it took long', async () => {
    const git = new SlowGit();
    await git.glances.glance(here);
    await git.answer(undefined);
    expect(await git.glances.glance(here)).toEqual(NOTHING);
  });
});
