import { existsSync } from 'node:fs';
import { run } from '../../test/support/drivers/run.ts';

const APT = '/usr/bin/apt-get';

/**
 * Installs packages of a Debian or Ubuntu.
 * @param how what is said to people where that can't be done here
 */
export async function installPackages(packages: readonly string[], how: string): Promise<void> {
  if (process.getuid?.() !== 0 || !existsSync(APT)) throw new Error(`Not installed: ${packages.join(', ')}. ${how}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const apt = (...args: string[]): Promise<string> => run(APT, ['-o', 'DPkg::Lock::Timeout=300', ...args], { env });
  await apt('update', '--quiet');
  await apt('install', '--yes', '--quiet', '--no-install-recommends', ...packages);
}
