import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Readable } from 'node:stream';
import { expect } from 'vitest';
import { runCli } from '../../../src/cli/run';
import { unwrap } from '../../../src/core/shared/errors';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { type BuiltCli, type CliRun, type Said, printed } from './cli';
import { contentsOf } from '../fixtures/store';

/** A document that `--json` printed, with what the command exited with. */
export type Printed = Record<string, unknown> & { readonly exit: number | null };

/** A step of a template, as its file says it. */
export interface DeskStep {
  readonly name: string;
  readonly type?: string;
  readonly validation?: readonly string[];
  readonly idempotent?: boolean;
  readonly max_attempts?: number;
}

/** Every error that `atlas` said on any desk of this test file: none of them may suggest what destroys. */
export const ERRORS_SAID: string[] = [];

/** What no error may suggest: it ends a task or removes something. A command's own help may be pointed at. */
export const DESTRUCTIVE =
  /\batlas (abandon|fail|cleanup|workspace destroy)\b(?! --help)|\brm -|\bgit (reset|clean|checkout --)/u;

/** What runs other programs, is known by its process, or reads files that lie beside it. */
const OWN_PROCESS = /^(run|mcp|validate|receipts|lifecycle|worker run|worker claim)\b/u;

/** Keeps an error that was said, for {@link ERRORS_SAID}. */
function kept(said: Said): Said {
  if (said.code !== 0) ERRORS_SAID.push(said.out + said.err);
  return said;
}

/** A repository with a store of its own, in which somebody sits and types `atlas`. */
export class Desk {
  readonly folder: string;
  readonly root: string;

  constructor(
    readonly cli: BuiltCli,
    name: string,
    private readonly env: CliRun['env'] = {},
  ) {
    this.folder = cli.repository(name);
    this.root = path.join(cli.home, `store of ${name}`);
  }

  /** How `atlas` is run here. */
  how(more: CliRun = {}): CliRun {
    return { folder: this.folder, ...more, env: { ATLAS_HOME: this.root, ...this.env, ...more.env } };
  }

  /** Runs it here to its end. */
  async run(...args: readonly string[]): Promise<Said> {
    return this.runWith({}, ...args);
  }

  /**
   * As `run`, with something else around it. Being in this process takes a fifth of the time of one of its own: for what says
   * nothing of processes, beside tests that start them. Commands whose own process is an owner, or that stand in for another,
   * are started all the same.
   */
  async runWith(more: CliRun, ...args: readonly string[]): Promise<Said> {
    const { folder = this.folder, env, input = '' } = this.how(more);
    // What captures files leaves that to a process of its own.
    const isApart = OWN_PROCESS.test(args.join(' ')) || env?.['ATLAS_SNAPSHOTS'] === 'on';
    if (isApart) return this.apartWith(more, ...args);
    let [out, err] = ['', ''];
    const code = await runCli(args, {
      env: this.cli.environment(env),
      folder,
      stdin: Readable.from([input]) as unknown as NodeJS.ReadStream,
      streams: {
        out: (text) => (out += text),
        err: (text) => (err += text),
        ...{ columns: undefined, errColumns: undefined, colors: false },
      },
    });
    return kept({ code, out, err });
  }

  /** Runs it to its end in a process of its own. */
  async apart(...args: readonly string[]): Promise<Said> {
    return this.apartWith({}, ...args);
  }

  /** As `apart`, with something else around it. */
  async apartWith(more: CliRun, ...args: readonly string[]): Promise<Said> {
    return kept(await this.cli.runIn(this.how(more), ...args));
  }

  /** Runs it here, which has to succeed, and gives what it printed. */
  async ok(...args: readonly string[]): Promise<string> {
    const said = await this.run(...args);
    expect(said.code, `atlas ${args.join(' ')}\n${said.out}${said.err}`).toBe(0);
    return said.out;
  }

  /** Runs it here with `--json`, and gives the document; throws where that isn't one. */
  async json(...args: readonly string[]): Promise<Printed> {
    return printed(await this.run(...args, '--json'), args);
  }

  /** The state of the task that it is about here. */
  async state(...args: readonly string[]): Promise<string> {
    const { task } = (await this.json('status', ...args)) as unknown as { task: { state: string } };
    return task.state;
  }

  git(...args: readonly string[]): string {
    return execFileSync('git', args, { cwd: this.folder, env: this.cli.environment(), encoding: 'utf8' }).trim();
  }

  /** Writes a file of the repository. */
  write(name: string, text: string): string {
    const file = path.join(this.folder, name);
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, text);
    return file;
  }

  /** A file of the repository. */
  read(name: string): string {
    return readFileSync(path.join(this.folder, name), 'utf8');
  }

  /** Writes a template of the repository. */
  template(id: string, ...steps: readonly DeskStep[]): void {
    this.write(`.atlas/templates/${id}.yaml`, JSON.stringify({ id, steps }));
  }

  /** Writes config.yaml of the store. */
  settings(hooks: object): void {
    mkdirSync(this.root, { recursive: true });
    writeFileSync(path.join(this.root, 'config.yaml'), JSON.stringify({ hooks }));
  }

  /** The store in this process, to arrange what the command then finds; `ago` ms ago. */
  atlas(ago = 0): Atlas {
    return new Atlas({ ...systemPorts(this.root, '0.0.0', silentLog), clock: { now: () => Date.now() - ago } });
  }

  /** Arranges a task in its first step. */
  async running(template = 'task', title = 'Sample', ago = 0): Promise<TaskRef> {
    const ref = await this.started(template, title, ago);
    unwrap(await this.atlas(ago).startStep(ref));
    return ref;
  }

  /** Arranges a task whose first step isn't started. */
  async started(template = 'task', title = 'Sample', ago = 0): Promise<TaskRef> {
    const atlas = this.atlas(ago);
    const { ref } = unwrap(await atlas.startTask({ title, template, folder: this.folder }));
    return ref;
  }

  /** Where a task's files lie. */
  fileOf(ref: TaskRef, name: string): string {
    return path.join(this.root, 'workspaces', ref.workspace, 'tasks', ref.id, name);
  }

  hookMarkdown(ref: TaskRef): string {
    return readFileSync(this.fileOf(ref, 'HOOK.md'), 'utf8');
  }

  /** One digest over every file of the store. */
  digest(): string {
    const hash = createHash('sha256');
    for (const [name, content] of contentsOf(this.root)) hash.update(`${name}\0${content}\0`);
    return hash.digest('hex');
  }
}
