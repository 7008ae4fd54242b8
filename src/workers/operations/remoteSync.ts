import { AtlasError, type Result, fail, unwrap } from '../../core/shared/errors';
import type { LedgerConflict, LedgerRecord } from '../../core/worker/ledgerLines';
import { LEDGER_BRANCH, clashingWorker, workerOfBranch } from '../../core/worker/names';
import { ensureFolder } from '../../system/files/atomicFile';
import { attempt } from '../attempt';
import { type ForgeConfig, forgeConfigPath, readForgeConfig } from '../forgeConfig';
import type { ForgeBranches, MadeCommit, Publish } from '../git/forgeBranches';
import { ForgeRemote, type PushedRef, remoteNames, trackingRef } from '../git/forgeRemote';
import { type ForgeView, readForge } from './forgeView';
import { ANYWHERE } from '../git/gitObjects';
import { type BranchProblem, type RefusedFiles, inTheWay, shortName } from './branchProblems';
import { type Integration, integrate } from './merger';

/** A change of hooks and ledger: made of what they are, and given to `publish`. May be called anew where another machine was quicker. */
export type ForgeChange<T> = (view: ForgeView, publish: Publish) => Promise<T>;

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
type Attempt = (integration: Integration, tips: Tips) => Promise<{ readonly refused: string | undefined }>;

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
  private problem: AtlasError | undefined;

  constructor(private readonly branches: ForgeBranches) {}

  /** Why the last change is not with the remote yet; `undefined` where it is, or where there is none. */
  get unshared(): AtlasError | undefined {
    return this.problem;
  }

  /** The name of the remote that claims are decided by; `undefined` where the repository's workers are its own. */
  async remoteName(): Promise<Result<string | undefined>> {
    return attempt(async () => this.sharedWith(await this.config()));
  }

  private async config(): Promise<ForgeConfig> {
    return readForgeConfig(this.branches.ports.files, this.branches.forge);
  }

  private async sharedWith({ remote }: ForgeConfig): Promise<string | undefined> {
    if (remote === false) return undefined;
    if (remote !== undefined) return this.checkedName(remote);
    const tracked = await this.branches.objects.branches(['refs/remotes/']);
    const names = [...tracked.keys()].flatMap((ref) => /^refs\/remotes\/(.+)\/forge\/ledger$/u.exec(ref)?.[1] ?? []);
    if (names.length < 2) return names[0];
    throw new AtlasError('invalid_config', `Workers and ledger are shared with several remotes: ${names.join(', ')}.`, {
      hint: `Choose one in ${forgeConfigPath(this.branches.forge)}, for example: remote: ${names[0] ?? 'origin'}`,
    });
  }

  async remotes(): Promise<Result<readonly string[]>> {
    return attempt(async () => remoteNames(this.branches.git));
  }

  /** A name from outside may be an option of git's, or a place that nobody set up: only the repository's remotes count. */
  private async checkedName(name: string, known?: readonly string[]): Promise<string> {
    const names = known ?? (await remoteNames(this.branches.git));
    if (names.includes(name)) return name;
    throw new AtlasError('not_found', `The repository has no remote ${JSON.stringify(name.slice(0, 100))}.`, {
      hint: names.length === 0 ? 'Add one: git remote add <name> <url>' : `Its remotes are: ${names.join(', ')}`,
    });
  }

  /** What the branches hold, to change it. Fails with `damaged` where the ledger can't be used: it would be written anew. */
  private async view(tips?: ReadonlyMap<string, string>): Promise<ForgeView> {
    const view = await readForge(this.branches, tips);
    if (view.ledgerDamage !== undefined) throw view.ledgerDamage;
    return view;
  }

  /** Makes a change of what this clone has already; the remote learns of it when it can be reached. */
  async change<T>(change: ForgeChange<T>): Promise<Result<T>> {
    return this.changeFrom(async () => this.view(), change);
  }

  /** The same, also where the ledger can't be used: the change is to repair it. */
  async repair<T>(change: ForgeChange<T>): Promise<Result<T>> {
    return this.changeFrom(async () => readForge(this.branches), change);
  }

  private async changeFrom<T>(read: () => Promise<ForgeView>, change: ForgeChange<T>): Promise<Result<T>> {
    const { forge } = this.branches;
    const changed = await attempt(async () => forge.alone(async () => change(await read(), this.publish)));
    if (!changed.ok) return changed;
    const shared = await attempt(async () => this.share());
    this.problem = shared.ok ? shared.value : shared.error;
    return changed;
  }

  private readonly publish: Publish = async (made) => this.branches.publish(made);

  /**
   * Pushes what the remote doesn't have; where it has something of others, that is taken in first. Says why it could not. A remote that
   * doesn't answer keeps nobody else waiting.
   */
  private async share(): Promise<AtlasError | undefined> {
    const remote = await this.remote();
    if (remote === undefined) return undefined;
    const ours = await this.branches.tips();
    const theirs = await this.branches.tipsOf(remote.name);
    let sent = await this.send(remote, [], { ours, theirs });
    if (sent.refused === undefined) return sent.withheld;
    await this.branches.forge.alone(async () =>
      this.untilTaken(remote, async ({ ledgerDamage }, tips) => {
        sent = await this.send(remote, [], tips, ledgerDamage);
        return sent;
      }),
    );
    return sent.withheld;
  }

  private async remote(): Promise<ForgeRemote | undefined> {
    const name = await this.sharedWith(await this.config());
    return name === undefined ? undefined : new ForgeRemote(this.branches.git, name);
  }

  /**
   * Claims something that several machines may want. With a remote it counts once that took it; where another was quicker, what was
   * made is dropped and the change is asked again. Fails with `remote_unreachable`, and nothing is claimed.
   */
  async claim<T>(change: ForgeChange<T>): Promise<Result<T>> {
    const { forge } = this.branches;
    return attempt(async () => forge.alone(async () => this.claimAlone(change)));
  }

  private async claimAlone<T>(change: ForgeChange<T>): Promise<T> {
    const remote = await this.remote();
    if (remote === undefined) return change(await this.view(), this.publish);
    this.problem = undefined;
    let changed: Result<T> | undefined;
    await this.untilTaken(remote, async ({ ledgerDamage }, tips) => {
      if (ledgerDamage !== undefined) throw notShared(remote, ledgerDamage);
      const view = await this.view(tips.ours);
      let refused: string | undefined;
      const publish: Publish = async (made) => {
        ({ refused } = await this.send(remote, made, tips));
        if (refused !== undefined) throw new AtlasError('remote_refused', refused);
      };
      changed = await attempt(async () => change(view, publish));
      return { refused };
    });
    return unwrap(changed ?? fail('remote_refused', 'The remote was not contacted.'));
  }

  /** Fetches, takes in what is new, and tries; as long as the remote refuses because another was quicker. */
  private async untilTaken(remote: ForgeRemote, attempted: Attempt): Promise<Integration> {
    let before: string | undefined;
    let refusals = 0;
    for (let tries = 0; ; tries += 1) {
      const unfetched = await remote.fetch(this.branches);
      const theirs = await this.branches.tipsOf(remote.name);
      const state = JSON.stringify([...theirs].sort());
      const taken = await integrate(this.branches, theirs);
      const integration: Integration = { ...taken, unusable: [...unfetched, ...taken.unusable] };
      const { refused } = await attempted(integration, { ours: integration.tips, theirs });
      if (refused === undefined) return integration;
      refusals = state === before ? refusals + 1 : 1;
      if (refusals >= MAX_REFUSALS || tries >= MAX_TRIES)
        throw new AtlasError('remote_refused', `The remote ${remote.name} rejected the forge/* branches: ${refused}`, {
          hint: 'Check whether its rules allow pushing branches with that name.',
        });
      before = state;
      const pause =
        (parseInt(this.branches.ports.ids.hex(4), 16) / 0xffffffff) * Math.min(MAX_PAUSE_MS, 20 * 2 ** tries);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  }

  /** Pushes all that the remote doesn't have, `made` in the place of the branches that it is for, and records what it took. */
  private async send(
    remote: ForgeRemote,
    made: readonly MadeCommit[],
    tips: Tips,
    ledgerDamage?: AtlasError,
  ): Promise<Sent> {
    this.branches.store(made);
    const unsent = unsentOf(remote, made, tips);
    const isLedger = ({ ref }: PushedRef): boolean => ref === LEDGER_BRANCH;
    const refs = ledgerDamage === undefined ? unsent.refs : unsent.refs.filter((each) => !isLedger(each));
    const withheld = ledgerDamage === undefined ? unsent.withheld : notShared(remote, ledgerDamage);
    if (refs.length > 0) {
      const { refused } = await remote.push(refs);
      if (refused !== undefined) return { refused, sent: [], withheld };
    }
    const follow = refs.map(({ ref, commit }) => ({
      ref: trackingRef(remote.name, ref),
      from: ANYWHERE,
      to: commit,
    }));
    await this.branches.settle(made, follow);
    return { refused: undefined, sent: refs.map(({ ref }) => ref), withheld };
  }

  /**
   * Brings hooks and ledger here and at a remote to the same state: takes in what others did, gives what was done here. The first time
   * it makes them shared. Fails with `remote_unreachable`, `remote_refused`, or `not_found` where there is no such remote.
   */
  async sync(name?: string): Promise<Result<SyncReport>> {
    const { forge } = this.branches;
    return attempt(async () => {
      const remote = new ForgeRemote(this.branches.git, await this.chosen(name));
      return forge.alone(async () => this.syncAlone(remote));
    });
  }

  private async syncAlone(remote: ForgeRemote): Promise<SyncReport> {
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
      ({ sent, withheld: this.problem } = done);
      return done;
    });
    const { ledger } = await readForge(this.branches, synced.tips);
    const { tasks, convoys, evidence } = ledger;
    const conflicts = [...tasks.conflicts, ...convoys.conflicts, ...evidence.conflicts];
    this.remember(remote.name);
    return {
      remote: remote.name,
      received: [...received],
      superseded,
      ledgerMerged,
      sent,
      conflicts,
      clashing: synced.clashing,
      ledgerDamage: synced.ledgerDamage,
      unusable: [...unusable.values()],
      refused: [...refusedFiles.values()],
    };
  }

  private async chosen(name: string | undefined): Promise<string> {
    if (name !== undefined) return this.checkedName(name);
    const config = await this.config();
    if (config.remote === false)
      throw new AtlasError('invalid_config', `Sharing is turned off in ${forgeConfigPath(this.branches.forge)}.`, {
        hint: 'Name a remote (atlas worker sync <remote>), or remove "remote: false" from the file.',
      });
    const shared = await this.sharedWith(config);
    if (shared !== undefined) return shared;
    const names = await remoteNames(this.branches.git);
    const [only, ...more] = names;
    return only !== undefined && more.length === 0 ? only : this.checkedName('origin', names);
  }

  /** Says in the settings by which remote it is shared, where they say nothing yet. */
  private remember(name: string): void {
    const { forge, ports } = this.branches;
    const { files } = ports;
    const path = forgeConfigPath(forge);
    if (files.stat(path) !== undefined) return;
    forge.prepare(forge.path);
    ensureFolder(files, forge.path);
    const text = `# The remote that decides who has claimed a task; where nothing is to be shared: false, without quotes.\nremote: ${JSON.stringify(name)}\n`;
    files.write(path, text, { exclusive: true });
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
