import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { PROJECT } from '../../support/project';

interface MenuItem {
  readonly command: string;
  readonly when?: string;
  readonly group?: string;
}

interface Manifest {
  readonly contributes: {
    readonly commands: readonly { readonly command: string; readonly title: string; readonly icon?: string }[];
    readonly menus: Readonly<Record<string, readonly MenuItem[]>>;
  };
}

function json(name: string): unknown {
  return JSON.parse(readFileSync(path.join(PROJECT, name), 'utf8'));
}

const { commands, menus } = (json('package.json') as Manifest).contributes;
const texts = json('package.nls.json') as Record<string, string>;
const titles = new Map(commands.map(({ command, title }) => [command, texts[title.slice(1, -1)] ?? '']));

/** The commands that ask something, besides which task, item or worker is meant, before they act. */
const ASKING = `
  startTask checkpoint submitStepOutput answer acceptDespiteFailure reject recover abandonTask failTask exportHook exportReceipts verifyCommit
  showCheckpointFile restoreCheckpoint restoreFiles cleanUpHooks destroyWorkspace setUpAgent installGitHooks sortTasks showTaskActions
  addInboxItem completeInboxItem cancelInboxItem addWorkerTask slingTask runWorker recoverWorker handOffWork
  completeWork failWork clearWorker createConvoy showWorker repairWorkers
  resumeSessionWith useSessionTemplate forgetSession`;

/** The commands that only a row of a list can start. */
const ROW_ONLY = ['atlas.showMoreTasks', 'atlas.showMoreInboxItems', 'atlas.showMoreWorkers', 'atlas.showMoreSessions'];

describe('the commands of the manifest', () => {
  it('end with an ellipsis exactly where they ask before they act', () => {
    const asking = ASKING.trim()
      .split(/\s+/u)
      .map((name) => `atlas.${name}`);
    const ellipses = [...titles].filter(([, title]) => title.endsWith('…')).map(([command]) => command);
    expect(ellipses.sort()).toEqual(asking.sort());
  });

  it('have titles that no other command has', () => {
    const seen = [...titles.values()].map((title) => title.replace(/…$/u, ''));
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('have an icon wherever they are shown as one', () => {
    const shown = Object.values(menus)
      .flat()
      .filter(({ group = '' }) => /^(inline|navigation)\b/u.test(group));
    expect(shown.length).toBeGreaterThan(20);
    for (const { command } of shown)
      expect(commands.find((each) => each.command === command)?.icon, command).toMatch(/^\$\([a-z-]+\)$/u);
  });

  it('leave the palette where only a row can start them', () => {
    const hidden = (menus['commandPalette'] ?? []).filter(({ when }) => when === 'false').map(({ command }) => command);
    expect(hidden.sort()).toEqual([...ROW_ONLY].sort());
  });

  it('are no longer named in texts by titles that they had', () => {
    const named = Object.values(texts).flatMap((text) =>
      [...text.matchAll(/\*Atlas: ([^*]+)\*/gu)].map((m) => m[1] ?? ''),
    );
    expect(named.length).toBeGreaterThan(0);
    for (const name of named) expect([...titles.values()].map((title) => title.replace(/…$/u, ''))).toContain(name);
  });
});
