/* Brings what npm can't: Chromium and two shells (Debian's, when root in CI) and the VS Code server that the tests run in. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { messageOf } from '../src/core/shared/errors.ts';
import { run } from '../test/support/drivers/run.ts';
import { hostVersion, installHost } from '../test/support/vscode/install.ts';
import { HEADLESS_SHELL, findChromium } from '../test/support/vscode/window.ts';

const APT = '/usr/bin/apt-get';
const HOW = `No Chromium found. Install one, or name it in the environment variable CHROMIUM:
  Debian:         sudo apt-get update && sudo apt-get install chromium-headless-shell
  Ubuntu:         sudo apt-get update && sudo apt-get install chromium
  macOS:          brew install --cask chromium
  Fedora:         sudo dnf install chromium`;

/** In which completion is tried; where they are missing, their tests say that they were skipped. */
const SHELLS = ['zsh', 'fish'];

function isInstalled(program: string): boolean {
  return (process.env['PATH'] ?? '').split(path.delimiter).some((folder) => existsSync(path.join(folder, program)));
}

async function install(...packages: readonly string[]): Promise<void> {
  await run(APT, ['update', '--quiet'], { output: 'inherit' });
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  await run(APT, ['install', '--yes', '--quiet', '--no-install-recommends', ...packages], { env, output: 'inherit' });
}

/** Debian's headless shell where there is one; else the whole Chromium, which takes longer. */
async function installChromium(): Promise<void> {
  try {
    await install(HEADLESS_SHELL);
  } catch (error) {
    if (findChromium() === undefined) await install('chromium');
    else console.log(`The whole Chromium is used: ${messageOf(error)}`);
  }
}

async function ensurePrograms(): Promise<void> {
  const isNamed = (process.env['CHROMIUM'] ?? '') !== '';
  const needsChromium = !isNamed && !isInstalled(HEADLESS_SHELL);
  const shells = SHELLS.filter((shell) => !isInstalled(shell));
  const mayInstall = process.getuid?.() === 0 && existsSync(APT) && process.env['CI'] === 'true';
  if (mayInstall && needsChromium) await installChromium();
  if (mayInstall && shells.length > 0) await install(...shells);
  if (findChromium() === undefined) throw new Error(HOW);
}

try {
  await ensurePrograms();
  const { version } = await installHost(hostVersion(process.env['HOST_VERSION']));
  console.log(`Chromium ${findChromium() ?? ''}, VS Code server ${version}`);
} catch (error) {
  console.error(messageOf(error));
  process.exitCode = 1;
}
