/* Brings what npm can't: Chromium (Debian's, when root) and the VS Code server that the tests run in. */
import { existsSync } from 'node:fs';
import { run } from '../test/support/run.ts';
import { hostVersion, installHost } from '../test/support/vscodeHost/install.ts';
import { findChromium } from '../test/support/vscodeHost/window.ts';

const APT = '/usr/bin/apt-get';
const HOW = `No Chromium found. Install one, or name it in the environment variable CHROMIUM:
  Debian, Ubuntu: sudo apt-get update && sudo apt-get install chromium
  macOS:          brew install --cask chromium
  Fedora:         sudo dnf install chromium`;

async function ensureChromium(): Promise<void> {
  if (findChromium() !== undefined) return;
  const mayInstall = process.getuid?.() === 0 && existsSync(APT) && process.env['CI'] === 'true';
  if (!mayInstall) throw new Error(HOW);
  await run(APT, ['update', '--quiet'], { output: 'inherit' });
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run(APT, ['install', '--yes', '--quiet', '--no-install-recommends', 'chromium'], { env, output: 'inherit' });
  if (findChromium() === undefined) throw new Error(HOW);
}

try {
  await ensureChromium();
  const { version } = await installHost(hostVersion(process.env['HOST_VERSION']));
  console.log(`Chromium ${findChromium() ?? ''}, VS Code server ${version}`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
