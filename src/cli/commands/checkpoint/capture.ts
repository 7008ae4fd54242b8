import { AgentSessions } from '../../../agents/lifecycle/agentSessions';
import type { StoredTask } from '../../../core/task/storedTask';
import { repositoryOf } from '../../../service/checkpoints/worktreeState';
import type { OpenAtlas } from '../../../service/createAtlas';
import { POINT_EVENTS, captureFor } from '../../../service/snapshots/backgroundCaptures';
import type { Handler } from '../../parse/commandLine';
import { EXIT } from '../../render/output';
import { taskData, taskToShow } from '../task/taskAnswer';
import type { AnswerData } from '../schemas';

/** Notes the files that an agent's session begins with: what it stops with is compared with them. */
async function noteTree({ ports }: OpenAtlas, { ref, task }: StoredTask, session: string): Promise<void> {
  const repository = await repositoryOf(ports, task);
  if (repository === undefined) return;
  const tree = await ports.git.workingTree(repository, ports.paths.trees(ref.workspace));
  if (tree.ok) new AgentSessions(ports).noteTree(session, tree.value);
}

/** `checkpoint capture`: what other commands start and don't wait for. */
export const capture: Handler = async (context, call) => {
  const { stored } = await taskToShow(context, call);
  const atlas = await context.atlas();
  const point = POINT_EVENTS.find((each) => each === call.text('point'));
  const session = call.text('session');
  if (session !== undefined) await noteTree(atlas, stored, session);
  const name = call.text('before');
  const before = name === undefined ? {} : { before: { name, until: Number(call.text('until') ?? '0') } };
  await captureFor(atlas, stored.ref, {
    ...{ checkpoints: call.rest, ...before },
    ...(point === undefined ? {} : { point }),
  });
  const { files } = await atlas.snapshots();
  const captured = files.list(stored).filter(({ id, entry }) => call.rest.includes(id) && entry?.status === 'taken');
  const data: AnswerData<'checkpoint capture'> = {
    task: taskData(atlas, stored),
    captured: captured.map(({ id }) => id),
  };
  return { exit: EXIT.done, text: '', data };
};
