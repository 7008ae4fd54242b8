/*
 * `npm run screenshots`: the pictures of README and walkthrough, taken of a real workbench with the sample task, and the
 * matrix of all states. `docs` or `states` as the argument for one of them.
 */
import { losslessCompressPngSync, pngQuantizeSync } from '@napi-rs/image';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { chromium } from 'playwright-core';
import { unwrap } from '../src/core/shared/errors.ts';
import type { TaskRecord } from '../src/core/task/taskRecord.ts';
import type { ProcessIdentity } from '../src/core/recovery/liveness.ts';
import { createAtlas } from '../src/service/createAtlas.ts';
import { silentLog, systemPorts } from '../src/service/ports.ts';
import { Workers } from '../src/workers/workers.ts';
import { type GitWorkspace, makeGitWorkspace } from '../test/support/fixtures/gitWorkspace.ts';
import { PROJECT } from '../test/support/project.ts';
import { findChromium } from '../test/support/vscode/window.ts';
import { type Theme, Workbench } from '../test/support/vscode/workbench.ts';
import { createSampleTask } from './sampleTask.mts';
import { stateSheets } from './stateSheets.mts';

const STATUS = 'atlas-hooks.atlas-hooks.atlas.status';
/** At most 256 colours, chosen with care. */
const QUALITY = { minQuality: 90, maxQuality: 100, speed: 1 };
const VIEWPORT = { width: 1280, height: 800 };

