import { defined } from '../../../core/shared/defined';
import { AtlasError, type Result, ok } from '../../../core/shared/errors';
import { type GitSource, isAutomaticEnabled } from '../../../core/checkpoint/checkpoint';
import { CHECKPOINT_TRIGGERS, type CheckpointTrigger, isTerminal } from '../../../core/task/taskRecord';
import { repositoryOf } from '../../../service/checkpoints/worktreeState';
import type { Updated } from '../../../core/task/storedTask';
import type { Handler } from '../../parse/commandLine';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData } from '../schemas';
import { roughAge, toMs } from '../../../core/shared/time';
import { checkpointData } from '../task/status';
import { table } from '../../render/table';
import { type Driven, changed, expectedOf, taken, taskData, taskToDrive, taskToShow } from '../task/taskAnswer';

/** `checkpoint`: records how far the work is. With `--auto`, nothing to do is success, and silent. */
export const checkpoint: Handler = async (context, call) => {
  const auto = call.flag('auto');
  const driven = await taskToDrive(context, call, expectedOf(call), auto ? 'work' : 'progress').catch(
    (error: unknown) => {
      if (auto && error instanceof AtlasError && error.code === 'not_found') return undefined;
      throw error;
    },
  );
  if (driven === undefined) return NOTHING;
  const { atlas, stored } = driven;
  const trigger = CHECKPOINT_TRIGGERS.find((each) => each === call.text('trigger')) ?? 'manual';
  if (auto) {
    const { config } = await atlas.configs.forTask(stored.task);
    const nothing = isTerminal(stored.hook.state) || stored.hook.current_step === undefined;
    if (nothing || !isAutomaticEnabled(trigger, config)) return NOTHING;
  }
  const made = taken(context, driven, await make(driven, trigger, call.operands[0] ?? '', call.text('next')));
  if (auto && !made.changed) return NOTHING;
  const id = made.changed ? made.hook.checkpoints.at(-1)?.checkpoint_id : undefined;
  const what = id === undefined ? 'This checkpoint is already recorded.' : `Recorded checkpoint ${id}.`;
  const answer = await changed(context, driven, made, what, { checkpoint_id: id ?? null });
  return auto ? { ...answer, text: '' } : answer;
};

const NOTHING: Answer = {
  exit: EXIT.done,
  text: '',
  data: { task: null, changed: false, next: '', next_command: null, checkpoint_id: null },
};

/** A commit or push that git's reflog tells of is taken from there, so that it makes one checkpoint however many see it. */
async function make(
  { atlas, stored, expect }: Driven,
  trigger: CheckpointTrigger,
  description: string,
  next: string | undefined,
): Promise<Result<Updated>> {
  const plain = async (): Promise<Result<Updated>> =>
    atlas.checkpoint(stored.ref, description, { trigger, expect, ...defined({ next }) });
  if (trigger !== 'git_commit' && trigger !== 'git_push') return plain();
  const repository = await repositoryOf(atlas.ports, stored.task);
  if (repository === undefined) return plain();
  const scanned = await (await atlas.git()).scan(repository);
  if (!scanned.ok) return scanned;
  const now = atlas.catalog.read(stored.ref);
  if (!now.ok) return now;
  if (scanned.value.length > 0 && now.value.hook.checkpoints.length > stored.hook.checkpoints.length) {
    return ok({ ...now.value, changed: true, findings: [] });
  }
  const { commit } = atlas.ports.git.head(repository);
  if (commit === undefined || trigger === 'git_push') return plain();
  const source: GitSource = { repository: repository.commonDir, commit };
  return atlas.send(stored.ref, { type: 'checkpoint', trigger, description, source, expect }, { patient: true });
}

/** `hook checkpoints`: all checkpoints of a task, with their triggers. */
export const checkpoints: Handler = async (context, call) => {
  const { stored, notes } = await taskToShow(context, call);
  const atlas = await context.atlas();
  const items = stored.hook.checkpoints.map(checkpointData);
  const now = atlas.ports.clock.now();
  const text = table(
    ['CHECKPOINT', 'TIME', 'TRIGGER', { flexible: 'STEP' }, { flexible: 'DESCRIPTION' }],
    items.map((item) => [
      item.checkpoint_id,
      roughAge(toMs(item.created_at), now),
      item.trigger,
      item.step_name,
      item.description,
    ]),
    context.streams.columns,
  );
  const data: AnswerData<'hook checkpoints'> = { task: taskData(atlas, stored), checkpoints: items };
  return { exit: EXIT.done, text: items.length === 0 ? 'No checkpoints yet.\n' : text, wanted: true, data, notes };
};
