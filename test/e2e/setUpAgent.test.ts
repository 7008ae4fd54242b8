import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type GitWorkspace, makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { Workbench } from '../support/vscode/workbench';

const BEFORE = '{\n  // theirs\n  "model": "opus"\n}\n';

describe('Set Up Agent', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;

  const fileOf = (name: string): string => path.join(workspace.folder, ...name.split('/'));
  const settings = (): string => readFileSync(fileOf('.claude/settings.json'), 'utf8');
  const choose = async (...picks: readonly string[]): Promise<void> => {
    await workbench.palette('Atlas: Set Up Agent');
    for (const pick of picks) await workbench.quickPick(pick);
  };
  const diffTab = () => workbench.page.locator('.tab', { hasText: 'What Atlas changes for Claude Code' });

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    mkdirSync(fileOf('.claude'));
    writeFileSync(fileOf('.claude/settings.json'), BEFORE);
    workbench = await Workbench.open({ workspace: workspace.folder, env: workspace.env });
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  afterEach(async ({ task: { name, result } }) => {
    if (result?.state === 'fail') await workbench.screenshot(`failed-${name}`);
  });

  it('shows what would change, and changes nothing unless that is wanted', async () => {
    await choose('Claude Code', 'Lifecycle hooks only');
    await workbench.quickTitle('What Atlas changes for Claude Code');
    await diffTab().waitFor();
    await workbench.page.locator('.modified-in-monaco-diff-editor .view-line', { hasText: '"SessionStart"' }).waitFor();
    await workbench.screenshot('set-up-agent');
    await workbench.quickPick('Cancel');
    await diffTab().waitFor({ state: 'detached' });
    expect(settings()).toBe(BEFORE);
  });

  it('installs hooks and section, beside what is there', async () => {
    await choose('Claude Code', 'Lifecycle hooks and a section in CLAUDE.md');
    await workbench.page.locator('.multi-diff-root-floating-menu, .multiDiffEntry').first().waitFor();
    await workbench.screenshot('set-up-agent-two-files');
    await workbench.quickPick('Apply this change');
    await workbench.toast('The lifecycle hooks of Claude Code are installed.').waitFor();
    expect(settings()).toContain('// theirs');
    expect(settings()).toContain('lifecycle session-start --host claude');
    expect(readFileSync(fileOf('CLAUDE.md'), 'utf8')).toContain('atlas hook synopsis');
  });

  it('fires each hook, and says that it works', async () => {
    await workbench.toast('are installed').getByRole('button', { name: 'Test Them' }).click();
    await workbench.toast('All lifecycle hooks of Claude Code work.').waitFor();
    const lines = workbench.page.locator('.editor-instance .view-line');
    await lines.filter({ hasText: /SessionStart:\sworks\s\(\d+\sms\)/u }).waitFor();
    await workbench.screenshot('set-up-agent-tried');
  });

  it('takes everything out again', async () => {
    await choose('Claude Code', 'Remove', 'Apply this change');
    await workbench.toast('The lifecycle hooks of Claude Code were removed.').waitFor();
    expect(settings()).toBe(BEFORE);
    expect(existsSync(fileOf('CLAUDE.md'))).toBe(false);
  });

  it('leaves a file alone that it does not understand, and says what to do', async () => {
    writeFileSync(fileOf('.claude/settings.json'), '{ "hooks": ');
    await workbench.palette('Atlas: Set Up Agent');
    await workbench.quickRows("its settings can't be read").waitFor();
    await workbench.quickPick('Claude Code');
    await workbench.toast('settings.json').waitFor();
    expect(settings()).toBe('{ "hooks": ');
  });
});
