import type { TaskRef } from '../../../core/task/taskRef';
import * as vscode from 'vscode';
import { AtlasError, type Result, fail, messageOf, ok } from '../../../core/shared/errors';
import { worktreeOf } from '../../../core/task/task';
import { insideWorktree } from '../../../system/files/worktreePath';
import type { HookPanelCommands, HookPanelData, HookPanelSource } from './hookPanelSource';
import type { WindowTasks } from '../../windowTasks';

const MAX_MARKDOWN_BYTES = 4 * 1024 * 1024;

/** What the HOOK.md panels are made of in a window. */
export function hookPanelParts(session: WindowTasks): { source: HookPanelSource; commands: HookPanelCommands } {
  return { source: new SessionPanelSource(session), commands: new CommandPanelActions(session) };
}

/** Where the HOOK.md panels have their data from: the session's view of a task and the file itself. */
class SessionPanelSource implements HookPanelSource {
  constructor(private readonly session: WindowTasks) {}

  readonly onDidChange: HookPanelSource['onDidChange'] = (listener) => this.session.onDidChange(listener);

  async load(ref: TaskRef): Promise<Result<HookPanelData>> {
    const { atlas } = this.session;
    const read = atlas.catalog.read(ref);
    if (!read.ok) return read;
    const path = atlas.ports.paths.markdown(ref);
    try {
      const markdown = Buffer.from(atlas.ports.files.read(path, MAX_MARKDOWN_BYTES)).toString('utf8');
      // In an untrusted folder its files are not looked at either.
      const drift = vscode.workspace.isTrusted
        ? await (await atlas.drive()).recovery.drift(read.value.hook, read.value.task)
        : undefined;
      const diagnosis = this.session.view(ref)?.diagnosis;
      return ok({
        hook: read.value.hook,
        task: read.value.task,
        markdown,
        hookPath: path,
        drift,
        diagnosis,
        untrusted: !vscode.workspace.isTrusted,
        journal: read.value.suspect ? 'edited' : 'sound',
      });
    } catch (error) {
      return fail('unreadable', vscode.l10n.t("HOOK.md can't be read: {0}", messageOf(error)), {
        mend: vscode.l10n.t('Run "Atlas: Regenerate HOOK.md".'),
      });
    }
  }
}

/** What the panels' buttons do: the same commands as everywhere. */
class CommandPanelActions implements HookPanelCommands {
  constructor(private readonly session: WindowTasks) {}

  async run(...[ref, action, recovery]: Parameters<HookPanelCommands['run']>): Promise<Result<void>> {
    await vscode.commands.executeCommand(`atlas.${action}`, { kind: 'task', ref, recovery });
    return ok(undefined);
  }

  async openFile(ref: TaskRef, path: string): Promise<Result<void>> {
    const read = this.session.atlas.catalog.read(ref);
    if (!read.ok) return read;
    const worktree = worktreeOf(read.value.task);
    const inside = worktree === undefined ? undefined : insideWorktree(worktree, path);
    if (worktree === undefined || inside === undefined) {
      return { ok: false, error: new AtlasError('unsafe_path', vscode.l10n.t("{0} isn't a file of this task.", path)) };
    }
    await vscode.window.showTextDocument(vscode.Uri.joinPath(vscode.Uri.file(worktree), inside));
    return ok(undefined);
  }

  async showCheckpoint(ref: TaskRef, checkpointId: string): Promise<Result<void>> {
    await vscode.commands.executeCommand('atlas.showCheckpoint', { kind: 'checkpoint', ref, id: checkpointId });
    return ok(undefined);
  }
}
