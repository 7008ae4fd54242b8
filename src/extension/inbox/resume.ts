import * as vscode from 'vscode';
import { EventLog } from '../../agents/lifecycle/eventLog';
import type { HostName } from '../../agents/hosts/hosts';
import { HOSTS } from '../../agents/hosts/hosts';
import { AtlasError, messageOf, unwrap } from '../../core/shared/errors';
import { checkSession } from '../../core/inbox/inbox';
import { oneLine } from '../../core/shared/text';
import { setting } from '../shared/config';
import { plain } from '../shared/messages';
import { askOne } from '../shared/questions';
import type { WindowTasks } from '../windowTasks';

const PLACE = '{{session_id}}';

/** How hosts resume a session in a terminal; docs/agents.md has the sources. Of VS Code's own agent no such command is known. */
const RESUMING: Readonly<Partial<Record<HostName, string>>> = {
  claude: `claude --resume ${PLACE}`,
  codex: `codex resume ${PLACE}`,
  gemini: `gemini --resume ${PLACE}`,
  cursor: `cursor-agent --resume=${PLACE}`,
};

/** A session that is to be resumed. */
export interface Resumable {
  readonly workspace: string;
  readonly sessionId: string | null | undefined;
  /** The trigger whose session it is, for people. */
  readonly trigger: string;
}

/**
 * The command that resumes a session, on one line. What names the session was checked when it was written down, and is
 * once more: a shell gets it. Fails with `usage`.
 */
export function resumeCommand(template: string, sessionId: string): string {
  unwrap(checkSession(sessionId));
  if (!template.includes(PLACE))
    throw new AtlasError('usage', vscode.l10n.t("The setting atlas.resumeCommand doesn't contain {0}.", PLACE), {
      hint: vscode.l10n.t("Add it where the session's id belongs."),
    });
  // A line break would be the Enter that is left to the person.
  return oneLine(template, 2000).replaceAll(PLACE, sessionId);
}

/** Writes the command that resumes a session into a terminal in its folder. Enter is the person's. */
export async function resumeInTerminal(
  session: WindowTasks,
  { workspace, sessionId, trigger }: Resumable,
): Promise<void> {
  if (sessionId === undefined || sessionId === null)
    throw new AtlasError('not_found', vscode.l10n.t("Atlas doesn't know which session is waiting for this answer."));
  const command = resumeCommand(await templateFor(session, sessionId), sessionId);
  const place = session.ownPlaces.find((each) => each.workspace === workspace);
  const terminal = vscode.window.createTerminal({
    name: vscode.l10n.t('Resume {0}', plain(trigger, 40)),
    ...(place === undefined ? {} : { cwd: place.worktree }),
  });
  terminal.show();
  terminal.sendText(command, false);
}

/** The setting's command, else that of the host whose hooks told of the session, else the one that is chosen. */
async function templateFor(session: WindowTasks, sessionId: string): Promise<string> {
  const own = setting('resumeCommand').trim();
  if (own !== '') return own;
  const host = hostOf(session, sessionId);
  const known = host === undefined ? undefined : RESUMING[host];
  if (known !== undefined) return known;
  const items = Object.entries(RESUMING).map(([name, template]) => ({
    label: HOSTS[name as HostName].title,
    description: template.replaceAll(PLACE, sessionId),
    value: template,
  }));
  return askOne({
    title: vscode.l10n.t('Resume Session'),
    placeholder: vscode.l10n.t("Which agent's session is it? Set atlas.resumeCommand to skip this question."),
    items,
  });
}

function hostOf({ atlas }: WindowTasks, sessionId: string): HostName | undefined {
  const { files, paths, log } = atlas.ports;
  try {
    const told = new EventLog(files, paths).entries();
    return told.findLast((entry) => entry.session_id === sessionId && entry.host !== undefined)?.host;
  } catch (error) {
    log.warn('The log of lifecycle events could not be read.', { error: messageOf(error) });
    return undefined;
  }
}
