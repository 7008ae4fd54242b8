import * as vscode from 'vscode';
import { synopsis } from '../../../core/hookMarkdown/hookMarkdown';
import { AtlasError, type Result, fail, messageOf, ok } from '../../../core/shared/errors';
import { failedChecks } from '../../../core/task/acceptedFailure';
import { worktreeOf } from '../../../core/task/task';
import type { TaskRecord } from '../../../core/task/taskRecord';
import type { TaskRef } from '../../../core/task/taskRef';
import { type TaskPanelRequest, type ToTaskPanel, fromTaskPanelSchema } from '../../../protocol/taskPanel';
import { insideWorktree } from '../../../system/files/worktreePath';
import {
  type Filling,
  NOT_SHOWN,
  Panel,
  type PanelHost,
  type PanelKind,
  Panels,
  changesOf,
  ofTasks,
  tabTitle,
} from '../../shared/panel';
import { lastLinesOf } from '../../receipts/keptOutput';
import type { Verdicts } from '../../receipts/verdicts';
import type { WindowTasks } from '../../windowTasks';
import { filesText, listFiles } from '../tree/rows';
import { ChangedFilesWatch } from './changedFiles';
import { lastRuns } from './checks';
import { type TaskPanelData, taskPanelModel } from './taskPanelModel';

const KIND: PanelKind<TaskPanelRequest> = { page: 'taskPanel', name: 'HOOK.md', messages: fromTaskPanelSchema };
const MAX_MARKDOWN_BYTES = 4 * 1024 * 1024;
/** Of what a failed check printed, so many of the last lines are kept at hand. */
const OUTPUT_LINES = 20;

/** All open task panels. */
export type TaskPanels = Panels<TaskRef, TaskPanel>;

/** Makes the keeper of the task panels. */
export function taskPanels(viewType: string, host: PanelHost, session: WindowTasks, verdicts: Verdicts): TaskPanels {
  const make = (ref: TaskRef, panel: vscode.WebviewPanel): TaskPanel =>
    new TaskPanel(ref, panel, host, session, verdicts);
  return new Panels(ofTasks(viewType, vscode.l10n.t('Atlas: HOOK.md')), make);
}

/** The panel of one task and its HOOK.md. Its buttons run the same commands as everywhere. */
class TaskPanel extends Panel<ToTaskPanel, TaskPanelRequest> {
  private data: TaskPanelData | undefined;
  private readonly changes: ChangedFilesWatch;

  constructor(
    private readonly ref: TaskRef,
    panel: vscode.WebviewPanel,
    host: PanelHost,
    private readonly session: WindowTasks,
    private readonly verdicts: Verdicts,
  ) {
    super(panel, KIND, host, changesOf(ref, session, verdicts));
    this.changes = new ChangedFilesWatch(session.atlas, ref, () => this.refresh());
    this.owns(this.changes);
    this.owns(session.onDidChangeFiles((worktree) => this.filesChanged(worktree)));
  }

  private filesChanged(worktree: string): void {
    // In an untrusted folder its files are not looked at.
    if (this.data?.untrusted === false && worktree === worktreeOf(this.data.task)) this.changes.listSoon();
  }

  protected async load(): Promise<Result<Filling<ToTaskPanel>>> {
    const data = await this.read();
    if (!data.ok) return data;
    this.data = data.value;
    // Git may take a while: the panel is shown without the changes first.
    if (data.value.untrusted === false) void this.changes.list();
    // The parser comes with the first panel: the bundler keeps that module in a file of its own.
    const { renderDocument } = await import('../../shared/markdown');
    const model = taskPanelModel(this.ref, data.value, renderDocument(data.value.markdown));
    return ok({ title: vscode.l10n.t('HOOK.md: {0}', tabTitle(model.title)), messages: [{ type: 'model', model }] });
  }

