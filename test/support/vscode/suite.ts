import { readdirSync, rmSync } from 'node:fs';
import { chmod } from 'node:fs/promises';
import path from 'node:path';
import { runTests } from '@vscode/test-electron';
import { build } from 'esbuild';
import { makeGitWorkspace } from '../fixtures/gitWorkspace';
import { OUT, PROJECT } from '../project';
import { makeHostData } from './hostData';
import { installHost, type HostVersion } from './install';

/** How the in-host suite is run. */
export interface SuiteOptions {
  readonly version: HostVersion;
  /** Downloads a desktop VS Code and runs there instead of in the server; no UI steps then. */
  readonly desktop: boolean;
  /** Where the report in Mocha's JSON form goes (absolute). */
  readonly report: string;
}

/** Runs `test/host/` inside a real extension host, in a fresh repository; rejects when a test fails. */
export async function runHostSuite({ version, desktop, report }: SuiteOptions): Promise<void> {
  // A folder for each: suites for two versions may run at once.
  const bundles = path.join(OUT, `host-${version}`);
  await buildSuite(bundles);
  if (!desktop) await installHost(version);
  const workspace = await makeGitWorkspace();
  const data = makeHostData();
  try {
    await runTests({
      ...(desktop ? {} : { vscodeExecutablePath: path.join(bundles, 'codeStandIn.cjs') }),
      extensionDevelopmentPath: PROJECT,
      extensionTestsPath: path.join(bundles, 'index.cjs'),
      launchArgs: [workspace.folder, `--user-data-dir=${data.userData}`, `--extensions-dir=${data.extensions}`],
      extensionTestsEnv: { ...workspace.env, HOST_REPORT: report, HOST_VERSION: version },
    });
  } finally {
    data.dispose();
    workspace.dispose();
  }
}

async function buildSuite(bundles: string): Promise<void> {
  rmSync(bundles, { recursive: true, force: true });
  await build({
    absWorkingDir: PROJECT,
    entryPoints: [
      'test/host/index.ts',
      'test/host/agentProcess.ts',
      ...testFiles(),
      'test/support/vscode/codeStandIn.ts',
    ],
    outdir: bundles,
    entryNames: '[name]',
    outExtension: { '.js': '.cjs' },
    bundle: true,
    platform: 'node',
    target: 'node20',
    format: 'cjs',
    external: ['vscode', 'mocha', 'playwright-core'],
    mainFields: ['module', 'main'],
    banner: { js: '#!/usr/bin/env node' }, // for the stand-in, which is started as a program
    sourcemap: 'inline',
    logLevel: 'warning',
  });
  await chmod(path.join(bundles, 'codeStandIn.cjs'), 0o755);
}

function testFiles(): string[] {
  const files = readdirSync(path.join(PROJECT, 'test', 'host')).filter(
    (name) => name.endsWith('.test.ts') && name.includes(process.env['HOST_TESTS'] ?? ''),
  );
  return files.map((name) => `test/host/${name}`);
}
