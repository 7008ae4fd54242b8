import { basename, join } from 'node:path';
import { homedir } from 'node:os';
import { MAX_AGENT_TEXT, embedded, section } from '../../core/shared/agentText';
import type { InboxItem } from '../../core/inbox/inbox';
import { flat, pathText } from '../../core/hookMarkdown/escape';
import { type GateState, type Left, MAX_BLOCKS, decideStop } from '../../core/inbox/stopGate';
import { count, cut } from '../../core/shared/text';
import { endingAdvice } from '../../service/tasks/advice';
import { type HostName, toolOf } from '../hosts/hosts';
import { ensureFolder, replaceFile } from '../../system/files/atomicFile';
import { GateFile } from './gateFile';
import { sessionIdOf } from '../hosts/sessionId';
import { NOTHING, type Reaction } from '../hosts/hostReply';
import type { LifecycleContext } from './lifecycleContext';

/** `stop`: what is left to do, before the agent sleeps. */
export async function stop(occasion: LifecycleContext, host: HostName | undefined): Promise<Reaction> {
  const { env } = occasion.called;
  if (env['ATLAS_CLEANUP'] === '1') {
    await touchDone(occasion);
    return NOTHING;
  }
  if (occasion.kind.trigger) return NOTHING;
  if (occasion.check === undefined) await saveSession(occasion);
  const answer = await atInbox(occasion, host, env['ATLAS_STOP_GATE'] === '0');
  if (typeof answer === 'object' && answer.blocks) return answer;
  const kept = await (await import('./doneGate')).doneGate(occasion);
  if (kept?.blocks === true) return kept;
  if (typeof answer === 'object') return answer;
  const nothing = answer === 'unknown' ? '' : 'No pending tasks. ';
  const lack = kept === undefined ? '' : `${kept.text}\n`;
  return { text: `${lack}${nothing}${await reminder(occasion)}`, blocks: false };
}

async function touchDone(occasion: LifecycleContext): Promise<void> {
  try {
    const folder = await occasion.workspaceFolder(true);
    if (folder === undefined) return;
    const { files } = occasion.atlas.ports;
    const path = join(folder, '.cleanup-done');
    if (files.stat(path) === undefined) files.write(path, '');
    files.touch(path, occasion.now);
  } catch (error) {
    occasion.problem('.cleanup-done could not be updated', error);
  }
}

async function saveSession(occasion: LifecycleContext): Promise<void> {
  try {
    const id = await sessionOf(occasion);
    const { repository } = await occasion.where();
    const folder = id === undefined ? undefined : await occasion.workspaceFolder(repository !== undefined);
    if (id === undefined || folder === undefined) return;
    const { files, ids } = occasion.atlas.ports;
    ensureFolder(files, folder);
    replaceFile(files, ids, join(folder, '.last-session-id'), `${id}\n`, { durable: false });
  } catch (error) {
    occasion.problem('.last-session-id could not be written', error);
  }
}

/** The session: as the environment names it, as the host does, or that of the newest session file. */
async function sessionOf(occasion: LifecycleContext): Promise<string | undefined> {
  const { env, input } = occasion.called;
  const said = sessionIdOf(env['CLAUDE_SESSION_ID']) ?? input.sessionId;
  const named = input.transcriptPath?.replaceAll('\\', '/');
  return said ?? sessionIdOf(sessionInName(basename(named ?? ''))) ?? newestSession(occasion);
}

function sessionInName(file: string): string | undefined {
  return /^(.+)\.jsonl$/u.exec(file)?.[1];
}

/** As Claude Code keeps them: a folder per project, named after its path, a file per session. */
async function newestSession(occasion: LifecycleContext): Promise<string | undefined> {
  const { env } = occasion.called;
  const { files } = occasion.atlas.ports;
  const { worktree } = await occasion.where();
  const own = env['CLAUDE_CONFIG_DIR'] ?? '';
  const folder = join(
    own === '' ? join(homedir(), '.claude') : own,
    'projects',
    worktree.replace(/[^A-Za-z0-9]/gu, '-'),
  );
  if (files.stat(folder)?.kind !== 'folder') return undefined;
  return files
    .list(folder)
    .flatMap((name) => {
      const id = sessionIdOf(sessionInName(name));
      const stat = id === undefined ? undefined : files.stat(join(folder, name));
      return id === undefined || stat?.kind !== 'file' ? [] : [{ id, time: stat.mtimeMs }];
    })
    .sort((a, b) => b.time - a.time)[0]?.id;
}

