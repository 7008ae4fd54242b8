import type { Locator } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { VerifyTeam } from '../support/fixtures/verifyTeam';
import { Workbench } from '../support/vscode/workbench';

/* Verify Commit… in a real window, in a clone with one commit of each kind. */

describe('Verify Commit… in the window', () => {
  let team: VerifyTeam;
  let workbench: Workbench;

  beforeAll(async () => {
    team = await VerifyTeam.make();
    const { ana } = team;
    ana.commit('Proven change', { 'a.txt': 'two\n' });
    await ana.validate();
    await ana.ok('receipts', 'attach');
    ana.commit('Hasty change', { 'a.txt': 'three\n' });
    ana.commit('Change of a check', { 'test/unit.sh': 'true\n' });
    workbench = await Workbench.open({
      workspace: ana.folder,
      env: { ATLAS_HOME: ana.store, GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1' },
    });
    await workbench.openSidebar('Atlas');
  });

  afterAll(async () => {
    await workbench.close();
    team.dispose();
  });

  /** Verifies a commit by its subject; what is said of it, and its details once they are asked for. */
  async function verified(subject: string, said: string): Promise<string> {
    await workbench.palette('Atlas: Verify Commit…');
    await workbench.quickPick(subject);
    const toast: Locator = workbench.toast(said).first();
    await toast.waitFor();
    // The notification of what is under way goes a moment later, and the one above it moves.
    await workbench.toast('Verifying the commit').waitFor({ state: 'detached' });
    await workbench.screenshot(`verify-commit-${subject.replaceAll(' ', '-').toLowerCase()}`);
    await toast.getByRole('button', { name: 'Show' }).click();
    await workbench.page.locator('.tab.active', { hasText: 'atlas-verify.txt' }).waitFor();
    const lines = workbench.page.locator('.editor-instance .view-line', { hasText: subject });
    await lines.first().waitFor();
    // The editor writes spaces that don't break.
    const text = (await workbench.page.locator('.editor-instance .view-lines').first().innerText()).replaceAll(
      '\u00a0',
      ' ',
    );
    await workbench.page.keyboard.press('Control+w');
    return text;
  }

  it('says that a commit has every receipt that its base demands, and which those are', async () => {
    const text = await verified('Proven change', 'The commit has every receipt that origin/main demands.');
    expect(text).toMatch(/PASS/u);
    expect(text).toContain('unit');
  });

  it('says what a commit lacks', async () => {
    const text = await verified('Hasty change', 'The commit lacks receipts that origin/main demands.');
    expect(text).not.toMatch(/^PASS/mu);
    expect(text).toContain('unit');
  });

  it('says that a human has to look at a protected path', async () => {
    const text = await verified(
      'Change of a check',
      'The commit changes protected paths, so a human has to review it.',
    );
    expect(text).toContain('test/unit.sh');
  });
});
