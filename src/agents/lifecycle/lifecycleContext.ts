import { isAbsolute } from 'node:path';
import { messageOf, unwrap } from '../../core/shared/errors';
import { resolveTask } from '../../core/task/resolveTask';
import { isTerminal } from '../../core/task/taskRecord';
import { oneLine } from '../../core/shared/text';
import type { Place } from '../../service/atlasReader';
import type { OpenAtlas } from '../../service/createAtlas';
import type { ObservedSession } from '../../service/sessions/sessionService';
import { chooseTask } from '../../service/tasks/taskChoice';
import type { StoredTask } from '../../core/task/storedTask';
import type { HostInput } from '../hosts/hostInput';
import { type LifecycleEvent } from '../hosts/hosts';
import type { InboxItem } from '../../core/inbox/inbox';
import { type MemoryPlace, localDate, memoryPlace } from './memory';
import { Prompts, type SessionKind, sessionKind } from './prompts';

/** What `atlas lifecycle <event>` was called with. */
export interface Called {
  readonly event: LifecycleEvent;
  readonly input: HostInput;
  /** The same as the host wrote it. */
  readonly written: string;
  readonly env: NodeJS.ProcessEnv;
  /** The folder that the command was started in. */
  readonly folder: string;
}

/** Names the trial of a hook in its environment: it is answered as ever, and changes nothing but the log. */
export const CHECK_VARIABLE = 'ATLAS_HOOK_CHECK';

/** What is left in an inbox. */
interface InboxSummary {
  /** The items in `processing`. */
  readonly active: readonly InboxItem[];
  readonly pending: number;
}

/** The task that an agent works on, as far as can be told. */
export interface FoundTask {
  readonly task: StoredTask | undefined;
  /** For the agent: that there was something to choose. */
  readonly note?: string;
}

/** An event with all that is looked up for it, each when it is first asked for. What goes wrong on the way is collected. */
export class LifecycleContext {
  readonly problems: string[] = [];
  readonly kind: SessionKind;
  /** The name of the trial that this is. */
  readonly check: string | undefined;
  /** The sessions that are observed, the calling one apart; `undefined` where sessions aren't observed. */
  session: { readonly others: readonly ObservedSession[] } | undefined;
  private place: Promise<Place> | undefined;
  private found: Promise<FoundTask> | undefined;

  constructor(
    readonly atlas: OpenAtlas,
    readonly called: Called,
  ) {
    this.kind = sessionKind(called.env);
    const check = called.env[CHECK_VARIABLE] ?? '';
    this.check = /^[\w-]{1,64}$/u.test(check) ? check : undefined;
  }

  get now(): number {
    return this.atlas.ports.clock.now();
  }

  /** `YYYY-MM-DD` where the agent is. */
  get today(): string {
    return localDate(this.now);
  }

  /** Adds to what went wrong; nothing of it keeps the agent from anything. */
  problem(what: string, thrown?: unknown): void {
    const why = thrown === undefined ? '' : `: ${messageOf(thrown)}`;
    this.problems.push(oneLine(`${what}${why}`, 500));
  }

  /** The repository and workspace of the folder in which the agent works: the host's word, if there is such a folder. */
  async where(): Promise<Place> {
    return (this.place ??= this.atlas.locate(this.folder()));
  }

  folder(): string {
    const { folder, input } = this.called;
    const said = input.folder;
    if (said === undefined || !isAbsolute(said)) return folder;
    const { files } = this.atlas.ports;
    try {
      return files.stat(files.realPath(said))?.kind === 'folder' ? said : folder;
    } catch {
      return folder;
    }
  }

  /** Where the workspace's files lie; with `make`, one is made for a folder that has none yet. */
  async workspaceFolder(make: boolean): Promise<string | undefined> {
    const { workspace, repository, worktree } = await this.where();
    const { workspaces, ports } = this.atlas;
    if (workspace !== undefined) return ports.paths.workspace(workspace);
    if (!make) return undefined;
    const branch = repository === undefined ? undefined : ports.git.head(repository).branch;
    const made = workspaces.ensure(repository?.main ?? worktree, branch);
    if (made.ok) return ports.paths.workspace(made.value);
    this.problem(made.error.message);
    return undefined;
  }

  /** What is left in the inbox of the workspace; `undefined` where there is no workspace yet. Throws where it can't be read. */
  async inbox(): Promise<InboxSummary | undefined> {
    const { workspace } = await this.where();
    if (workspace === undefined) return undefined;
    const { open } = unwrap((await this.atlas.inbox()).list(workspace, { finished: 0 }));
    const active = open.filter(({ status }) => status === 'processing');
    return { active, pending: open.length - active.length };
  }

  /** The open task that the agent works on: what `ATLAS_TASK` names, else that of its workspace. */
  async task(): Promise<FoundTask> {
    return (this.found ??= this.find());
  }

  private async find(): Promise<FoundTask> {
    try {
      const surrounding = this.called.env['ATLAS_TASK'] ?? '';
      const named = surrounding === '' ? undefined : await this.named(surrounding);
      return named ?? (await this.ofWorkspace());
    } catch (error) {
      this.problem('The task could not be read', error);
      return { task: undefined };
    }
  }

  private async named(surrounding: string): Promise<FoundTask | undefined> {
    const chosen = await chooseTask(this.atlas, { surrounding, folder: this.folder() }, 'read');
    const read = chosen.ok ? this.atlas.catalog.read(chosen.value.ref) : chosen;
    if (read.ok) return isTerminal(read.value.hook.state) ? undefined : { task: read.value };
    this.problem(read.error.message);
    return undefined;
  }

  private async ofWorkspace(): Promise<FoundTask> {
    const { workspace } = await this.where();
    if (workspace === undefined) return { task: undefined };
    const { catalog } = this.atlas;
    for (const ref of catalog.open(workspace)) {
      const read = catalog.read(ref);
      if (!read.ok) this.problem(`${read.error.message} ${read.error.hint ?? ''}`);
    }
    const open = catalog.openTasks(workspace);
    const choice = resolveTask(open, { among: 'urgent' });
    if (choice.kind !== 'one') return { task: undefined };
    const { task } = choice;
    if (choice.why === 'only') return { task };
    const others = open.flatMap(({ ref }) => (ref.id === task.ref.id ? [] : [ref.id]));
    const shown = others.slice(0, 5).join(', ');
    return { task, note: `${open.length} tasks are open here. This is ${task.ref.id}. Also open: ${shown}.` };
  }

  async memory(): Promise<MemoryPlace> {
    const [{ worktree }, { config }] = await Promise.all([this.where(), this.atlas.configs.forWorktree(undefined)]);
    return memoryPlace(worktree, config.memoryFolder);
  }

  /** The prompts, with what their placeholders stand for. */
  async prompts(): Promise<Prompts> {
    const [{ worktree }, { task }, { shown }] = await Promise.all([this.where(), this.task(), this.memory()]);
    const named = task === undefined ? 'none' : `${task.ref.id} (${oneLine(task.task.description, 120)})`;
    const values = { today: this.today, task: named, channel: this.kind.channel };
    return new Prompts(this.atlas.ports.files, worktree, this.kind, values, shown, (why) => this.problem(why));
  }
}
