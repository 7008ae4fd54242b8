import type { CachedStatus, GitStatus, Repository } from '../../core/shared/ports';

/** How long a glance at most takes, in ms: in a small repository git has answered by then. */
const WAIT_MS = 40;
/** A worktree whose last look took longer (ms) is not waited for at all. */
const SLOW_MS = 40;

interface Known {
  tookMs: number;
  late: CachedStatus['late'];
  running: boolean;
}

/**
 * Looks at worktrees without making anybody wait: one look at a time each, which goes on by itself where it takes long.
 * What it finds then was true when it began, so it tells of files that were changed, but not whether any still is.
 */
export class StatusCache {
  private readonly worktrees = new Map<string, Known>();

  constructor(private readonly look: (repository: Repository) => Promise<GitStatus | undefined>) {}

  /** What git says at once, and what it said too late for the glance before. */
  async glance(repository: Repository): Promise<CachedStatus> {
    const known = this.worktrees.get(repository.worktree) ?? { tookMs: 0, late: undefined, running: false };
    this.worktrees.set(repository.worktree, known);
    const { late } = known;
    if (known.running) return { status: undefined, late };
    known.late = undefined;
    const looked = this.start(repository, known);
    if (known.tookMs > SLOW_MS) return { status: undefined, late };
    const status = await atMost(looked, WAIT_MS);
    // In time, it is the caller's; nobody needs to be told later.
    if (status !== undefined) known.late = undefined;
    return { status, late };
  }

  private async start(repository: Repository, known: Known): Promise<GitStatus | undefined> {
    known.running = true;
    const at = Date.now();
    const start = performance.now();
    try {
      const status = await this.look(repository);
      if (status !== undefined) known.late = { files: status.files, at };
      return status;
    } catch {
      // Nobody may wait for this any more; unknown is an answer.
      return undefined;
    } finally {
      known.tookMs = performance.now() - start;
      known.running = false;
    }
  }
}

/** What a promise gives, or `undefined` after some time (ms), in which case it goes on. */
async function atMost<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), ms);
  });
  try {
    return await Promise.race([promise, over]);
  } finally {
    clearTimeout(timer);
  }
}