interface Area {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

/** A picture of the window, or of a part of it, at a path of the project. */
async function shoot(workbench: Workbench, file: string, clip?: Area): Promise<void> {
  const target = path.join(PROJECT, file);
  mkdirSync(path.dirname(target), { recursive: true });
  // The pointer would leave a tooltip in the picture.
  await workbench.page.mouse.move(VIEWPORT.width / 2, 2);
  // Those that are shipped count: the pictures were a fifth of the package.
  const png = pngQuantizeSync(await workbench.page.screenshot(clip === undefined ? {} : { clip }), QUALITY);
  writeFileSync(target, losslessCompressPngSync(png));
  console.log(`${file}: ${Math.round(statSync(target).size / 1024)} KB`);
}

async function showTask(workbench: Workbench): Promise<void> {
  await workbench.statusItem(STATUS).waitFor();
  if ((await workbench.treeRows('fix null').count()) === 0) await workbench.openSidebar('Atlas');
  await workbench.treeRows('fix null').first().waitFor();
  await workbench.palette('Atlas: Open HOOK.md');
  await workbench.webview().locator('h1').first().waitFor();
}

/** The whole window in some themes, with the task as it is. */
async function themes(workbench: Workbench, files: readonly (readonly [Theme, string])[]): Promise<void> {
  for (const [theme, file] of files) {
    await workbench.useTheme(theme);
    await showTask(workbench);
    await shoot(workbench, file);
  }
}

const SIDE: Area = { x: 0, y: 35, width: 348, height: 380 };
const PANEL: Area = { x: 348, y: 35, width: 932, height: 480 };

/** What the steps of the walkthrough show. */
async function walkthrough(workbench: Workbench): Promise<void> {
  await workbench.useTheme('Default Dark Modern');
  await showTask(workbench);
  await shoot(workbench, 'media/walkthrough/step.png', SIDE);
  await shoot(workbench, 'media/walkthrough/hook.png', PANEL);
  await workbench.palette('Atlas: Start Task');
  await workbench.quickType('fix the null pointer in the configuration');
  await workbench.page.locator('.quick-input-list .monaco-list-row', { hasText: 'bug' }).first().waitFor();
  await shoot(workbench, 'media/walkthrough/start.png', { x: 330, y: 0, width: 620, height: 400 });
  await workbench.page.keyboard.press('Escape');
  await workbench.palette('Atlas: Record Checkpoint');
  await workbench.quickInput.fill('Server is checked; Database and Cache are next');
  await shoot(workbench, 'media/walkthrough/checkpoint.png', { x: 330, y: 0, width: 620, height: 400 });
  await workbench.page.keyboard.press('Escape');
}

/** Lets an agent own the running step and kills it, as a crash would. */
async function killAgent(root: string, workspace: string, id: string): Promise<void> {
  const file = path.join(root, 'workspaces', workspace, 'tasks', id, 'hook.json');
  const { current_step: step } = JSON.parse(readFileSync(file, 'utf8')) as TaskRecord;
  const args = [root, workspace, id, String(step?.step_index), String(step?.attempt)];
  const tsx = path.join(PROJECT, 'node_modules', '.bin', 'tsx');
  const agent = spawn(tsx, [path.join(PROJECT, 'test', 'host', 'agentProcess.ts'), ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
    detached: true,
  });
  await once(agent.stdout, 'data');
  if (agent.pid !== undefined) process.kill(-agent.pid, 'SIGKILL');
  await once(agent, 'exit');
}

/** Workers that translate a manual: one is done, one works, one has died, and what is to be done next. */
async function hangWork(sample: GitWorkspace): Promise<void> {
  const ports = systemPorts(sample.atlasHome, '0.1.0', silentLog);
  const { slinging, steps } = unwrap(Workers.open(sample.folder, ports));
  const tasks = ['intro', 'install', 'api', 'faq'].map((id) => ({
    id: `translate-${id}`,
    type: 'translate',
    input: {},
  }));
  const check = { id: 'proofread', type: 'review', input: {}, blockedBy: tasks.map(({ id }) => id) };
  unwrap(await slinging.addTasks([...tasks, check]));
  unwrap(
    await slinging.createConvoy({
      id: 'manual',
      title: 'The manual in French',
      tasks: [...tasks, check].map(({ id }) => id),
    }),
  );
  const claim = async (worker: string, id: string, owner: ProcessIdentity) => {
    unwrap(await slinging.sling({ worker, task: { id } }));
    return unwrap(await steps.claim({ worker, owner })).lease;
  };
  const self = ports.processes.self();
  const done = await claim('translators/ada', 'translate-intro', self);
  writeFileSync(path.join(sample.folder, '.forge', 'hooks', 'translators', 'ada', 'intro.fr.md'), '# Introduction\n');
  unwrap(await steps.ending.end(done, 'complete'));
  await claim('translators/bob', 'translate-install', self);
  const dead = spawn(process.execPath, ['-e', '0']);
  await once(dead, 'exit');
  await claim('translators/cem', 'translate-api', { ...self, pid: dead.pid ?? 0 });
}

/** The Workers view, from a repository of its own. */
async function workers(): Promise<void> {
  const sample = await makeGitWorkspace();
  await hangWork(sample);
  const workbench = await Workbench.open({ workspace: sample.folder, env: sample.env, viewport: VIEWPORT });
  try {
    await workbench.useTheme('Default Dark Modern');
    await workbench.openSidebar('Atlas');
    for (const [title, open] of [
      ['Tasks', 'false'],
      ['Workers', 'true'],
    ] as const) {
      const pane = workbench.page.locator('.pane-header', { hasText: title });
      await pane.waitFor();
      if ((await pane.getAttribute('aria-expanded')) !== open) await pane.click();
    }
    for (const text of [/^ada/, /^Evidence/, /^Tasks/]) await workbench.expand(workbench.treeRows(text).first());
    await workbench
      .treeRows(/^The manual in French/)
      .first()
      .waitFor();
    await shoot(workbench, 'docs/images/workers-dark.png', { x: 0, y: 35, width: 348, height: 660 });
  } finally {
    await workbench.close();
    sample.dispose();
  }
}

/** The extension's icon: the motif of the activity bar on a ground of its own. */
async function icon(): Promise<void> {
  const svg = readFileSync(path.join(PROJECT, 'media', 'atlas.svg'), 'utf8').replace(
    '<svg ',
    '<svg style="width:176px;height:176px;color:#fff" ',
  );
  const browser = await chromium.launch({ executablePath: findChromium() ?? 'chromium', args: ['--no-sandbox'] });
  const page = await browser.newPage({ viewport: { width: 256, height: 256 } });
  const style =
    'margin:0;display:grid;place-items:center;height:256px;background:linear-gradient(160deg,#1c6dd0,#123a7a)';
  await page.setContent(`<body style="${style}">${svg}</body>`);
  await page.screenshot({ path: path.join(PROJECT, 'media', 'icon.png') });
  await browser.close();
}

/** The preview of a restore, from a repository of its own. */
async function restorePreview(): Promise<void> {
  const sample = await makeGitWorkspace();
  const write = (name: string, text: string): void => writeFileSync(path.join(sample.folder, name), text);
  for (const name of ['config.go', 'server.go', 'legacy.go']) write(name, 'package main\n');
  const ports = systemPorts(sample.atlasHome, '0.1.0', silentLog);
  const atlas = await createAtlas(ports).drive();
  const title = 'fix null pointer in config';
  const { ref } = unwrap(await atlas.startTask({ title, template: 'task', folder: sample.folder }));
  const { files } = await atlas.snapshots();
  const record = async (description: string): Promise<void> => {
    const made = unwrap(await atlas.checkpoint(ref, description));
    await files.take(ref, [made.hook.checkpoints.at(-1)?.checkpoint_id ?? '']);
  };
  await record('Server is checked, tests pass');
  write('config.go', 'package main // rewritten\n');
  write('config_test.go', 'package main\n');
  rmSync(path.join(sample.folder, 'legacy.go'));
  await record('Database is checked, too');
  const workbench = await Workbench.open({ workspace: sample.folder, env: sample.env, viewport: VIEWPORT });
  try {
    await workbench.useTheme('Default Dark Modern');
    await workbench.openSidebar('Atlas');
    await workbench.treeRows(title).first().waitFor();
    await workbench.palette('Atlas: Restore Checkpoint');
    await workbench.quickPick(/Server is checked/u);
    await workbench.webview().getByRole('button', { name: 'Restore 3 Files' }).waitFor();
    await workbench.expand(workbench.treeRows('implement').first());
    await shoot(workbench, 'docs/images/restore-dark.png', { x: 0, y: 0, width: 1280, height: 500 });
  } finally {
    await workbench.close();
    sample.dispose();
  }
}

/** The pictures of README, documents and walkthrough. */
async function documents(): Promise<void> {
  await icon();
  const sample = await makeGitWorkspace();
  const ref = await createSampleTask(sample.folder, sample.env);
  const workbench = await Workbench.open({ workspace: sample.folder, env: sample.env, viewport: VIEWPORT });
  try {
    await themes(workbench, [
      ['Default Light Modern', 'docs/images/tasks-light.png'],
      ['Default Dark Modern', 'docs/images/tasks-dark.png'],
      ['Default High Contrast', 'docs/images/tasks-high-contrast.png'],
      ['Default High Contrast Light', 'docs/images/tasks-high-contrast-light.png'],
    ]);
    await walkthrough(workbench);
    await killAgent(sample.atlasHome, ref.workspace, ref.id);
    await workbench.statusItem(STATUS).filter({ hasText: 'Interrupted' }).waitFor();
    await showTask(workbench);
    await shoot(workbench, 'docs/images/recovering-dark.png');
    await shoot(workbench, 'media/walkthrough/recover.png', PANEL);
  } finally {
    await workbench.close();
    sample.dispose();
  }
  await workers();
  await restorePreview();
}

const [, , only] = process.argv;
if (only === 'restore') await restorePreview();
else {
  if (only !== 'states') await documents();
  if (only !== 'docs') await stateSheets();
}
