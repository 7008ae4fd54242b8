import { homedir } from 'node:os';
import * as vscode from 'vscode';
import { HOST_TITLES } from '../../core/session/sessionHost';
import { unwrap } from '../../core/shared/errors';
import type { FileChange } from '../../agents/install/installer';
import {
  OBSERVE_HOSTS,
  type ObserveHost,
  ObserveInstaller,
  hasTranscripts,
  userPlaces,
} from '../../agents/install/observeInstall';
import { type ObserveDesk, isObserved, setObserved } from '../../agents/install/observing';
import { trackedSessions } from '../../agents/sessions/trackedSessions';
import type { CommandContext } from '../shared/context';
import { Cancelled, plain } from '../shared/messages';

const MAX_TEXT = 1000;

/** What a window asks about observing a host's sessions, and how it is done. */
export class ObserveOffer {
  private readonly desk: ObserveDesk;
  private readonly root: string;

  constructor({ session }: Pick<CommandContext, 'session'>) {
    const { ports } = session.atlas;
    const service = trackedSessions(session.atlas);
    this.root = ports.paths.root;
    this.desk = { ports, service, installer: new ObserveInstaller(ports, userPlaces(), service.spool) };
  }

  /** The host of that name, if its sessions can be observed. */
  static hostOf(name: string): ObserveHost | undefined {
    return OBSERVE_HOSTS.find((each) => each === name);
  }

  /** Whether a host's sessions are observed. */
  async isOn(host: ObserveHost): Promise<boolean> {
    return isObserved(this.desk, host);
  }

  /** The file that is changed, for people. */
  fileOf(host: ObserveHost): string {
    return tilde(this.desk.installer.pathOf(host));
  }

  /**
   * Asks whether sessions may be observed: what is kept, what else happens, and how to stop it. Then, apart from it, whether
   * transcripts may be read. `undefined` where the user doesn't want that now.
   */
  async ask(host: ObserveHost): Promise<{ readonly transcripts: boolean } | undefined> {
    const title = HOST_TITLES[host];
    const detail = [
      vscode.l10n.t(
        'Requests, commands, names of changed files and last messages are kept in {0}, without known kinds of secrets.',
        plain(tilde(this.root), MAX_TEXT),
      ),
      ...this.desk.installer.needs(host),
      vscode.l10n.t('Atlas changes {0}, and shows you the change first.', plain(this.fileOf(host), MAX_TEXT)),
      vscode.l10n.t('To stop, run "Atlas: Stop Observing Sessions".'),
    ];
    const question = vscode.l10n.t('Observe {0} sessions in all repositories?', title);
    if (!(await agrees(question, detail, vscode.l10n.t('Observe Sessions'), vscode.l10n.t('Not Now'))))
      return undefined;
    if (!hasTranscripts(host)) return { transcripts: false };
    const about = [
      vscode.l10n.t("Transcripts hold what hooks don't report, such as exit codes and dismissed questions."),
      vscode.l10n.t('When you stop observing, Atlas deletes what it read of them.'),
    ];
    const also = vscode.l10n.t("Also read {0}'s transcripts?", title);
    const transcripts = await agrees(also, about, vscode.l10n.t('Read Transcripts'), vscode.l10n.t("Don't Read"));
    return { transcripts };
  }

  /**
   * What the host's own settings become.
   * @param start how `atlas` is started from now on; `undefined` to observe no longer
   */
  plan(host: ObserveHost, start: string | undefined): FileChange {
    const { installer } = this.desk;
    return unwrap(start === undefined ? installer.planUninstall(host) : installer.planInstall(host, start));
  }

  /** Writes down what the user wants, then changes the host's settings. */
  async carryOut(
    host: ObserveHost,
    change: FileChange,
    wish: { readonly observe: boolean; readonly transcripts: boolean | undefined; readonly start: string },
  ): Promise<void> {
    unwrap(await setObserved(this.desk, host, wish));
    if (change.before !== change.after) unwrap(this.desk.installer.apply(host, change));
  }

  /** Tells that sessions are observed, and what is left to do. */
  async tellDone(host: ObserveHost, cwd: string): Promise<void> {
    const left = this.desk.installer.notes(host);
    const title = HOST_TITLES[host];
    const trust = vscode.l10n.t('Open Codex');
    const isLeft = host === 'codex' && left.length > 0;
    const done = isLeft
      ? vscode.l10n.t('{0} is set up.', title)
      : vscode.l10n.t('{0} sessions are observed from their next start.', title);
    const message = [done, ...left].join(' ');
    if ((await vscode.window.showInformationMessage(message, ...(isLeft ? [trust] : []))) !== trust) return;
    const terminal = vscode.window.createTerminal({ name: HOST_TITLES[host], cwd });
    terminal.show();
    terminal.sendText('codex');
  }
}

async function agrees(question: string, detail: readonly string[], yes: string, no: string): Promise<boolean> {
  const button: vscode.MessageItem = { title: yes };
  const other: vscode.MessageItem = { title: no, isCloseAffordance: true };
  const options = { modal: true, detail: detail.join('\n\n') };
  return (await vscode.window.showInformationMessage(question, options, button, other)) === button;
}

/** A path as people write it. */
export function tilde(path: string): string {
  const home = homedir();
  return path.startsWith(home) ? `~${path.slice(home.length)}`.replaceAll('\\', '/') : path;
}

/** Asks as {@link ObserveOffer.ask} where the user chose to observe: a no ends the command. */
export async function askedFor(offer: ObserveOffer, host: ObserveHost): Promise<{ readonly transcripts: boolean }> {
  const wish = await offer.ask(host);
  if (wish === undefined) throw new Cancelled();
  return wish;
}
