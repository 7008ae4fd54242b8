import { accessSync, constants } from 'node:fs';
import path from 'node:path';
import { chromium, type Browser } from 'playwright-core';

/** The same engine without a browser around it: it takes half of the processor's time. */
export const HEADLESS_SHELL = 'chromium-headless-shell';
const CHROMIUMS = [HEADLESS_SHELL, 'chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable'];

const FLAGS = [
  '--no-sandbox', // the only page is ours, on loopback, and root may not have a sandbox
  ...['--disable-gpu', '--disable-quic', '--no-first-run'],
  ...['--disable-background-networking', '--disable-component-update', '--disable-sync'],
  '--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1',
];

/** The Chromium to use: `CHROMIUM` from the environment, else the first on the PATH; undefined when there is none. */
export function findChromium(): string | undefined {
  const named = process.env['CHROMIUM'];
  if (named !== undefined && named !== '') return named;
  return findProgram(CHROMIUMS);
}

/** The first of those programs that is on the PATH, as an absolute path. */
export function findProgram(names: readonly string[]): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(path.delimiter).filter((folder) => folder !== '');
  return names.flatMap((name) => folders.map((folder) => path.join(folder, name))).find(isExecutable);
}

function isExecutable(file: string): boolean {
  try {
    accessSync(file, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

/** Starts a headless Chromium that reaches nothing but loopback. */
export async function openBrowser(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error('no Chromium found: npm run setup');
  return chromium.launch({ executablePath, headless: true, args: FLAGS });
}

/** What a window shows. */
export interface WindowTarget {
  readonly port: number;
  /** A folder or a `.code-workspace` file; an empty window when left out. */
  readonly workspace?: string | undefined;
  /** Folders of extensions that are loaded as under development. */
  readonly developmentExtensions?: readonly string[];
  /** The module whose `run` is called inside the extension host. */
  readonly tests?: string | undefined;
}

/** The address of a window. The authority of remote paths in it is the page's own host and port. */
export function workbenchUrl({ port, workspace, developmentExtensions = [], tests }: WindowTarget): string {
  const remote = (file: string) => `vscode-remote://127.0.0.1:${port}${path.resolve(file)}`;
  const payload = [
    ...developmentExtensions.map((folder) => ['extensionDevelopmentPath', remote(folder)]),
    ...(tests === undefined ? [] : [['extensionTestsPath', remote(tests)]]),
    ['skipWelcome', 'true'],
  ];
  const query = new URLSearchParams({ payload: JSON.stringify(payload) });
  if (workspace === undefined) query.set('ew', 'true');
  else query.set(workspace.endsWith('.code-workspace') ? 'workspace' : 'folder', path.resolve(workspace));
  return `http://127.0.0.1:${port}/?${query.toString()}`;
}
