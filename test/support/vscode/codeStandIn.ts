/*
 * Stands in for the desktop `code` program where there is none: takes the flags that @vscode/test-electron passes, runs
 * the suite in the extension host of a VS Code server with a headless Chromium as its window, exits with the suite's code.
 */
import path from 'node:path';
import { parseArgs } from 'node:util';
import type { Page } from 'playwright-core';
import { uiSteps } from '../../host/support/uiSteps';
import type { HostData } from './hostData';
import { hostVersion, installHost } from './install';
import { startServer } from './server';
import { serveUi } from './uiServer';
import { openBrowser, workbenchUrl } from './window';

const LIMIT_MS = Number(process.env['HOST_LIMIT_MS'] ?? 600_000);

/** Lines that this VS Code prints at every start and that say nothing about the extension. */
const NOISE = new RegExp(
  `^(${[
    'Resolv(ing|ed) connection token',
    'Creating a socket',
    'Ignoring fetching additional builtin',
    'Updating additional builtin',
    'ChatSessionStore',
    'Creation of workbench contribution',
    '\\[(Service Worker|reconnection|AccountPolicyGate|AgentHost)',
    'Error: Could not locate the bindings file',
    "Cannot find module './build/Release/watchdog'",
    'Timed out waiting for authentication provider',
  ].join('|')})`,
);

interface Arguments {
  readonly workspace: string | undefined;
  readonly developmentExtensions: readonly string[];
  readonly tests: string;
  readonly data: HostData;
}

function readArguments(): Arguments {
  const { values, positionals } = parseArgs({
    strict: false, // desktop-only flags come too
    allowPositionals: true,
    options: {
      extensionDevelopmentPath: { type: 'string', multiple: true },
      extensionTestsPath: { type: 'string' },
      'extensions-dir': { type: 'string' },
      'user-data-dir': { type: 'string' },
    },
  });
  const text = (name: string): string => {
    const value = values[name];
    if (typeof value !== 'string') throw new Error(`--${name} is missing`);
    return value;
  };
  const userData = text('user-data-dir');
  return {
    workspace: positionals[0],
    developmentExtensions: (values.extensionDevelopmentPath ?? []).filter((each) => typeof each === 'string'),
    tests: text('extensionTestsPath'),
    data: {
      root: path.dirname(userData),
      serverData: path.dirname(userData),
      userData,
      extensions: text('extensions-dir'),
      settingsFile: path.join(userData, 'User', 'settings.json'),
      dispose: () => undefined, // the caller's folders
    },
  };
}

/** Opens the window and resolves with the code that the suite reports. */
function runSuite(page: Page, url: string): Promise<number> {
  return new Promise((resolve, reject) => {
    setTimeout(() => reject(new Error(`no result within ${LIMIT_MS} ms`)), LIMIT_MS).unref();
    for (const signal of ['SIGINT', 'SIGTERM']) process.on(signal, () => reject(new Error(signal)));
    page.once('crash', () => reject(new Error('the page crashed')));
    const open = async () => {
      await page.exposeFunction('codeAutomationLog', (type: string, args: unknown[]) => {
        if (NOISE.test(String(args[0]))) return;
        if (type === 'error' || type === 'warn') console.error(...args);
        else console.log(...args);
      });
      await page.exposeFunction('codeAutomationExit', resolve);
      await page.goto(url);
    };
    open().catch(reject);
  });
}

async function main(): Promise<number> {
  const { workspace, developmentExtensions, tests, data } = readArguments();
  const host = await installHost(hostVersion(process.env['HOST_VERSION']));
  const browser = await openBrowser();
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const ui = await serveUi(uiSteps, page);
  const server = await startServer({ host, data, testDriver: true, env: { HOST_UI_URL: ui.url } });
  try {
    return await runSuite(page, workbenchUrl({ port: server.port, workspace, developmentExtensions, tests }));
  } finally {
    ui.close();
    await browser.close();
    await server.stop();
  }
}

main().then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    console.error(error);
    process.exitCode = 2;
  },
);
