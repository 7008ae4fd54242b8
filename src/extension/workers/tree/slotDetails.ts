import { AtlasError, type Result, messageOf, ok } from '../../../core/shared/errors';
import { evidenceId } from '../../../core/worker/ledger';
import { slotBranchName } from '../../../core/worker/names';
import { readFolder } from '../../../workers/slot/slotTree';
import { WorkerGit } from '../../../workers/git/workerGit';
import type { WorkerStatus } from '../../../workers/operations/workerStatus';
import { type CheckedFile, checkFiles } from './evidenceCheck';
import type { LookedAt, WorkersModel } from '../workersModel';

/** A step of a worker's history: a commit of its branch. */
export interface HistoryEntry {
  readonly commit: string;
  /** RFC 3339. */
  readonly at: string;
  readonly subject: string;
}

/** So many steps are shown; git has them all. */
const MAX_HISTORY = 30;

/** What only open rows ask for: a hook's files against the ledger, and its branch's history. Kept until the next look. */
export class SlotDetails {
  private readonly evidence = new Map<string, Promise<Result<readonly CheckedFile[]>>>();
  private readonly history = new Map<string, Promise<Result<readonly HistoryEntry[]>>>();

  constructor(private readonly model: WorkersModel) {}

  /** Forgets what was read. */
  clear(): void {
    this.evidence.clear();
    this.history.clear();
  }

  /** The files of a hook, each against what the ledger recorded of the present work. */
  async files(repository: string, worker: string): Promise<Result<readonly CheckedFile[]>> {
    return remembered(this.evidence, `${repository}\n${worker}`, async () => {
      // The rows above are drawn first: many files may have to be hashed.
      await Promise.resolve();
      const status = this.model.worker(repository, worker);
      const looked = this.model.at(repository);
      return status === undefined || looked === undefined ? ok([]) : this.check(looked, status);
    });
  }

  private check({ status }: LookedAt, { folder, state, orphaned }: WorkerStatus): Result<readonly CheckedFile[]> {
    if (orphaned.includes('no_worktree')) return ok([]);
    const { files } = readFolder(this.model.session.atlas.ports.files, folder);
    const records = status.ok ? status.value.ledger.evidence.last : undefined;
    const recorded = state === undefined ? undefined : records?.get(evidenceId(state.taskId, state.claim));
    return ok(checkFiles(files, recorded));
  }

  /** The newest steps of a hook, the newest first. */
  async steps(repository: string, worker: string): Promise<Result<readonly HistoryEntry[]>> {
    return remembered(this.history, `${repository}\n${worker}`, async () => {
      const looked = this.model.at(repository);
      if (looked === undefined || this.model.worker(repository, worker)?.commit === undefined) return ok([]);
      const args = ['log', '-z', `--max-count=${MAX_HISTORY}`, '--format=%H%n%cI%n%s', slotBranchName(worker), '--'];
      const printed = await new WorkerGit(looked.repository).run(args);
      return printed.ok ? ok(parseLog(printed.value)) : printed;
    });
  }
}

function parseLog(text: string): HistoryEntry[] {
  return text.split('\0').flatMap((entry): HistoryEntry[] => {
    const [commit = '', at = '', subject = ''] = entry.split('\n');
    return commit === '' ? [] : [{ commit, at, subject }];
  });
}

/** One reading for all who ask until it is forgotten; what nobody expected is an error like any other. */
async function remembered<T>(
  known: Map<string, Promise<Result<T>>>,
  key: string,
  read: () => Promise<Result<T>>,
): Promise<Result<T>> {
  const before = known.get(key);
  if (before !== undefined) return before;
  const reading = read().catch((error: unknown): Result<T> => {
    const expected = error instanceof AtlasError ? error : undefined;
    return { ok: false, error: expected ?? new AtlasError('unreadable', messageOf(error), { cause: error }) };
  });
  known.set(key, reading);
  return reading;
}