  private async read(): Promise<Result<TaskPanelData>> {
    const { atlas } = this.session;
    const read = atlas.catalog.read(this.ref);
    if (!read.ok) return read;
    const { hook, task, suspect } = read.value;
    const hookPath = atlas.ports.paths.markdown(this.ref);
    try {
      const markdown = Buffer.from(atlas.ports.files.read(hookPath, MAX_MARKDOWN_BYTES)).toString('utf8');
      return ok({
        hook,
        task,
        markdown,
        hookPath,
        files: this.changes.files,
        captured: this.captured(hook),
        outputs: await this.outputs(hook),
        said: (await import('../../../service/sessions/sessionOfTask')).lastMessageOf(atlas.ports, this.ref),
        receipts: this.verdicts.of(read.value),
        diagnosis: this.session.view(this.ref)?.diagnosis,
        validated: this.isValidated(hook),
        untrusted: !vscode.workspace.isTrusted,
        suspect,
      });
    } catch (error) {
      return fail('unreadable', vscode.l10n.t("HOOK.md can't be read: {0}", messageOf(error)), {
        hint: vscode.l10n.t('Run "Atlas: Regenerate HOOK.md".'),
      });
    }
  }

  /** What is kept of the files of checkpoints. */
  private captured(hook: TaskRecord): ReadonlyMap<string, string> {
    const listed = listFiles(this.session.atlas.ports, this.ref, hook);
    return new Map(listed.map((each) => [each.id, filesText(each)]));
  }

  private isValidated({ state, current_step: step }: TaskRecord): boolean {
    if (state !== 'step_validating' || step === undefined) return false;
    return this.session.atlas.owners.isValidated(this.ref, { stepIndex: step.step_index, attempt: step.attempt });
  }

  /** The last lines of the failed checks that are shown. */
  private async outputs(hook: TaskRecord): Promise<ReadonlyMap<string, string>> {
    const failed = [...lastRuns(hook), ...failedChecks(hook)].filter(({ exit_code: code }) => code !== 0);
    const found = new Map<string, string>();
    for (const id of new Set(failed.map(({ receipt_id: each }) => each))) {
      const lines = await lastLinesOf(this.session.atlas, this.ref, id, OUTPUT_LINES);
      if (lines !== undefined) found.set(id, lines);
    }
    return found;
  }

  protected async perform(request: TaskPanelRequest): Promise<Result<void>> {
    if (this.data === undefined) return NOT_SHOWN;
    const { ref } = this;
    switch (request.kind) {
      case 'run':
        await vscode.commands.executeCommand(`atlas.${request.action}`, {
          kind: 'task',
          ref,
          recovery: request.recovery,
        });
        break;
      case 'openLink':
        await vscode.env.openExternal(vscode.Uri.parse(request.href, true));
        break;
      case 'openFile':
        return this.openFile(this.data, request.path);
      case 'openSource':
        await vscode.window.showTextDocument(vscode.Uri.file(this.data.hookPath));
        break;
      case 'showReceipt':
        if (!this.data.hook.receipts.some((each) => each.receipt_id === request.id)) return NOT_SHOWN;
        await vscode.commands.executeCommand('atlas.verifyReceipt', { kind: 'receipt', ref, id: request.id });
        break;
      case 'showCheckpoint':
        if (!this.data.hook.checkpoints.some((each) => each.checkpoint_id === request.id)) return NOT_SHOWN;
        await vscode.commands.executeCommand('atlas.showCheckpoint', { kind: 'checkpoint', ref, id: request.id });
        break;
      case 'copy':
        await vscode.env.clipboard.writeText(copied(this.data, request.what));
    }
    return ok(undefined);
  }

  /** A webview can ask for any path; only those that it was shown are opened. */
  private async openFile({ files, task }: TaskPanelData, path: string): Promise<Result<void>> {
    if (files?.sinceStart?.some((file) => file.path === path) !== true) return NOT_SHOWN;
    const worktree = worktreeOf(task);
    const inside = worktree === undefined ? undefined : insideWorktree(worktree, path);
    if (worktree === undefined || inside === undefined) {
      return { ok: false, error: new AtlasError('unsafe_path', vscode.l10n.t("{0} isn't a file of this task.", path)) };
    }
    await vscode.window.showTextDocument(vscode.Uri.joinPath(vscode.Uri.file(worktree), inside));
    return ok(undefined);
  }
}

function copied({ hook, task, hookPath }: TaskPanelData, what: 'synopsis' | 'path'): string {
  return what === 'path' ? hookPath : synopsis(hook, task, hookPath);
}
