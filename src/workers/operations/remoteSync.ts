import { AtlasError, type Result, fail, ok } from '../../core/shared/errors';
import type { LedgerConflict, LedgerRecord } from '../../core/worker/ledgerLines';
import { LEDGER_BRANCH, clashingWorker, workerOfBranch } from '../../core/worker/names';
import { ensureFolder } from '../../system/files/atomicFile';
import { forgeConfigPath, readForgeConfig } from '../forgeConfig';
import type { ForgeBranches, MadeCommit, Publish } from '../git/forgeBranches';
import type { WorkerPorts } from '../forgeFolder';
import { ForgeRemote, type PushedRef, remoteNames, trackingRef } from '../git/forgeRemote';
import { type ForgeView, readForge } from './forgeView';
import { ANYWHERE } from '../git/gitObjects';
import { type BranchProblem, type RefusedFiles, inTheWay, shortName } from './branchProblems';
import { Merger, type Integration } from './merger';

/** A change of hooks and ledger: made of what they are, and given to `publish`. May be called anew where another machine was quicker. */
export type ForgeChange<T> = (view: ForgeView, publish: Publish) => Promise<Result<T>>;

/** What `sync` did. */
export interface SyncReport extends Omit<Integration, 'tips'> {
  readonly remote: string;
  /** Branches that the remote got. */
  readonly sent: readonly string[];
  /** Of the ledger: what two clones said of one thing without knowing of each other, the side that counts first. */
  readonly conflicts: readonly LedgerConflict<LedgerRecord>[];
}

/** Where branches are here and at a remote, at one moment. */
interface Tips {
  readonly ours: ReadonlyMap<string, string>;
  readonly theirs: ReadonlyMap<string, string>;
}

/** What is tried once all of a remote's is here. */
type Attempt = (integration: Integration, tips: Tips) => Promise<Result<{ readonly refused: string | undefined }>>;

/** What a remote took. */
interface Sent {
  readonly refused: string | undefined;
  readonly sent: readonly string[];
  /** Why the ledger was not offered to it. */
  readonly withheld: AtlasError | undefined;
}

/** How often another machine may be quicker, before somebody has to look. */
const MAX_TRIES = 200;
/** How often the remote may refuse although nobody was quicker: another's push may hold it up for a moment. More is a rule. */
const MAX_REFUSALS = 5;
/** The longest pause before another try, in ms; drawn anew each time, so that two machines don't go on in step. */
const MAX_PAUSE_MS = 400;

/** Changes hooks and ledger so that it counts: by the lock in one clone, by the remote between several. */
export class RemoteSync {
  private readonly integrating: Merger;
  private problem: AtlasError | undefined;

  constructor(
    private readonly branches: ForgeBranches,
    private readonly ports: WorkerPorts,
  ) {
    this.integrating = new Merger(branches, ports);
  }

  /** Why the last change is not with the remote yet; `undefined` where it is, or where there is none. */
  get unshared(): AtlasError | undefined {
    return this.problem;
  }

  /** The name of the remote that claims are decided by; `undefined` where the repository's workers are its own. */
  async remoteName(): Promise<Result<string | undefined>> {
    const config = await readForgeConfig(this.ports.files, this.branches.forge);
    if (!config.ok) return config;
    const { remote } = config.value;
    if (remote === false) return ok(undefined);
    if (remote !== undefined) return this.checkedName(remote);
    const tracked = await this.branches.objects.branches(['refs/remotes/']);
    if (!tracked.ok) return tracked;
    const names = [...tracked.value.keys()].flatMap(
      (ref) => /^refs\/remotes\/(.+)\/forge\/ledger$/u.exec(ref)?.[1] ?? [],
    );
    if (names.length < 2) return ok(names[0]);
    return fail('invalid_config', `Workers and ledger are shared with several remotes: ${names.join(', ')}.`, {
      hint: `Choose one in ${forgeConfigPath(this.branches.forge)}, for example: remote: ${names[0] ?? 'origin'}`,
    });
  }

  /** The names of the repository's remotes. */
  async remotes(): Promise<Result<readonly string[]>> {
    return remoteNames(this.branches.git);
  }