/** What the inbox has the agent do; nobody is kept where it is empty or can't be asked. */
async function atInbox(
  occasion: LifecycleContext,
  host: HostName | undefined,
  off: boolean,
): Promise<Reaction | 'empty' | 'unknown'> {
  try {
    const inbox = await occasion.inbox();
    const items = inbox?.active ?? [];
    const left: Left = { active: items.map(({ id }) => String(id)), pending: inbox?.pending ?? 0 };
    const folder = await occasion.workspaceFolder(false);
    if (folder === undefined) return 'empty';
    const gate = new GateFile(occasion.atlas.ports, folder, await sessionOf(occasion));
    if (left.active.length === 0 && left.pending === 0) {
      if (occasion.check === undefined) gate.clear();
      return 'empty';
    }
    const keep = kept(host, left, items);
    if (occasion.check !== undefined) return keep;
    if (off) return { text: `${leftText(left)} You may stop, because ATLAS_STOP_GATE=0 is set.`, blocks: false };
    return throughGate(occasion, gate, left, keep);
  } catch (error) {
    occasion.problem('The agent queue could not be read, so the agent may stop', error);
    return 'unknown';
  }
}

/** Keeps the agent, unless it was told often enough. What it was told is written down first, else it isn't kept. */
function throughGate(occasion: LifecycleContext, gate: GateFile, left: Left, keep: Reaction): Reaction {
  const before = gate.read();
  if (before === 'damaged') {
    gate.write(spent(left));
    occasion.problem("The session's reminders are damaged, so the agent may stop");
    return letGo(left, 'it is unknown how often you were reminded');
  }
  const { block, why, next } = decideStop(before, left, occasion.called.input.stopHookActive);
  gate.write(next);
  if (block) return keep;
  return letGo(
    left,
    why === 'no_progress'
      ? `you were reminded ${count(next.blocks, 'time')}`
      : 'nothing has changed since you were reminded',
  );
}

function kept(host: HostName | undefined, { active, pending }: Left, items: readonly InboxItem[]): Reaction {
  return { text: active.length > 0 ? warning(host, items) : instruction(host, pending), blocks: true };
}

function spent({ active, pending }: Left): GateState {
  const total = active.length + pending;
  return { blocks: MAX_BLOCKS, total, pending, active, seen: active, released: true };
}

function letGo(left: Left, why: string): Reaction {
  return { text: `${leftText(left)} You may stop anyway: ${why}.`, blocks: false };
}

function leftText({ active, pending }: Left): string {
  return `${active.length} active and ${pending} pending task(s) are left in the queue.`;
}

/** Of an item; every character of it can take six in JSON. */
const MAX_CONTENT = 1000;
const MAX_ITEMS = 7800;

function warning(host: HostName | undefined, items: readonly InboxItem[]): string {
  const first = items[0]?.id;
  const id = items.length === 1 && first !== undefined ? String(first) : '<id>';
  return [
    section('active-task-warning', itemsJson(items)),
    section(
      'task-instruction',
      `You have an active task still in 'processing' status.
Complete it with ${toolOf(host, 'task_complete')}(task_id=${id}, response_summary="<result>") before stopping.
Without that tool, run: atlas inbox complete ${id} "<result>"`,
    ),
  ].join('\n');
}

/** As JSON on one line; `<` is written so that no tag can begin in it, which JSON reads as the same. */
function jsonText(value: unknown): string {
  return JSON.stringify(value).replaceAll('<', String.raw`\u003c`);
}

function itemsJson(items: readonly InboxItem[]): string {
  const shown: string[] = [];
  let size = 2;
  for (const { id, sender, content } of items) {
    const text = embedded(content);
    const short = cut(text, MAX_CONTENT);
    const item = jsonText({ id, sender: flat(sender, 200), content: short.length < text.length ? `${short}…` : short });
    size += item.length + 2;
    if (size > MAX_ITEMS) break;
    shown.push(item);
  }
  return `[${shown.join(', ')}]`;
}

function instruction(host: HostName | undefined, pending: number): string {
  return [
    section('pending-tasks', `You have ${pending} pending task(s) in the queue.`),
    section(
      'task-instruction',
      `Use ${toolOf(host, 'get_next_task')}() to pick up and process the next task.
Without that tool, run: atlas inbox next`,
    ),
  ].join('\n');
}

/** What is said when the agent sleeps; a step that runs is named with the command that ends it. */
async function reminder(occasion: LifecycleContext): Promise<string> {
  const { shown } = await occasion.memory();
  const journal = `Write a short journal entry to ${pathText(shown)}/${occasion.today}.md if you accomplished something relevant today.`;
  const { task } = await occasion.task();
  const ending = task === undefined ? '' : endingAdvice(occasion.atlas.ports, task);
  return cut(ending === '' ? journal : `${journal}\n${embedded(ending)}`, MAX_AGENT_TEXT - 100);
}
