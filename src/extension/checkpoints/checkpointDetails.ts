import * as vscode from 'vscode';
import { type AtlasError, fail, ok } from '../../core/shared/errors';
import { sizeText } from '../../core/shared/text';
import type { FileSnapshot, StepCheckpoint } from '../../core/task/taskRecord';
import type { StoredTask } from '../../core/task/storedTask';
import type { DetailsSubject } from '../../protocol/detailsPanel';
import type { Details, DetailsFile, DetailsSource, DetailsSources } from '../details/detailsSource';
import { changesOf } from '../shared/panel';
import { taskPanelTexts } from '../tasks/panel/taskPanelTexts';

type Subject = Extract<DetailsSubject, { kind: 'checkpoint' }>;

/** What the panel of a checkpoint shows. */
export function checkpointSource(subject: Subject, { session }: DetailsSources): DetailsSource {
  const ref = { workspace: subject.workspace, id: subject.id };
  return {
    changes: changesOf(ref, session),
    read: () => {
      const read = session.atlas.catalog.read(ref);
      if (!read.ok) return Promise.resolve(read);
      const found = read.value.hook.checkpoints.find(({ checkpoint_id: id }) => id === subject.checkpoint);
      return Promise.resolve(found === undefined ? removed(subject.checkpoint) : ok(detailsOf(read.value, found)));
    },
  };
}

/** What is said of a checkpoint that is no longer kept. */
export function removed(id: string): { readonly ok: false; readonly error: AtlasError } {
  return fail('not_found', vscode.l10n.t('Checkpoint {0} was already removed.', id), {
    hint: vscode.l10n.t("The task's journal still has it."),
  });
}

function detailsOf(stored: StoredTask, checkpoint: StepCheckpoint): Details {
  const { ref, task, hook } = stored;
  const kind = taskPanelTexts().markKind(checkpoint.trigger);
  const title = checkpoint.description === '' ? kind : checkpoint.description;
  const argument = { kind: 'checkpoint', ref, id: checkpoint.checkpoint_id };
  const files = (checkpoint.files_snapshot ?? []).map((file) => fileOf(file, argument));
  const step = vscode.l10n.t('{0} ({1} of {2})', checkpoint.step_name, checkpoint.step_index + 1, task.steps.length);
  const isRepeated = checkpoint.attempt !== undefined && checkpoint.attempt > 1;
  const compare = {
    label: vscode.l10n.t('Compare with Current Files…'),
    rank: 'primary' as const,
    command: 'atlas.compareCheckpointWithNow',
    argument,
  };
  const openTask = {
    label: vscode.l10n.t('Open HOOK.md'),
    rank: 'secondary' as const,
    command: 'atlas.openHookMd',
    argument: { kind: 'task', ref },
  };
  const isLast = hook.checkpoints.at(-1)?.checkpoint_id === checkpoint.checkpoint_id;
  return {
    tab: vscode.l10n.t('Checkpoint: {0}', title),
    kindLabel: checkpoint.trigger === 'manual' ? kind : vscode.l10n.t('Checkpoint · {0}', kind),
    title,
    ...(isLast && { standing: { label: vscode.l10n.t('Latest'), look: 'good' as const } }),
    at: checkpoint.created_at,
    notices: [],
    actions: files.length > 0 && vscode.workspace.isTrusted ? [compare, openTask] : [openTask],
    facts: [
      { label: vscode.l10n.t('Task'), text: task.description },
      {
        label: vscode.l10n.t('Step'),
        text: isRepeated ? vscode.l10n.t('{0}, attempt {1}', step, checkpoint.attempt ?? 1) : step,
      },
      { label: vscode.l10n.t('Recorded'), text: '', at: checkpoint.created_at },
      ...gitFacts(checkpoint),
      ...artifactFacts(checkpoint),
      { label: vscode.l10n.t('Checkpoint ID'), text: checkpoint.checkpoint_id },
    ],
    texts: [],
    files: {
      heading: vscode.l10n.t('Files'),
      summary: summaryOf(files.length),
      rows: files,
    },
  };
}

function gitFacts({ git_branch: branch, git_commit: commit, git_dirty: dirty }: StepCheckpoint): Details['facts'] {
  if (branch === '' && commit === undefined) return [];
  const state =
    dirty === undefined
      ? undefined
      : dirty
        ? vscode.l10n.t('with uncommitted changes')
        : vscode.l10n.t('without uncommitted changes');
  const text = [branch, commit?.slice(0, 10), state].filter((part) => part !== undefined && part !== '').join(' · ');
  return [{ label: vscode.l10n.t('Branch'), text }];
}

function artifactFacts({ artifacts = [] }: StepCheckpoint): Details['facts'] {
  return artifacts.length === 0 ? [] : [{ label: vscode.l10n.t('Artifacts'), text: artifacts.join(', ') }];
}

function summaryOf(count: number): string {
  if (count === 0) return vscode.l10n.t('The checkpoint recorded no files.');
  return count === 1
    ? vscode.l10n.t('1 file had been touched. Select it to compare it with the current one.')
    : vscode.l10n.t('{0} files had been touched. Select one to compare it with the current one.', count);
}

function fileOf({ path, size, exists }: FileSnapshot, argument: object): DetailsFile {
  const detail = exists ? sizeText(size) : vscode.l10n.t('deleted');
  if (!vscode.workspace.isTrusted) return { path, detail };
  return {
    path,
    detail,
    open: async () => {
      await vscode.commands.executeCommand('atlas.compareCheckpointWithNow', { ...argument, path });
    },
  };
}