  /** A name from outside may be an option of git's, or a place that nobody set up: only the repository's remotes count. */
  private async checkedName(name: string): Promise<Result<string>> {
    const names = await remoteNames(this.branches.git);
    if (!names.ok) return names;
    if (names.value.includes(name)) return ok(name);
    return fail('not_found', `The repository has no remote ${JSON.stringify(name.slice(0, 100))}.`, {
      hint:
        names.value.length === 0
          ? 'Add one: git remote add <name> <url>'
          : `Its remotes are: ${names.value.join(', ')}`,
    });
  }

  /** What the branches hold, to change it. Fails with `damaged` where the ledger can't be used: it would be written anew. */
  private async view(tips?: ReadonlyMap<string, string>): Promise<Result<ForgeView>> {
    const view = await readForge(this.branches, tips);
    const damage = view.ok ? view.value.ledgerDamage : undefined;
    return damage === undefined ? view : { ok: false, error: damage };
  }

  /** Makes a change of what this clone has already; the remote learns of it when it can be reached. */
  async change<T>(change: ForgeChange<T>): Promise<Result<T>> {
    return this.changeFrom(async () => this.view(), change);
  }

  /** The same, also where the ledger can't be used: the change is to repair it. */
  async repair<T>(change: ForgeChange<T>): Promise<Result<T>> {
    return this.changeFrom(async () => readForge(this.branches), change);
  }

  private async changeFrom<T>(read: () => Promise<Result<ForgeView>>, change: ForgeChange<T>): Promise<Result<T>> {
    const changed = await this.branches.forge.alone(async () => {
      const view = await read();
      return view.ok ? change(view.value, async (made) => this.branches.publish(made)) : view;
    });
    if (changed.ok) this.problem = await this.share();
    return changed;
  }

  /**
   * Pushes what the remote doesn't have; where it has something of others, that is taken in first. Says why it could not. A remote that
   * doesn't answer keeps nobody else waiting.
   */
  private async share(): Promise<AtlasError | undefined> {
    const name = await this.remoteName();
    if (!name.ok) return name.error;
    if (name.value === undefined) return undefined;
    const remote = new ForgeRemote(this.branches.git, name.value);
    const ours = await this.branches.tips();
    const theirs = await this.branches.tipsOf(remote.name);
    if (!ours.ok) return ours.error;
    if (!theirs.ok) return theirs.error;
    const first = await this.send(remote, [], { ours: ours.value, theirs: theirs.value });
    if (!first.ok) return first.error;
    if (first.value.refused === undefined) return first.value.withheld;
    let withheld: AtlasError | undefined;
    const shared = await this.branches.forge.alone(async () =>
      this.untilTaken(remote, async ({ ledgerDamage }, tips) => {
        const sent = await this.send(remote, [], tips, ledgerDamage);
        if (sent.ok) ({ withheld } = sent.value);
        return sent;
      }),
    );
    return shared.ok ? withheld : shared.error;
  }

  /**
   * Claims something that several machines may want. With a remote it counts once that took it; where another was quicker, what was
   * made is dropped and the change is asked again. Fails with `remote_unreachable`, and nothing is claimed.
   */
  async claim<T>(change: ForgeChange<T>): Promise<Result<T>> {
    return this.branches.forge.alone(async () => {
      const name = await this.remoteName();
      if (!name.ok) return name;
      if (name.value === undefined) {
        const view = await this.view();
        return view.ok ? change(view.value, async (made) => this.branches.publish(made)) : view;
      }
      this.problem = undefined;
      const remote = new ForgeRemote(this.branches.git, name.value);
      let changed: Result<T> | undefined;
      const taken = await this.untilTaken(remote, async ({ ledgerDamage }, tips) => {
        if (ledgerDamage !== undefined) return { ok: false, error: notShared(remote, ledgerDamage) };
        const view = await this.view(tips.ours);
        if (!view.ok) return view;
        let refused: string | undefined;
        changed = await change(view.value, async (made) => {
          const sent = await this.send(remote, made, tips);
          if (!sent.ok) return sent;
          ({ refused } = sent.value);
          return refused === undefined ? ok(undefined) : fail('remote_refused', refused);
        });
        return ok({ refused });
      });
      if (!taken.ok) return taken;
      return changed ?? fail('remote_refused', 'The remote was not contacted.');
    });
  }

