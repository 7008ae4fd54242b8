import { join } from 'node:path';
import * as z from 'zod/mini';
import { embedded, section } from '../../core/shared/agentText';
import { flat } from '../../core/hookMarkdown/escape';
import { provesPass } from '../../core/receipt/receiptReport';
import { count } from '../../core/shared/text';
import { commandsOf } from '../../core/task/task';
import { alignTask } from '../../core/task/taskAlignment';
import type { StoredTask } from '../../core/task/storedTask';
import { CommandTrust } from '../../service/tasks/commandTrust';
import { adviceOf } from '../../service/tasks/advice';
import { repositoryOf } from '../../service/checkpoints/worktreeState';
import { SessionOwners } from '../../store/sessions/sessionOwners';
import { sha256 } from '../../store/task/recordFile';
import { ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { readJson } from '../../system/files/readJson';
import type { Reaction } from '../hosts/hostReply';
import { AgentSessions } from './agentSessions';
import type { LifecycleContext } from './lifecycleContext';

/** So often in a row a session is kept at the same files: some hosts would let a hook keep it for ever. */
const MAX_BLOCKS = 3;
const MAX_BYTES = 4096;

const toldSchema = z.looseObject({ tree: z.string(), blocks: z.int().check(z.gte(0)) });

/** What is known of a session that stops on a step with checks. */
interface Stopping {
  readonly task: StoredTask;
  readonly sessionId: string;
  readonly step: string;
  /** The step's declared commands. */
  readonly commands: readonly string[];
  /** The tree that the session began with. */
  readonly began: string;
}

/**
 * Keeps an agent that stops while the files it changed have no passing receipt for each of the step's checks, and names the
 * one command to run. `undefined` where there is nothing to keep it for; whatever can't be told lets it go. A courtesy: it
 * holds nobody who doesn't want to be held.
 */
export async function doneGate(occasion: LifecycleContext): Promise<Reaction | undefined> {
  try {
    const stopping = await stoppingOf(occasion);
    if (stopping === undefined) return undefined;
    const { task } = stopping;
    const { ports } = occasion.atlas;
    const repository = await repositoryOf(ports, task.task);
    if (repository === undefined) return undefined;
    // Both ask git, which takes longer than all the rest.
    const [now, unknown] = await Promise.all([
      ports.git.workingTree(repository, ports.paths.trees(task.ref.workspace)),
      new CommandTrust(ports).unknown(task.task, stopping.commands),
    ]);
    if (!now.ok || now.value === stopping.began || unknown.length > 0) return undefined;
    const uncovered = await uncoveredOf(occasion, stopping, now.value);
    return uncovered.length === 0 ? undefined : await keep(occasion, stopping, now.value, uncovered);
  } catch (error) {
    occasion.problem('The receipts could not be looked at, so the agent may stop', error);
    return undefined;
  }
}

/** The cheapest questions first: most sessions that stop are not bound to a task at all. */
async function stoppingOf(occasion: LifecycleContext): Promise<Stopping | undefined> {
  const { atlas, called, check } = occasion;
  const { sessionId, isPlanning, hasBackgroundWork, isSubagent } = called.input;
  if (check !== undefined || sessionId === undefined || called.env['ATLAS_STOP_GATE'] === '0') return undefined;
  if (isPlanning === true || hasBackgroundWork === true || isSubagent === true) return undefined;
  const { task } = await occasion.task();
  const step = task?.hook.current_step;
  if (task?.hook.state !== 'step_running' || step === undefined) return undefined;
  if (!new SessionOwners(atlas.ports).boundTo(task.ref, step).includes(sessionId)) return undefined;
  const planned = alignTask(task.task, task.hook).steps[step.step_index];
  const commands = planned === undefined ? [] : commandsOf(planned);
  const began = new AgentSessions(atlas.ports).treeOf(sessionId);
  if (commands.length === 0 || began === undefined) return undefined;
  const { config } = await atlas.configs.forTask(task.task);
  return !config.gate.enabled ? undefined : { task, sessionId, step: step.step_name, commands, began };
}

/** The commands that no valid receipt shows to pass on these files. */
async function uncoveredOf(
  { atlas }: LifecycleContext,
  { task, commands }: Stopping,
  tree: string,
): Promise<readonly string[]> {
  const { receipts } = task.hook;
  // Nothing has to be verified where nothing ran.
  const mayCover = receipts.filter(({ command, exit_code: code }) => commands.includes(command) && code === 0);
  if (mayCover.length === 0) return commands;
  // A hook's own file has nothing that verifies.
  const reports = await (await (await atlas.drive()).receipts()).reports(task);
  if (!reports.ok) throw reports.error;
  const covered = new Set(
    mayCover
      .filter((receipt) => {
        const report = reports.value.get(receipt.receipt_id);
        const { before, after } = report?.statement?.predicate.tree ?? {};
        return provesPass(report, receipt) && before === tree && after === tree;
      })
      .map(({ command }) => command),
  );
  return commands.filter((command) => !covered.has(command));
}

/** Keeps the agent, unless it was told often enough. What it is told is written down first, else it isn't kept. */
async function keep(
  occasion: LifecycleContext,
  stopping: Stopping,
  tree: string,
  uncovered: readonly string[],
): Promise<Reaction | undefined> {
  const { files, ids } = occasion.atlas.ports;
  const workspace = await occasion.workspaceFolder(false);
  if (workspace === undefined) return undefined;
  const folder = join(workspace, 'stop-gate');
  const path = join(folder, `${sha256(`checks ${stopping.sessionId}`).slice(0, 16)}.json`);
  const isThere = files.stat(path) !== undefined;
  const before = isThere ? readJson(files, path, MAX_BYTES, toldSchema) : undefined;
  // What can't be read may have been told often enough.
  if (isThere && before === undefined) return undefined;
  const blocks = before?.tree === tree ? before.blocks : 0;
  if (blocks >= MAX_BLOCKS)
    return {
      text: `${lack(stopping, uncovered)} You may stop anyway: you were reminded ${count(blocks, 'time')}.`,
      blocks: false,
    };
  ensureFolder(files, folder);
  replaceFile(files, ids, path, `${JSON.stringify({ tree, blocks: blocks + 1 })}\n`, { durable: false });
  const { command } = adviceOf(occasion.atlas.ports, stopping.task);
  const text = `${lack(stopping, uncovered)}\nRun this before you stop: ${command ?? 'atlas validate'}`;
  return { text: section('task-instruction', embedded(text)), blocks: true };
}

function lack({ step }: Stopping, uncovered: readonly string[]): string {
  const names = uncovered
    .map((command) => `"${flat(command, 200)}"`)
    .slice(0, 5)
    .join(', ');
  const more = uncovered.length > 5 ? ` and ${uncovered.length - 5} more` : '';
  return `The files have changed, and no receipt shows that ${names}${more} ${uncovered.length === 1 ? 'passes' : 'pass'} on them as they are now. Step ${flat(step, 64)} can't be completed without.`;
}
