import { LIMITS } from '../../core/worker/limits';
import { sizeText } from '../../core/shared/text';
import { type HashName, type NamedEntry, type TreeEntry, hashOfId, parseTree } from './gitPack';
import { type GitObject, type ReadLimit, SIZES_ONLY } from './objectReader';
import { type Refusal, refusedName, refusedPath, repositoryHeads } from './treePaths';

/** A file of a branch that is left out, of the index and new commits as of the folder. */
export interface Refused {
  /** As it stands in the trees: it may hold anything. */
  readonly path: string;
  readonly why: Refusal;
}

/** What stands in one tree, checked. */
interface CheckedTree {
  readonly files: readonly NamedEntry[];
  readonly folders: readonly NamedEntry[];
  readonly refused: readonly Refused[];
}

/** What is known of all trees of a commit. */
export interface TreeSummary {
  /** The files at the top, by name. */
  readonly top: ReadonlyMap<string, TreeEntry>;
  /** Why nothing of it can be used: there is too much of it, or it can't be read. */
  readonly problem: string | undefined;
  /** Whether something is missing that a later fetch may bring. */
  readonly isMissing: boolean;
}

/** All files of a commit. */
export interface TreeListing {
  readonly files: Map<string, TreeEntry>;
  /** At most {@link LIMITS.listed}. */
  readonly refused: Refused[];
  refusedCount: number;
}

/** Reads objects; see `GitObjects`. */
export type ReadObjects = (
  names: readonly string[],
  limit: ReadLimit,
  sizes?: readonly (GitObject | undefined)[],
) => Promise<(GitObject | undefined)[]>;

const FOLDER = '40000';
const FILES: ReadonlySet<string> = new Set(['100644', '100755']);
const KINDS: Readonly<Record<string, Refusal>> = {
  '120000': 'it is a symbolic link',
  '160000': 'it is a submodule',
};
const NONE: ReadonlyMap<string, TreeEntry> = new Map();
const NOTHING: TreeListing = { files: new Map(), refused: [], refusedCount: 0 };

/** Trees by id; `undefined` for one that is damaged. */
type Trees = ReadonlyMap<string, CheckedTree | undefined>;

/**
 * The one place where the trees of branches are read. Anybody can have written them, so that each entry is checked here, by git's own
 * rules and those of all systems: folders, indexes and new commits get nothing else. A tree is checked once, by its id.
 */
export class TreeReader {
  private known = new Map<string, CheckedTree | undefined>();
  private knownBytes = 0;

  constructor(private readonly read: ReadObjects) {}

  /** What is known of commits, all at once. */
  async summaries(commits: readonly string[]): Promise<TreeSummary[]> {
    const { roots, trees } = await this.load(commits);
    const memo = new Map<string, Measure>();
    return roots.map((root) => summaryOf(root, trees, memo));
  }

  /** What is known of a commit, and all its files; none where it can't be used. */
  async listing(commit: string): Promise<TreeSummary & TreeListing> {
    const { roots, trees } = await this.load([commit]);
    const root = roots[0] ?? { id: '', problem: problemOf(undefined) };
    const summary = summaryOf(root, trees, new Map());
    return { ...summary, ...(summary.problem === undefined ? listingOf(root.id, trees) : NOTHING) };
  }

  /** The commits' trees and all below them, but for those that are missing, too large or too deep. */
  private async load(commits: readonly string[]): Promise<{ readonly roots: Root[]; readonly trees: Trees }> {
    const names = commits.map((commit) => `${commit}^{tree}`);
    const found = await this.read(names, SIZES_ONLY);
    const roots = found.map((object) => ({ id: object?.id ?? '', problem: problemOf(object) }));
    const byId = new Map(found.map((object) => [object?.id ?? '', object]));
    const trees = new Map<string, CheckedTree | undefined>();
    let level = new Set(roots.flatMap(({ id, problem }) => (problem === undefined ? [id] : [])));
    let budget: number = LIMITS.allTreesBytes;
    for (let depth = 0; level.size > 0 && depth <= LIMITS.depth; depth += 1) {
      const wanted = [...level].filter((id) => !trees.has(id));
      for (const id of wanted) if (this.known.has(id)) trees.set(id, this.known.get(id));
      const unknown = wanted.filter((id) => !trees.has(id));
      const known = depth === 0 ? unknown.map((id) => byId.get(id)) : undefined;
      const read = await this.read(unknown, { each: LIMITS.treeBytes, total: budget }, known);
      for (const [index, id] of unknown.entries()) {
        const tree = read[index];
        if (tree?.bytes === undefined || tree.type !== 'tree') continue;
        budget -= tree.bytes.length;
        const checked = checkTree(tree.bytes, hashOfId(id));
        trees.set(id, checked);
        this.remember(id, checked, tree.bytes.length);
      }
      level = new Set([...level].flatMap((id) => trees.get(id)?.folders.map((folder) => folder.id) ?? []));
    }
    return { roots, trees };
  }

  private remember(id: string, tree: CheckedTree | undefined, bytes: number): void {
    this.knownBytes += bytes;
    if (this.knownBytes > LIMITS.allTreesBytes) {
      this.known = new Map();
      this.knownBytes = bytes;
    }
    this.known.set(id, tree);
  }
}

