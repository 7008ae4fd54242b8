import type { Result } from '../../core/shared/errors';
import { type Setting, writeSettings } from '../../store/config/configWriter';
import type { ServicePorts } from '../ports';

/** Puts settings into a section of the user's config.yaml. Fails with `invalid_config` where it can't be read, or `write_failed`. */
export async function changeConfig(
  ports: Pick<ServicePorts, 'files' | 'ids' | 'paths'>,
  section: string,
  settings: readonly Setting[],
): Promise<Result<void>> {
  return writeSettings(ports, ports.paths.config, section, settings);
}
