/* The matrix of `npm run screenshots`: every state on every surface, as texts and on sheets of pictures. */
import { Transformer } from '@napi-rs/image';
import { mkdirSync, rmSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { Locator } from 'playwright-core';
import { type GitWorkspace, makeGitWorkspace } from '../test/support/fixtures/gitWorkspace.ts';
import { OUT, PROJECT } from '../test/support/project.ts';
import {
  type MatrixState,
  STATES,
  notified,
  openPanel,
  prepareMatrix,
  reach,
  readSurfaces,
} from '../test/support/vscode/stateMatrix.ts';
import { openBrowser } from '../test/support/vscode/window.ts';
import { type Theme, Workbench } from '../test/support/vscode/workbench.ts';

const GOLDEN = path.join(PROJECT, 'test', 'golden', 'states');
const STATUS = 'atlas-hooks.atlas-hooks.atlas.status';
const THEMES = {
  'Default Dark Modern': 'dark',
  'Default Light Modern': 'light',
  'Default High Contrast': 'high-contrast',
  'Default High Contrast Light': 'high-contrast-light',
} as const satisfies Readonly<Record<Theme, string>>;
/** The narrowest side bar, and the activity bar beside it. */
const TREE_WIDTH = 170;
const ACTIVITY_WIDTH = 48;
const HEIGHT = 1000;
const WIDTHS = [1280, 400] as const;
/** How many panels stand beside each other on a sheet, and how wide each is there, by the panel's width. */
const GRID: Readonly<Record<(typeof WIDTHS)[number], readonly [columns: number, shown: number]>> = {
  1280: [3, 640],
  400: [6, 320],
};
/** Enough to read every word; the sheets are looked at, not measured. */
const QUALITY = 60;

/** A picture with what stands below it. */
interface Shot {
  readonly name: string;
  readonly pictures: readonly Buffer[];
}

/** Puts pictures on one sheet, as a file of the golden folder and, for programs that don't know WebP, as a PNG in `out`. */
async function sheet(name: string, shots: readonly Shot[], [columns, width]: readonly [number, number]): Promise<void> {
  const browser = await openBrowser();
  try {
    const page = await browser.newPage({ viewport: { width: columns * (width + 16) + 16, height: 600 } });
    const image = (png: Buffer): string => `<img src="data:image/png;base64,${png.toString('base64')}">`;
    const figures = shots.map(
      ({ name: label, pictures }) =>
        `<figure><figcaption>${label}</figcaption>${pictures.map(image).join('')}</figure>`,
    );
    await page.setContent(
      `<style>body{margin:16px;display:grid;grid-template-columns:repeat(${columns},${width}px);gap:16px;background:#777}
       figure{margin:0}figcaption{font:bold 14px sans-serif;margin-bottom:4px}img{display:block;max-width:100%;margin-bottom:4px}</style>${figures.join('')}`,
    );
    await page.waitForFunction('[...document.images].every((image) => image.complete)');
    const png = await page.screenshot({ fullPage: true });
    mkdirSync(path.join(OUT, 'screenshots'), { recursive: true });
    writeFileSync(path.join(OUT, 'screenshots', `states-${name}.png`), png);
    const file = path.join(GOLDEN, `${name}.webp`);
    writeFileSync(file, await new Transformer(png).webp(QUALITY));
    console.log(`${path.relative(PROJECT, file)}: ${Math.round(statSync(file).size / 1024)} KB`);
  } finally {
    await browser.close();
  }
}

async function shotOf(locator: Locator): Promise<Buffer[]> {
  return (await locator.count()) === 0 ? [] : [await locator.first().screenshot()];
}

/** Brings a task into every state, one after the other, and takes what the small surfaces show of each. */
async function small(workbench: Workbench, workspace: GitWorkspace): Promise<Shot[]> {
  const shots: Shot[] = [];
  for (const [name, state] of STATES) {
    const ref = await reach(workspace, state, async () => notified(workbench, state));
    const text = await readSurfaces(workbench, workspace, [state, ref]);
    writeFileSync(path.join(GOLDEN, `${name}.txt`), text);
    const badge = workbench.page.locator('.activitybar .action-item', {
      has: workbench.page.locator('a.action-label[aria-label^="Atlas"]'),
    });
    const pictures: Buffer[] = [];
    for (const part of [workbench.treeRows(state.title), workbench.statusItem(STATUS), badge])
      pictures.push(...(await shotOf(part)));
    if (state.notifies !== undefined) pictures.push(...(await shotOf(await workbench.notifications(state.title))));
    shots.push({ name, pictures });
    await workbench.dismissNotifications();
  }
  return shots;
}

/** Makes the side bar as narrow as it gets. */
async function narrow({ page }: Workbench): Promise<void> {
  const { x = 0, width = 0 } = (await page.locator('.part.sidebar').boundingBox()) ?? {};
  await page.mouse.move(x + width, HEIGHT / 2);
  await page.mouse.down();
  await page.mouse.move(ACTIVITY_WIDTH + TREE_WIDTH, HEIGHT / 2, { steps: 5 });
  await page.mouse.up();
  await page.mouse.move(600, 2);
}

/** Shows a row for each task, and none of their steps. */
async function collapse(workbench: Workbench): Promise<void> {
  await workbench.palette('Atlas: Focus on Tasks View');
  const tasks = workbench.page.locator('.pane-header', { hasText: 'Tasks' });
  await tasks.hover();
  await workbench.page.locator('.pane-header a.action-label[aria-label="Collapse All"]').first().click();
  await workbench.expand(workbench.treeRows('repo').first());
  await workbench.expand(workbench.treeRows(/^Finished/u).first());
}

async function panels(workbench: Workbench, theme: Theme): Promise<void> {
  const shots = new Map<number, Shot[]>(WIDTHS.map((width) => [width, []]));
  for (const [name, state] of [...STATES].reverse()) {
    for (const width of WIDTHS) {
      const picture = await panelPicture(workbench, state, width);
      shots.get(width)?.push({ name, pictures: [picture] });
    }
  }
  for (const width of WIDTHS) await sheet(`panel-${THEMES[theme]}-${width}`, shots.get(width) ?? [], GRID[width]);
}

async function panelPicture(workbench: Workbench, state: MatrixState, width: number): Promise<Buffer> {
  const left = ACTIVITY_WIDTH + TREE_WIDTH;
  await workbench.page.setViewportSize({ width: left + width, height: HEIGHT });
  await openPanel(workbench, state);
  // The pointer would leave a tooltip in the picture.
  await workbench.page.mouse.move(left + width / 2, 2);
  return workbench.page.screenshot({ clip: { x: left, y: 70, width, height: HEIGHT - 92 } });
}

/** Takes all pictures and writes all texts. */
export async function stateSheets(): Promise<void> {
  rmSync(GOLDEN, { recursive: true, force: true });
  mkdirSync(GOLDEN, { recursive: true });
  const workspace = await makeGitWorkspace();
  await prepareMatrix(workspace);
  Object.assign(process.env, workspace.env);
  const viewport = { width: ACTIVITY_WIDTH + TREE_WIDTH + WIDTHS[0], height: HEIGHT };
  const workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env, viewport });
  try {
    await workbench.useTheme('Default Dark Modern');
    await workbench.openSidebar('Atlas');
    const shots = await small(workbench, workspace);
    await sheet('tree-status-badge-notification', shots.reverse(), [4, 470]);
    await narrow(workbench);
    await collapse(workbench);
    const trees: Shot[] = [];
    for (const theme of Object.keys(THEMES) as Theme[]) {
      await workbench.useTheme(theme);
      await panels(workbench, theme);
      const clip = { x: 0, y: 35, width: ACTIVITY_WIDTH + TREE_WIDTH, height: 560 };
      trees.push({ name: THEMES[theme], pictures: [await workbench.page.screenshot({ clip })] });
    }
    await sheet('tree-170', trees, [4, ACTIVITY_WIDTH + TREE_WIDTH]);
  } finally {
    await workbench.close();
    workspace.dispose();
  }
}