  /** Fetches, takes in what is new, and tries; as long as the remote refuses because another was quicker. */
  private async untilTaken(remote: ForgeRemote, attempt: Attempt): Promise<Result<Integration>> {
    let before: string | undefined;
    let refusals = 0;
    for (let tries = 0; ; tries += 1) {
      const fetched = await remote.fetch(this.branches);
      if (!fetched.ok) return fetched;
      const theirs = await this.branches.tipsOf(remote.name);
      if (!theirs.ok) return theirs;
      const state = JSON.stringify([...theirs.value].sort());
      const taken = await this.integrating.integrate(theirs.value);
      if (!taken.ok) return taken;
      const integration: Integration = { ...taken.value, unusable: [...fetched.value, ...taken.value.unusable] };
      const tried = await attempt(integration, { ours: integration.tips, theirs: theirs.value });
      if (!tried.ok) return tried;
      const { refused } = tried.value;
      if (refused === undefined) return ok(integration);
      refusals = state === before ? refusals + 1 : 1;
      if (refusals >= MAX_REFUSALS || tries >= MAX_TRIES)
        return fail('remote_refused', `The remote ${remote.name} rejected the forge/* branches: ${refused}`, {
          hint: 'Check whether its rules allow pushing branches with that name.',
        });
      before = state;
      const pause = (parseInt(this.ports.ids.hex(4), 16) / 0xffffffff) * Math.min(MAX_PAUSE_MS, 20 * 2 ** tries);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Pushes all that the remote doesn't have, `made` in the place of the branches that it is for, and records what it took. */
  private async send(
    remote: ForgeRemote,
    made: readonly MadeCommit[],
    tips: Tips,
    ledgerDamage?: AtlasError,
  ): Promise<Result<Sent>> {
    const stored = this.branches.store(made);
    if (!stored.ok) return stored;
    const unsent = unsentOf(remote, made, tips);
    const isLedger = ({ ref }: PushedRef): boolean => ref === LEDGER_BRANCH;
    const refs = ledgerDamage === undefined ? unsent.refs : unsent.refs.filter((each) => !isLedger(each));
    const withheld = ledgerDamage === undefined ? unsent.withheld : notShared(remote, ledgerDamage);
    if (refs.length > 0) {
      const pushed = await remote.push(refs);
      if (!pushed.ok) return pushed;
      if (pushed.value.refused !== undefined) return ok({ refused: pushed.value.refused, sent: [], withheld });
    }
    const follow = refs.map(({ ref, commit }) => ({
      ref: trackingRef(remote.name, ref),
      from: ANYWHERE,
      to: commit,
    }));
    const settled = await this.branches.settle(made, follow);
    return settled.ok ? ok({ refused: undefined, sent: refs.map(({ ref }) => ref), withheld }) : settled;
  }

  /**
   * Brings hooks and ledger here and at a remote to the same state: takes in what others did, gives what was done here. The first time
   * it makes them shared. Fails with `remote_unreachable`, `remote_refused`, or `not_found` where there is no such remote.
   */
  async sync(name?: string): Promise<Result<SyncReport>> {
    const chosen = await this.chosen(name);
    if (!chosen.ok) return chosen;
    const remote = new ForgeRemote(this.branches.git, chosen.value);
    return this.branches.forge.alone(async () => {
      let sent: readonly string[] = [];
      const received = new Set<string>();
      const superseded: Integration['superseded'][number][] = [];
      let ledgerMerged = false;
      const unusable = new Map<string, BranchProblem>();
      const refusedFiles = new Map<string, RefusedFiles>();
      const synced = await this.untilTaken(remote, async (integration, tips) => {
        for (const worker of integration.received) received.add(worker);
        for (const each of integration.unusable) unusable.set(each.branch, each);
        for (const each of integration.refused) refusedFiles.set(each.branch, each);
        superseded.push(...integration.superseded);
        ledgerMerged ||= integration.ledgerMerged;
        const done = await this.send(remote, [], tips, integration.ledgerDamage);
        if (done.ok) ({ sent, withheld: this.problem } = done.value);
        return done;
      });
      if (!synced.ok) return synced;
      const view = await readForge(this.branches, synced.value.tips);
      if (!view.ok) return view;
      const { tasks, convoys, evidence } = view.value.ledger;
      const conflicts = [...tasks.conflicts, ...convoys.conflicts, ...evidence.conflicts];
      const remembered = this.remember(chosen.value);
      if (!remembered.ok) return remembered;
      return ok({
        remote: chosen.value,
        received: [...received],
        superseded,
        ledgerMerged,
        sent,
        conflicts,
        clashing: synced.value.clashing,
        ledgerDamage: synced.value.ledgerDamage,
        unusable: [...unusable.values()],
        refused: [...refusedFiles.values()],
      });
    });
  }

  private async chosen(name: string | undefined): Promise<Result<string>> {
    if (name !== undefined) return this.checkedName(name);
    const config = await readForgeConfig(this.ports.files, this.branches.forge);
    if (!config.ok) return config;
    if (config.value.remote === false)
      return fail('invalid_config', `Sharing is turned off in ${forgeConfigPath(this.branches.forge)}.`, {
        hint: 'Name a remote (atlas worker sync <remote>), or remove "remote: false" from the file.',
      });
    const shared = await this.remoteName();
    if (!shared.ok) return shared;
    if (shared.value !== undefined) return ok(shared.value);
    const names = await remoteNames(this.branches.git);
    if (!names.ok) return names;
    const [only, ...more] = names.value;
    if (only !== undefined && more.length === 0) return ok(only);
    if (names.value.includes('origin')) return ok('origin');
    return this.checkedName('origin');
  }

  /** Says in the settings by which remote it is shared, where they say nothing yet. */
  private remember(name: string): Result<void> {
    const { files } = this.ports;
    const path = forgeConfigPath(this.branches.forge);
    if (files.stat(path) !== undefined) return ok(undefined);
    const safe = this.branches.forge.prepare(this.branches.forge.path);
    if (!safe.ok) return safe;
    ensureFolder(files, this.branches.forge.path);
    const text = `# The remote that decides who has claimed a task; where nothing is to be shared: false, without quotes.\nremote: ${JSON.stringify(name)}\n`;
    files.write(path, text, { exclusive: true });
    return ok(undefined);
  }
}

/** What the remote doesn't have, `made` in the place of the branches that it is for; without the ledger where that can't go there. */
function unsentOf(
  remote: ForgeRemote,
  made: readonly MadeCommit[],
  { ours, theirs }: Tips,
): { readonly refs: PushedRef[]; readonly withheld: AtlasError | undefined } {
  const wanted = new Map([...ours, ...made.map(({ branch, commit }) => [branch.ref, commit] as const)]);
  const workers = [...theirs.keys()].flatMap((ref) => workerOfBranch(ref) ?? []);
  const claimed = new Set(made.map(({ branch }) => branch.ref));
  const blocked = new Map(inTheWay(theirs.keys(), wanted.keys()).map(({ ref, of }) => [of, ref]));
  // One that clashes with theirs would have the remote refuse all others too. Where that is what is claimed, it shall.
  const isOurs = (ref: string): boolean => {
    const worker = workerOfBranch(ref);
    if (worker === undefined && ref !== LEDGER_BRANCH) return false;
    if (claimed.has(ref)) return true;
    return !blocked.has(ref) && (worker === undefined || clashingWorker(worker, workers) === undefined);
  };
  const refs = [...wanted]
    .filter(([ref, commit]) => theirs.get(ref) !== commit && isOurs(ref))
    .map(([ref, commit]) => ({ ref, commit }));
  const blocker = blocked.get(LEDGER_BRANCH);
  return { refs, withheld: blocker === undefined ? undefined : inTheLedgersPlace(remote, blocker) };
}

function notShared({ name }: ForgeRemote, { message, hint }: AtlasError): AtlasError {
  return new AtlasError('damaged', `No task can be claimed through ${name}. Its ledger: ${message}`, {
    ...(hint === undefined ? {} : { hint }),
  });
}

function inTheLedgersPlace({ name }: ForgeRemote, ref: string): AtlasError {
  const branch = shortName(ref);
  return new AtlasError('remote_refused', `${name} has a branch ${branch}, so git can't create forge/ledger there.`, {
    hint: `Unless you need it, delete it: git push ${name} --delete ${branch}`,
  });
}
