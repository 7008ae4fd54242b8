import { mkdirSync, mkdtempSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { removeFolder } from '../removeFolder';

/** The folders in which one VS Code keeps its state; kept across restarts of the server until disposed of. */
export interface HostData {
  readonly root: string;
  readonly serverData: string;
  readonly userData: string;
  readonly extensions: string;
  /** Where the user's settings lie; a window reads it when it loads. */
  readonly settingsFile: string;
  dispose(): void;
}

/** Values of VS Code settings by their full names. */
export type Settings = Readonly<Record<string, unknown>>;

/** Settings that keep the window quiet, offline and the same at every start. */
const QUIET: Settings = {
  'workbench.startupEditor': 'none',
  'workbench.tips.enabled': false,
  'workbench.enableExperiments': false,
  'workbench.secondarySideBar.defaultVisibility': 'hidden',
  'chat.disableAIFeatures': true,
  'telemetry.telemetryLevel': 'off',
  'update.mode': 'none',
  'extensions.autoUpdate': false,
  'extensions.autoCheckUpdates': false,
  'extensions.ignoreRecommendations': true,
  'git.autofetch': false,
  'git.openRepositoryInParentFolders': 'never',
};

/** Makes the folders of a fresh VS Code; `extensions` (folders with a package.json) are there as if they had been installed. */
export function makeHostData(options: { settings?: Settings; extensions?: readonly string[] } = {}): HostData {
  const root = mkdtempSync(path.join(os.tmpdir(), 'vscode-host-'));
  const userData = path.join(root, 'data');
  const extensions = path.join(root, 'extensions');
  const settingsFile = path.join(userData, 'User', 'settings.json');
  const machineFile = path.join(userData, 'Machine', 'settings.json');
  // The server makes no parents of the extensions folder, and then finds no extension at all.
  for (const folder of [extensions, path.dirname(settingsFile), path.dirname(machineFile)])
    mkdirSync(folder, { recursive: true });
  for (const folder of options.extensions ?? []) symlinkSync(folder, path.join(extensions, extensionId(folder)), 'dir');
  const data: HostData = {
    root,
    serverData: root,
    userData,
    extensions,
    settingsFile,
    // Processes of the server that was just killed may still be ending, and write.
    dispose: () => removeFolder(root),
  };
  writeFileSync(settingsFile, JSON.stringify({ ...QUIET, ...options.settings }, undefined, 2));
  // The window forgets the user's values of settings that belong to a machine, sooner or later.
  writeFileSync(machineFile, JSON.stringify(options.settings ?? {}, undefined, 2));
  return data;
}

/** The folder name by which VS Code knows an installed extension. */
function extensionId(folder: string): string {
  const manifest = JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')) as Record<string, string>;
  return `${manifest['publisher'] ?? ''}.${manifest['name'] ?? ''}-${manifest['version'] ?? ''}`;
}
