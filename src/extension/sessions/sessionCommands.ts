import * as vscode from 'vscode';
import { RESUME_AGENTS, type ResumeAgent } from '../../agents/sessions/handOver';
import { sessionTitle } from '../../core/hookMarkdown/sessionHook';
import { checkSession } from '../../core/inbox/inbox';
import { HOST_TITLES, SESSION_HOSTS } from '../../core/session/sessionHost';
import { stepLabel } from '../../core/task/labels';
import { AtlasError, unwrap } from '../../core/shared/errors';
import { defined } from '../../core/shared/defined';
import type { ObservedSession } from '../../service/sessions/sessionService';
import { changeConfig } from '../../service/tasks/configChange';
import { launcherPath } from '../../system/launcher/launcher';
import { chosen, field } from '../shared/arguments';
import type { CommandContext, CommandHandler } from '../shared/context';
import { confirm } from '../shared/dialogs';
import { plain } from '../shared/messages';
import { askOne } from '../shared/questions';
import { requestOf, sessionDetails, sessionStateLabel } from './sessionRowTexts';
import type { SessionsModel } from './sessionsModel';

/** The session that an argument names; arguments come from anywhere. */
function namedSession(model: SessionsModel, argument: unknown): ObservedSession | undefined {
  const host = SESSION_HOSTS.find((each) => each === field(argument, 'host'));
  const sessionId = field(argument, 'sessionId');
  if (host === undefined || typeof sessionId !== 'string') return undefined;
  const found = model.find({ host, sessionId });
  if (found === undefined)
    throw new AtlasError('not_found', vscode.l10n.t('This session no longer exists.'), {
      hint: vscode.l10n.t('The Sessions view lists those that do.'),
    });
  return found;
}

/** The session that a command is about: its argument's, or one that is asked for. */
async function sessionFor(
  { sessions }: CommandContext,
  argument: unknown,
  title: string,
  fits: (session: ObservedSession) => boolean = () => true,
): Promise<{ readonly model: SessionsModel; readonly session: ObservedSession }> {
  const { model } = await sessions();
  await model.look();
  const named = namedSession(model, argument);
  if (named !== undefined) return { model, session: named };
  const fitting = model.all().filter(fits);
  if (fitting.length === 0)
    throw new AtlasError('not_found', vscode.l10n.t('No session allows this now.'), {
      hint: vscode.l10n.t('To observe sessions, run "Atlas: Set Up Agent…".'),
    });
  const items = fitting.map((session) => ({
    label: requestOf(session, 100),
    description: sessionDetails(session, model.now),
    session,
  }));
  const placeHolder = vscode.l10n.t('Which session?');
  return { model, session: chosen(await vscode.window.showQuickPick(items, { title, placeHolder })).session };
}

const isGone = ({ state }: ObservedSession): boolean => state === 'interrupted' || state === 'ended';

/** Atlas: Resume Session. In the agent whose session it was, or in one that is asked for. */
export const resumeObserved: CommandHandler = async (context, argument) => {
  const { session } = await sessionFor(context, argument, vscode.l10n.t('Resume Session'), isGone);
  const own = RESUME_AGENTS.find((agent) => agent === session.ref.host);
  await resumeIn(context, session, own ?? (await chooseAgent(session)));
};

/** Atlas: Resume Session With. Another agent is told what is known of the session. */
const resumeSessionWith: CommandHandler = async (context, argument) => {
  const { session } = await sessionFor(context, argument, vscode.l10n.t('Resume Session With'));
  await resumeIn(context, session, await chooseAgent(session));
};

async function chooseAgent(session: ObservedSession): Promise<ResumeAgent> {
  const own = RESUME_AGENTS.filter((agent) => agent === session.ref.host);
  // Its own agent first: that one remembers the session.
  const items = [...new Set([...own, ...RESUME_AGENTS])].map((agent) => ({
    label: HOST_TITLES[agent],
    description: own.includes(agent) ? vscode.l10n.t('continues its own session') : '',
    value: agent,
  }));
  const title = vscode.l10n.t('Resume "{0}"', requestOf(session, 60));
  return askOne({ title, placeholder: vscode.l10n.t('Which agent?'), items });
}

