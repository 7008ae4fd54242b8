import type { Bucket, LedgerKind, Problem } from './outline';

/** The main worktree of the repository whose workers are meant. */
interface InRepository {
  readonly repository: string;
}

interface OfWorker extends InRepository {
  readonly worker: string;
}

/** One row each of several kinds. */
type Rows<K extends string, T> = K extends string ? { readonly kind: K } & T : never;

/** The files of a hook that say what the work is and what came of it. */
export const SLOT_PARTS = ['task', 'context', 'result'] as const;
/** One of them. */
export type SlotPart = (typeof SLOT_PARTS)[number];

/** What a row of the Workers view stands for. Commands get these as arguments, and check them again. */
export type WorkerNode =
  | Rows<'repository' | 'failure' | 'tasks' | 'conflicts' | 'findings', InRepository>
  | ({ readonly kind: 'pool'; readonly pool: string } & InRepository)
  | Rows<'worker' | 'evidence' | 'history', OfWorker>
  | ({ readonly kind: 'problem'; readonly problem: Problem } & OfWorker)
  | ({ readonly kind: 'part'; readonly part: SlotPart } & OfWorker)
  | ({ readonly kind: 'file'; readonly path: string } & OfWorker)
  | ({ readonly kind: 'commit'; readonly commit: string } & OfWorker)
  | ({ readonly kind: 'note'; readonly of: 'evidence' | 'history' } & OfWorker)
  | ({ readonly kind: 'bucket'; readonly bucket: Bucket } & InRepository)
  | ({ readonly kind: 'convoy'; readonly convoy: string } & InRepository)
  | ({ readonly kind: 'task'; readonly task: string; readonly under: string } & InRepository)
  | ({ readonly kind: 'conflict'; readonly of: LedgerKind; readonly id: string } & InRepository)
  | ({ readonly kind: 'side'; readonly of: LedgerKind; readonly id: string; readonly index: number } & InRepository)
  | ({ readonly kind: 'finding'; readonly of: LedgerKind; readonly line: number } & InRepository)
  | ({ readonly kind: 'more'; readonly under: string; readonly shown: number; readonly left: number } & InRepository);

/** The rows of some kinds. */
export type NodeOf<K extends WorkerNode['kind']> = Extract<WorkerNode, { kind: K }>;

/** A stable id of a row, so that it stays open and selected over a refresh. */
export function workerNodeId(node: WorkerNode): string {
  const { kind, repository, ...rest } = node;
  return JSON.stringify([kind, repository, ...Object.values(rest)]);
}
