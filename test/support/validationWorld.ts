import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../src/core/errors';
import type { Result } from '../../src/core/errors';
import type { Hook } from '../../src/core/hook';
import type { ReceiptReport } from '../../src/core/receipt';
import { Atlas } from '../../src/service/atlas';
import { type ServicePorts, silentLog, systemPorts } from '../../src/service/ports';
import type { Validate, Validated } from '../../src/service/validationService';
import type { TaskRef } from '../../src/storage/paths';
import type { StoredTask } from '../../src/storage/stored';
import { type GitWorkspace, makeGitWorkspace } from './gitWorkspace';

/** A repository and a store in which validations run for real. */
export interface ValidationWorld {
  readonly workspace: GitWorkspace;
  readonly atlas: Atlas;
  /** Another instance on the same store, as another process would have. */
  other(ports?: Partial<ServicePorts>): Atlas;
  /** Starts a task whose first step is decided by these commands, and that step. */
  running(commands: readonly string[], config?: string): Promise<TaskRef>;
  /** Validates the current step. */
  validate(ref: TaskRef, options?: Partial<Validate>): Promise<Result<Validated>>;
  stored(ref: TaskRef): StoredTask;
  /** What verification says of each receipt, as a process says that has seen nothing before. */
  reports(ref: TaskRef): Promise<ReceiptReport[]>;
  /** Changes hook.json as something other than Atlas would. */
  edit(ref: TaskRef, change: (hook: Hook) => void): void;
  markdown(ref: TaskRef): string;
  dispose(): void;
}

function templateOf(commands: readonly string[]): string {
  const validation = commands.length === 0 ? '' : `\n    validation: ${JSON.stringify(commands)}`;
  return `id: checked
description: One step with commands
steps:
  - name: build
    type: ai${validation}
  - name: after
    type: ai
`;
}

/** Makes a repository with a store beside it. */
export async function makeValidationWorld(): Promise<ValidationWorld> {
  const workspace = await makeGitWorkspace();
  const other = (more: Partial<ServicePorts> = {}): Atlas =>
    new Atlas({ ...systemPorts(workspace.atlasHome, '0.0.0', silentLog), ...more });
  const atlas = other();
  const stored = (ref: TaskRef): StoredTask => unwrap(atlas.catalog.read(ref));
  return {
    workspace,
    atlas,
    other,
    stored,
    running: async (commands, config = '') => {
      const templates = path.join(workspace.folder, '.atlas', 'templates');
      mkdirSync(templates, { recursive: true });
      writeFileSync(path.join(templates, 'checked.yaml'), templateOf(commands));
      if (config !== '') writeFileSync(atlas.ports.paths.config, config);
      await workspace.git('add', '.');
      await workspace.git('commit', '--quiet', '--allow-empty', '--message', 'template');
      const started = await atlas.startTask({ title: 'Checked', template: 'checked', folder: workspace.folder });
      const { ref } = unwrap(started);
      unwrap(await atlas.startStep(ref));
      return ref;
    },
    validate: async (ref, options = {}) =>
      atlas.validate(ref, { signal: new AbortController().signal, caller: 'human', ...options }),
    reports: async (ref) => {
      const receipts = await other().receipts();
      return [...unwrap(await receipts.reports(stored(ref))).values()];
    },
    edit: (ref, change) => {
      const file = atlas.ports.paths.hook(ref);
      const hook = JSON.parse(readFileSync(file, 'utf8')) as Hook;
      change(hook);
      writeFileSync(file, `${JSON.stringify(hook, null, 2)}\n`);
    },
    markdown: (ref) => readFileSync(atlas.ports.paths.markdown(ref), 'utf8'),
    dispose: () => {
      workspace.dispose();
    },
  };
}