/** Runs `atlas resume --with` in a terminal; it asks there before it starts beside something that still runs. */
async function resumeIn(context: CommandContext, { ref, record }: ObservedSession, agent: ResumeAgent): Promise<void> {
  unwrap(checkSession(ref.sessionId));
  const launcher = launcherPath(context.launcherFolder);
  const words = ['resume', '--with', agent, '--session', ref.sessionId];
  const program =
    process.platform === 'win32'
      ? // A batch file is run by cmd, which takes off the outer quotes.
        { shellPath: process.env['ComSpec'] ?? 'cmd.exe', shellArgs: `/d /s /c ""${launcher}" ${words.join(' ')}"` }
      : { shellPath: launcher, shellArgs: words };
  const cwd = record.worktree ?? record.cwd;
  const isThere = cwd !== undefined && context.session.atlas.ports.files.stat(cwd)?.kind === 'folder';
  const terminal = vscode.window.createTerminal({
    name: vscode.l10n.t('Resume with {0}', HOST_TITLES[agent]),
    ...program,
    env: { ATLAS_HOME: context.session.atlas.ports.paths.root },
    ...defined({ cwd: isThere ? cwd : undefined }),
  });
  terminal.show();
  return Promise.resolve();
}

/** Atlas: Show HOOK.md of Session. As it would be now. */
const showSessionHookMd: CommandHandler = async (context, argument) => {
  const { model, session } = await sessionFor(context, argument, vscode.l10n.t('Show HOOK.md of Session'));
  const name = `${session.ref.host}-${session.ref.sessionId.replaceAll(/[^\w.-]/gu, '_')}/HOOK.md`;
  await context.documents.show(name, await model.service.markdown(session));
};

/** Atlas: Use Template for Session. A task goes on with what the session began. */
const useSessionTemplate: CommandHandler = async (context, argument) => {
  const title = vscode.l10n.t('Use Template for Session');
  const isFree = ({ record }: ObservedSession): boolean => record.worktree !== undefined && record.bound === undefined;
  const { model, session } = await sessionFor(context, argument, title, isFree);
  const { worktree, bound } = session.record;
  if (worktree === undefined || bound !== undefined)
    throw new AtlasError('illegal_transition', vscode.l10n.t("This session can't become a task."), {
      hint: vscode.l10n.t('A session becomes one task at most, and only in a repository.'),
    });
  const { templates } = await context.session.atlas.configs.templatesToOffer(worktree);
  const items = templates.map((template) => ({
    label: template.id,
    description: plain(template.description),
    detail: template.steps.map((each) => stepLabel(each.name)).join(' → '),
    value: template.id,
  }));
  const template = await askOne({ title, placeholder: vscode.l10n.t('Which template?'), items });
  const atlas = await context.session.atlas.drive();
  const started = unwrap(await atlas.startTask({ title: sessionTitle(session), template, folder: worktree }));
  await model.service.bind(session.ref, started.ref);
  unwrap(await atlas.regenerate(started.ref));
  await context.session.locatePlaces();
  context.session.changed(started.ref);
  await model.look();
  context.panels.open(started.ref);
};

/** Atlas: Forget Session. All that is kept of it is deleted. */
const forgetSession: CommandHandler = async (context, argument) => {
  const { model, session } = await sessionFor(context, argument, vscode.l10n.t('Forget Session'));
  const question = vscode.l10n.t('Delete everything that Atlas keeps about "{0}"?', requestOf(session, 80));
  const live = vscode.l10n.t(
    'It is still open ({0}). What its agent reports from now on is kept again.',
    sessionStateLabel(session.state),
  );
  const undone = vscode.l10n.t("You can't undo this.");
  await confirm(question, isGone(session) ? undone : `${live} ${undone}`, vscode.l10n.t('Forget Session'));
  await model.service.forget(session.ref);
  await model.look();
};

/** Atlas: Stop Observing Sessions. Nothing that agents report is kept from now on, and what was read of transcripts goes. */
const stopObservingSessions: CommandHandler = async (context) => {
  const { model } = await context.sessions();
  const { ports } = context.session.atlas;
  // What was read of transcripts goes with the consent to it, which a last look sees to.
  unwrap(await changeConfig(ports, 'sessions', [{ name: 'read_transcripts', value: [] }]));
  await model.look();
  unwrap(await changeConfig(ports, 'sessions', [{ name: 'track', value: false }]));
  model.service.spool.close();
  await model.look();
  const message = vscode.l10n.t(
    'Atlas no longer observes sessions. Those that were recorded stay until you forget them.',
  );
  // Not awaited: it stays until somebody sends it away.
  void vscode.window.showInformationMessage(message);
};

/** Shows one page more of the sessions that are over. */
const showMoreSessions: CommandHandler = async (context, argument) => {
  const worktree = field(argument, 'worktree');
  if (typeof worktree !== 'string')
    throw new AtlasError('usage', vscode.l10n.t('Choose the row in the Sessions view.'));
  (await context.sessions()).tree.showMore(worktree);
};

/** The commands of the sessions by their names. */
export const SESSION_COMMANDS = {
  resumeSessionWith,
  showSessionHookMd,
  useSessionTemplate,
  forgetSession,
  stopObservingSessions,
  showMoreSessions,
};
