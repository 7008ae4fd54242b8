/*
 * `npm start [-- FOLDER] [--desktop]`: builds, makes a sample repository unless a folder is given, and opens it with the extension:
 * in the `code` on the PATH, with --desktop in a downloaded VS Code, else in a VS Code server whose address it prints.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { downloadAndUnzipVSCode } from '@vscode/test-electron';
import { makeGitWorkspace } from '../test/support/fixtures/gitWorkspace.ts';
import { PROJECT } from '../test/support/project.ts';
import { run } from '../test/support/drivers/run.ts';
import { makeHostData } from '../test/support/vscode/hostData.ts';
import { hostVersion, installHost } from '../test/support/vscode/install.ts';
import { startServer } from '../test/support/vscode/server.ts';
import { findProgram, workbenchUrl } from '../test/support/vscode/window.ts';

interface Sample {
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
  dispose(): void;
}

type CreateSampleTask = (folder: string, env: Readonly<Record<string, string>>) => Promise<unknown>;

/** A given folder with this person's own Git and Atlas settings, or a sample repository with settings of its own. */
async function openFolder(given: string | undefined): Promise<Sample> {
  if (given !== undefined) return { folder: path.resolve(given), env: {}, dispose: () => undefined };
  const workspace = await makeGitWorkspace();
  const script = path.join(PROJECT, 'scripts', 'sampleTask.mts');
  if (existsSync(script)) {
    const { createSampleTask } = (await import(script)) as { createSampleTask: CreateSampleTask };
    await createSampleTask(workspace.folder, workspace.env);
  }
  return workspace;
}

async function startDesktop(code: string, { folder, env }: Sample): Promise<void> {
  const args = [`--extensionDevelopmentPath=${PROJECT}`, '--new-window', '--wait', folder];
  const child = spawn(code, args, { stdio: 'inherit', env: { ...process.env, ...env } });
  console.log(`Opened ${folder} in ${code}; ends when its window is closed`);
  await Promise.race([once(child, 'exit'), interrupted()]);
}

async function startInBrowser({ folder, env }: Sample): Promise<void> {
  const host = await installHost(hostVersion(process.env['HOST_VERSION']));
  const data = makeHostData({ extensions: [PROJECT] });
  const server = await startServer({ host, data, env });
  const stop = interrupted();
  console.log(`Open ${workbenchUrl({ port: server.port, workspace: folder })}`);
  console.log('Ctrl+C ends it');
  await stop;
  await server.stop();
  data.dispose();
}

/** The listeners stay: a terminal's Ctrl+C comes twice, from the terminal and from npm, and the second must not cut the end short. */
function interrupted(): Promise<void> {
  return new Promise((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, () => resolve());
  });
}

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { desktop: { type: 'boolean', default: false } },
});
await run(process.execPath, ['esbuild.mjs'], { cwd: PROJECT, output: 'inherit' });
const sample = await openFolder(positionals[0]);
try {
  const code = values.desktop ? await downloadAndUnzipVSCode() : findProgram(['code']);
  if (code === undefined) await startInBrowser(sample);
  else await startDesktop(code, sample);
} finally {
  sample.dispose();
}
