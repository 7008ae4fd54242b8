import { callingSession } from '../../../agents/lifecycle/agentSessions';
import { AtlasError, unwrap } from '../../../core/shared/errors';
import type { InboxItem, InboxOwner } from '../../../core/inbox/inbox';
import { oneLine, plainLines } from '../../../core/shared/text';
import { parseDuration } from '../../../core/shared/time';
import { ensureWorkspace } from '../../../service/tasks/ensureWorkspace';
import type { Inbox } from '../../../service/inbox/inbox';
import { knownWorkspace } from '../../../service/tasks/taskChoice';
import type { EndedItem, InboxFinding } from '../../../core/inbox/inboxAnswers';
import type { Call } from '../../parse/call';
import type { Handler } from '../../parse/commandLine';
import type { CliContext } from '../../context';
import { type Answer, EXIT } from '../../render/output';
import type { AnswerData, InboxItemData } from '../schemas';
import { table } from '../../render/table';

/** The most of a text from standard input that is read, in bytes; what is kept is less. */
const MAX_TEXT_BYTES = 1024 * 1024;

interface Opened {
  readonly inbox: Inbox;
  readonly workspace: string;
}

/** The inbox that a command line means: that of `--workspace`, else of this folder; `undefined` where the folder has no workspace. */
async function openInbox(context: CliContext, call: Call): Promise<Opened | undefined> {
  const atlas = await context.atlas();
  const named = call.text('workspace');
  const workspace =
    named === undefined ? (await atlas.locate(context.folder)).workspace : unwrap(knownWorkspace(atlas, named));
  return workspace === undefined ? undefined : { inbox: await atlas.inbox(), workspace };
}

/** As {@link openInbox}, for what has to be there; throws `not_found`. */
async function existingInbox(context: CliContext, call: Call): Promise<Opened> {
  const opened = await openInbox(context, call);
  if (opened !== undefined) return opened;
  throw new AtlasError('not_found', `Folder ${context.folder} has no agent queue yet.`, {
    hint: 'Name a workspace with --workspace.',
  });
}

/** A folder that has no workspace yet gets one. */
async function madeInbox(context: CliContext, call: Call): Promise<Opened> {
  const opened = await openInbox(context, call);
  if (opened !== undefined) return opened;
  const atlas = await context.atlas();
  const workspace = unwrap(await ensureWorkspace(atlas, context.folder));
  return { inbox: await atlas.inbox(), workspace };
}

/** The session that calls, by `--session` or what its host set. */
function sessionOf({ env }: CliContext, call: Call): string | undefined {
  return call.text('session') ?? callingSession(env);
}

/** Who claims or completes. */
async function ownerOf(context: CliContext, call: Call): Promise<InboxOwner> {
  return { sessionId: sessionOf(context, call), process: await context.worker() };
}

/** Who asks: whatever an agent says of that, what it asks for is never a human's wish. */
function senderOf({ agent }: CliContext, said: string | undefined, trigger: string | undefined): string | undefined {
  if (agent === undefined) return said;
  if (said !== undefined) return `agent:${agent} (${said})`;
  return trigger === undefined ? `agent:${agent}` : undefined;
}

/** A text of the command line; `-` is standard input. */
async function textOf(context: CliContext, text: string): Promise<string> {
  return text === '-' ? context.readText('-', MAX_TEXT_BYTES) : text;
}

/** `inbox add`: asks for something. */
export const add: Handler = async (context, call) => {
  const content = await textOf(context, call.operands[0] ?? '');
  const { inbox, workspace } = await madeInbox(context, call);
  const trigger = call.text('trigger') ?? context.env['ATLAS_TRIGGER'];
  const triggerName = trigger === '' ? undefined : trigger;
  const added = unwrap(
    await inbox.add(workspace, {
      content,
      channel: call.text('channel'),
      sender: senderOf(context, call.text('sender'), triggerName),
      triggerName,
      sessionKey: call.text('sessionKey'),
      // Only a session that waits for the answer is woken with it.
      sessionId: triggerName === undefined ? call.text('session') : sessionOf(context, call),
    }),
  );
  const data: AnswerData<'inbox add'> = { workspace_id: workspace, item: itemData(added) };
  return { exit: EXIT.done, text: `Added item ${added.id} to the agent queue of ${workspace}.\n`, data };
};

/** `inbox list`: what is asked for, and what came of it. */
export const list: Handler = async (context, call) => {
  const opened = await openInbox(context, call);
  const status = call.text('status');
  const withFinished = status !== undefined && status !== 'pending' && status !== 'processing';
  const listed = opened?.inbox.list(opened.workspace, withFinished ? {} : { finished: 0 });
  const { open = [], finished = [], finishedTotal = 0, findings = [] } = listed === undefined ? {} : unwrap(listed);
  const all = [...open, ...finished];
  const shown = status === undefined || status === 'all' ? all : all.filter((item) => item.status === status);
  const data: AnswerData<'inbox list'> = {
    workspace_id: opened?.workspace ?? null,
    pending: open.filter((item) => item.status === 'pending').length,
    processing: open.filter((item) => item.status === 'processing').length,
    finished: finishedTotal,
    items: shown.map(itemData),
    problems: findings.map(({ path, error }) => ({ path, code: error.code, message: error.message })),
  };
  const older = withFinished && finishedTotal > finished.length;
  const notes = [
    ...findings.map(noteOf),
    ...(older ? [`Only the newest ${finished.length} of ${finishedTotal} finished items were read.`] : []),
  ];
  return { exit: EXIT.done, text: listText(context, shown), wanted: true, data, notes };
};

