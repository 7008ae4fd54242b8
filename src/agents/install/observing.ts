import { type Result, ok } from '../../core/shared/errors';
import type { ServicePorts } from '../../service/ports';
import type { SessionService } from '../../service/sessions/sessionService';
import { changeConfig } from '../../service/tasks/configChange';
import { type ObserveHost, type ObserveInstaller, settingsAfter } from './observeInstall';

/** What turns observing on and off. */
export interface ObserveDesk {
  readonly ports: Pick<ServicePorts, 'files' | 'ids' | 'paths'>;
  readonly installer: ObserveInstaller;
  readonly service: SessionService;
}

/** What the user wants of a host. */
export interface ObserveWish {
  readonly observe: boolean;
  /** Whether its transcripts may be read; `undefined` leaves that as it is. */
  readonly transcripts: boolean | undefined;
  /** How `atlas` is started, as a shell's words. */
  readonly start: string;
}

/** Whether the user lets a host's sessions be observed, and its settings say so. */
export async function isObserved(
  { installer, service }: Omit<ObserveDesk, 'ports'>,
  host: ObserveHost,
): Promise<boolean> {
  const { track } = await service.config();
  return track === true && installer.setUp().some((each) => each.host === host && each.installed);
}

/**
 * Writes the consent to config.yaml, and opens or closes the spool. The host's own settings are changed after that, so that
 * a config.yaml that can't be changed is told before anything else is. Fails as {@link changeConfig}; throws where the spool
 * can't be made.
 */
export async function setObserved(
  { ports, installer, service }: ObserveDesk,
  host: ObserveHost,
  { observe, transcripts, start }: ObserveWish,
): Promise<Result<void>> {
  const { readTranscripts } = await service.config();
  const others = installer.setUp().some((each) => each.host !== host && each.installed);
  const track = observe || others;
  const wish = { track, transcripts: observe ? transcripts : false };
  const changed = await changeConfig(ports, 'sessions', settingsAfter(readTranscripts, host, wish));
  if (!changed.ok) return changed;
  if (observe) service.spool.open(start);
  else if (!track) service.spool.close();
  return ok(undefined);
}