function summaryOf({ id, problem }: Root, trees: Trees, memo: Map<string, Measure>): TreeSummary {
  if (problem !== undefined) return { top: NONE, problem: problem.text, isMissing: problem.isMissing };
  const measure = measureOf(id, trees, memo, 0);
  if (measure.problem !== undefined) return { top: NONE, problem: measure.problem, isMissing: measure.isMissing };
  const top = (trees.get(id)?.files ?? []).map(({ name, mode, id: blob }) => [name, { mode, id: blob }] as const);
  return { top: new Map(top), problem: undefined, isMissing: false };
}

/** Counts what is below a tree, each tree once: one that names another a hundredfold is counted, and never listed. */
function measureOf(id: string, trees: Trees, memo: Map<string, Measure>, depth: number): Measure {
  const measured = memo.get(id);
  if (measured !== undefined) return measured;
  const tree = trees.get(id);
  const entries = tree === undefined ? 0 : tree.files.length + tree.folders.length + tree.refused.length;
  let measure: Measure = { entries, height: 0, problem: undefined, isMissing: false };
  if (depth > LIMITS.depth) measure = { ...measure, problem: TOO_DEEP };
  else if (!trees.has(id))
    measure = { ...measure, problem: 'a list of files is missing or too large', isMissing: true };
  else if (tree === undefined) measure = { ...measure, problem: 'a list of files is damaged' };
  for (const folder of tree?.folders ?? []) {
    if (measure.problem !== undefined) break;
    const inner = measureOf(folder.id, trees, memo, depth + 1);
    const height = Math.max(measure.height, inner.height + 1);
    measure = { ...inner, entries: measure.entries + inner.entries, height };
    measure = { ...measure, problem: measure.problem ?? excess(measure) };
  }
  measure = { ...measure, problem: measure.problem ?? excess(measure) };
  memo.set(id, measure);
  return measure;
}

function excess({ entries, height }: Measure): string | undefined {
  if (entries > LIMITS.files) return `it contains more than ${LIMITS.files.toLocaleString('en')} files and folders`;
  return height >= LIMITS.depth ? TOO_DEEP : undefined;
}

/** All files of a tree that is within the limits. */
function listingOf(root: string, trees: Trees): TreeListing {
  const listing: TreeListing = { files: new Map(), refused: [], refusedCount: 0 };
  const waiting = [{ path: '', id: root }];
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    const { path } = at;
    const tree = trees.get(at.id);
    for (const { path: name, why } of tree?.refused ?? []) refuse(listing, path + name, why);
    for (const { name, id } of tree?.folders ?? []) waiting.push({ path: `${path}${name}/`, id });
    for (const { name, mode, id } of tree?.files ?? []) {
      const why = refusedPath(path + name);
      if (why === undefined) listing.files.set(path + name, { mode, id });
      else refuse(listing, path + name, why);
    }
  }
  for (const path of repositoryHeads(listing.files.keys()))
    takeOut(listing, path, 'it would make its folder a git repository');
  return listing;
}

/** Leaves a file out of a listing, and notes why. */
export function takeOut(listing: TreeListing, path: string, why: Refusal): void {
  if (listing.files.delete(path)) refuse(listing, path, why);
}

interface Root {
  readonly id: string;
  readonly problem: { readonly text: string; readonly isMissing: boolean } | undefined;
}

interface Measure {
  readonly entries: number;
  readonly height: number;
  readonly problem: string | undefined;
  readonly isMissing: boolean;
}

const TOO_DEEP = `its folders are more than ${LIMITS.depth} deep`;

function problemOf(root: GitObject | undefined): Root['problem'] {
  if (root?.type !== 'tree') return { text: 'its commit is missing or damaged', isMissing: true };
  if (root.size <= LIMITS.treeBytes) return undefined;
  return {
    text: `its list of files has ${sizeText(root.size)}, at most ${sizeText(LIMITS.treeBytes)} are read`,
    isMissing: false,
  };
}

function refuse(listing: TreeListing, path: string, why: Refusal): void {
  listing.refusedCount += 1;
  if (listing.refused.length < LIMITS.listed) listing.refused.push({ path: path.slice(0, LIMITS.pathBytes), why });
}

/** Checks the entries of a tree. Of two with one name neither is taken: readers differ in which of them counts. */
function checkTree(bytes: Uint8Array, hash: HashName): CheckedTree | undefined {
  const entries = parseTree(bytes, hash);
  if (entries === undefined) return undefined;
  const counts = new Map<string, number>();
  for (const { name } of entries) counts.set(name, (counts.get(name) ?? 0) + 1);
  const [files, folders, refused]: [NamedEntry[], NamedEntry[], Refused[]] = [[], [], []];
  for (const entry of entries) {
    const { name, mode } = entry;
    const isKnown = mode === FOLDER || FILES.has(mode);
    const twice = (counts.get(name) ?? 0) > 1 ? 'two entries have its name' : undefined;
    const why =
      refusedName(name) ?? twice ?? (isKnown ? undefined : (KINDS[mode] ?? `its mode is ${mode.slice(0, 20)}`));
    if (why !== undefined) refused.push({ path: name, why });
    else (mode === FOLDER ? folders : files).push(entry);
  }
  return { files, folders, refused };
}