function listText({ streams }: CliContext, items: readonly InboxItem[]): string {
  if (items.length === 0) return 'No items.\n';
  return table(
    ['ID', 'STATUS', { flexible: 'SENDER' }, 'ADDED', { flexible: 'CONTENT' }],
    items.map(({ id, status, sender, created_at: added, content }) => [
      String(id),
      status,
      sender,
      added.slice(0, 16).replace('T', ' '),
      oneLine(content, 200),
    ]),
    streams.columns,
  );
}

function noteOf({ path, error }: InboxFinding): string {
  return `${path} could not be read: ${error.message} ${error.hint ?? ''}`.trimEnd();
}

/** `inbox next`: claims the next item for a session. */
export const next: Handler = async (context, call) => {
  const given = call.text('lease');
  const lease = given === undefined ? undefined : unwrap(parseDuration(given));
  const opened = await openInbox(context, call);
  if (opened === undefined) return nothing(null, []);
  const { inbox, workspace } = opened;
  const owner = await ownerOf(context, call);
  const { item, own, findings } = unwrap(await inbox.next(workspace, owner, lease));
  const notes = findings.map(noteOf);
  if (item === undefined) return nothing(workspace, notes);
  if (own) notes.unshift(`You haven't completed item ${item.id} yet. Complete it before you take another.`);
  if (owner.sessionId === undefined && owner.process === undefined)
    notes.push('No session was named, so this claim belongs to no session. Name one with --session.');
  const data: AnswerData<'inbox next'> = { workspace_id: workspace, item: itemData(item), own };
  return { exit: EXIT.done, text: itemText(item, context.toolNamed('task_complete')), wanted: true, data, notes };
};

function itemText({ id, sender, channel, created_at: added, content }: InboxItem, tool?: string): string {
  const head = `Item ${id} from ${oneLine(sender)} on ${oneLine(channel)}, added ${added}`;
  // Indented, so that no content looks like what we say.
  const asked = plainLines(content).replaceAll(/^/gmu, '  ');
  // A tool's answer may be cut, so that what to do comes first.
  if (tool !== undefined) return `${head}. Complete it with ${tool}, task_id ${id}. The request:\n\n${asked}\n`;
  return `${head}:\n\n${asked}\n\nComplete it with: atlas inbox complete ${id} "<result>"\n`;
}

function nothing(workspace: string | null, notes: readonly string[]): Answer {
  const data: AnswerData<'inbox next'> = { workspace_id: workspace, item: null, own: false };
  return { exit: EXIT.done, text: 'The agent queue is empty.\n', wanted: true, data, notes };
}

/** `inbox complete`: says what came of an item. */
export const complete: Handler = async (context, call) => {
  const id = numberOf(call.operands[0]);
  const summary = await textOf(context, call.operands[1] ?? '');
  const { inbox, workspace } = await existingInbox(context, call);
  const ended = await inbox.complete(workspace, id, summary, await ownerOf(context, call));
  return endedAnswer(workspace, unwrap(ended));
};

/** `inbox cancel`: ends an item that isn't wanted any more. An agent that did would get by what keeps it at work. */
export const cancel: Handler = async (context, call) => {
  const id = numberOf(call.operands[0]);
  const why = `If you can't do it, say why: atlas inbox complete ${id} "<reason>"`;
  context.humanOnly('cancel an item of the agent queue', why);
  const { inbox, workspace } = await existingInbox(context, call);
  const ended = await inbox.cancel(workspace, id, call.operands[1] ?? '');
  return endedAnswer(workspace, unwrap(ended));
};

function endedAnswer(workspace: string, { item, changed }: EndedItem): Answer {
  const data: AnswerData<'inbox complete'> = { workspace_id: workspace, item: itemData(item), changed };
  const text = changed ? `Item ${item.id} is ${item.status}.\n` : `Item ${item.id} was already ${item.status}.\n`;
  return { exit: EXIT.done, text, data };
}

function numberOf(text: string | undefined): number {
  if (text !== undefined && /^[1-9]\d{0,8}$/u.test(text)) return Number(text);
  throw new AtlasError('usage', `${JSON.stringify(oneLine(text ?? '', 40))} is not an item number.`, {
    hint: 'List the items with: atlas inbox list',
  });
}

function itemData(item: InboxItem): InboxItemData {
  return {
    id: item.id,
    channel: item.channel,
    sender: item.sender,
    content: item.content,
    status: item.status,
    response_summary: item.response_summary ?? null,
    created_at: item.created_at,
    processed_at: item.processed_at ?? null,
    trigger_name: item.trigger_name ?? null,
    session_key: item.session_key ?? null,
    session_id: item.session_id ?? null,
    claimed_by: item.claim?.session_id ?? null,
    claimed_until: item.claim?.until ?? null,
    claims: item.claims,
  };
}
