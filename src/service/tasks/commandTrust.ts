import { type Task, worktreeOf } from '../../core/task/task';
import { firstCommitOf, hasCommit } from '../../git/read/firstCommit';
import { TrustFile, type TrustedPlace } from '../../store/workspace/trustFile';
import { repositoryOf } from '../checkpoints/worktreeState';
import type { ServicePorts } from '../ports';

/**
 * Which commands a human has allowed agents to run. That belongs to the repository, known by its path and a root commit:
 * neither another one that gets its name, nor one that is put in its place.
 */
export class CommandTrust {
  private readonly file: TrustFile;

  constructor(private readonly ports: ServicePorts) {
    this.file = new TrustFile(ports);
  }

  /** Those of some commands of a task that no human has allowed yet. */
  async unknown(task: Task, commands: readonly string[]): Promise<string[]> {
    const path = await this.pathOf(task);
    if (path === undefined || !(await this.isSame(task, path))) return [...commands];
    return this.file.unknown(path, commands);
  }

  /** Remembers that a human allowed these. Throws where that can't be written. */
  async allow(task: Task, commands: readonly string[]): Promise<void> {
    const path = await this.pathOf(task);
    if (path === undefined || commands.length === 0) return;
    const isSame = await this.isSame(task, path);
    if (isSame && this.file.unknown(path, commands).length === 0) return;
    this.file.allow(await this.placeOf(task, path), commands, isSame);
  }

  private async pathOf(task: Task): Promise<string | undefined> {
    return (await repositoryOf(this.ports, task))?.main ?? worktreeOf(task);
  }

  private async placeOf(task: Task, path: string): Promise<TrustedPlace> {
    const repository = await repositoryOf(this.ports, task);
    const firstCommit = repository === undefined ? undefined : await firstCommitOf(repository);
    return { path, firstCommit };
  }

  /** A root commit never leaves a repository, so one that lacks it is another. */
  private async isSame(task: Task, path: string): Promise<boolean> {
    const known = this.file.firstCommit(path);
    if (known === undefined) return true;
    const repository = await repositoryOf(this.ports, task);
    return repository !== undefined && hasCommit(repository, known);
  }
}
