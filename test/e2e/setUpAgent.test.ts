import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type GitWorkspace, makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { Workbench } from '../support/vscode/workbench';

const BEFORE = '{\n  // theirs\n  "model": "opus"\n}\n';

describe('Set Up Agent', () => {
  let workspace: GitWorkspace;
  let workbench: Workbench;
  /** Where hosts keep what a user set for all repositories. */
  let home: string;

  const fileOf = (name: string): string => path.join(workspace.folder, ...name.split('/'));
  const settings = (): string => readFileSync(fileOf('.claude/settings.json'), 'utf8');
  const choose = async (...picks: readonly string[]): Promise<void> => {
    await workbench.palette('Atlas: Set Up Agent');
    for (const pick of picks) await workbench.quickPick(pick);
  };
  const answer = async (question: string, button: string): Promise<void> => {
    await workbench.dialog.filter({ hasText: question }).getByRole('button', { name: button }).click();
    await workbench.dialog.filter({ hasText: question }).waitFor({ state: 'detached' });
  };
  const config = (): string => readFileSync(path.join(workspace.atlasHome, 'config.yaml'), 'utf8');
  const homeFile = (name: string): string => path.join(home, ...name.split('/'));
  const diffTab = () => workbench.page.locator('.tab', { hasText: 'What Atlas changes for Claude Code' });

  beforeAll(async () => {
    workspace = await makeGitWorkspace();
    mkdirSync(fileOf('.claude'));
    writeFileSync(fileOf('.claude/settings.json'), BEFORE);
    home = path.join(workspace.root, 'home');
    mkdirSync(home);
    workbench = await Workbench.open({ workspace: workspace.folder, env: { ...workspace.env, HOME: home } });
  });

  afterAll(async () => {
    await workbench.close();
    workspace.dispose();
  });

  it('shows what would change, and changes nothing unless that is wanted', async () => {
    await choose('Claude Code', 'Lifecycle hooks only');
    await answer('Observe Claude Code sessions in all repositories?', 'Not Now');
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
    await answer('Observe Claude Code sessions in all repositories?', 'Not Now');
    await workbench.page.locator('.multi-diff-root-floating-menu, .multiDiffEntry').first().waitFor();
    await workbench.screenshot('set-up-agent-two-files');
    await workbench.quickPick('Apply this change');
    await workbench.toast('The lifecycle hooks of Claude Code are installed.').waitFor();
    expect(settings()).toContain('// theirs');
    expect(settings()).toContain('lifecycle session-start --host claude');
    expect(readFileSync(fileOf('CLAUDE.md'), 'utf8')).toContain('atlas hook synopsis');
    // Who doesn't want that now is observed nowhere.
    expect(existsSync(homeFile('.claude'))).toBe(false);
    expect(existsSync(path.join(workspace.atlasHome, 'config.yaml'))).toBe(false);
  });

  it('fires each hook, and says that it works', async () => {
    await workbench.toast('are installed').getByRole('button', { name: 'Test Them' }).click();
    await workbench.toast('All lifecycle hooks of Claude Code work.').waitFor();
    const lines = workbench.page.locator('.editor-instance .view-line');
    await lines.filter({ hasText: /SessionStart:\sworks\s\(\d+\sms\)/u }).waitFor();
    await workbench.screenshot('set-up-agent-tried');
  });

  it('takes everything out again', async () => {
    await choose('Claude Code', 'Remove the lifecycle hooks', 'Apply this change');
    await workbench.toast('The lifecycle hooks of Claude Code were removed.').waitFor();
    expect(settings()).toBe(BEFORE);
    expect(existsSync(fileOf('CLAUDE.md'))).toBe(false);
  });

  it('says what observing needs before it asks, asks about transcripts apart, and shows the change', async () => {
    await choose('Codex', 'Observe sessions');
    const dialog = workbench.dialog.filter({ hasText: 'Observe Codex sessions in all repositories?' });
    for (const said of [
      'without known kinds of secrets',
      'choose Trust',
      '"codex exec" skips hooks',
      '~/.codex/hooks.json',
    ])
      await dialog.filter({ hasText: said }).waitFor();
    await workbench.screenshot('set-up-agent-observe');
    await answer('Observe Codex sessions in all repositories?', 'Observe Sessions');
    await answer("Also read Codex's transcripts?", "Don't Read");
    await workbench.page.locator('.tab', { hasText: 'What Atlas changes for Codex: ~/.codex/hooks.json' }).waitFor();
    expect(existsSync(homeFile('.codex'))).toBe(false);
    await workbench.quickPick('Apply this change');
    const toast = workbench.toast('Codex is set up. Codex runs none of these hooks until you trust them');
    await toast.getByRole('button', { name: 'Open Codex' }).waitFor();
    await workbench.screenshot('set-up-agent-observed');
    expect(readFileSync(homeFile('.codex/hooks.json'), 'utf8')).toContain('observe.sh codex');
    expect(config()).toContain('track: true');
    expect(config()).not.toContain('codex');
    // The repository's own files are as they were.
    expect(existsSync(fileOf('.codex'))).toBe(false);
    await workbench.openSidebar('Atlas');
    await workbench.page.locator('.pane-header', { hasText: 'Sessions' }).waitFor();
  });

  it('offers OpenCode, whose plugin comes with a download that is told before', async () => {
    await choose('OpenCode', 'Observe sessions');
    await workbench.dialog.filter({ hasText: '63 MB' }).waitFor();
    await answer('Observe OpenCode sessions in all repositories?', 'Observe Sessions');
    await answer("Also read OpenCode's transcripts?", 'Read Transcripts');
    await workbench.quickPick('Apply this change');
    await workbench.toast('OpenCode sessions are observed from their next start.').waitFor();
    expect(existsSync(homeFile('.config/opencode/plugins/atlas.js'))).toBe(true);
    expect(config()).toContain('read_transcripts: [opencode]');
  });

  it('stops observing one host, whose settings are as they were, while another is observed', async () => {
    await choose('Codex', 'Stop observing sessions', 'Apply this change');
    await workbench.toast('Codex sessions are no longer observed.').waitFor();
    expect(existsSync(homeFile('.codex/hooks.json'))).toBe(false);
    expect(config()).toContain('track: true');
    await workbench.palette('Atlas: Stop Observing Sessions');
    await workbench.toast('Atlas no longer observes sessions.').waitFor();
    expect(config()).toContain('track: false');
    expect(config()).toContain('read_transcripts: []');
    // A yes that was taken back is asked for again.
    await workbench.palette('Atlas: Set Up Agent');
    await workbench.quickPick('OpenCode');
    await workbench.quickPick('Observe sessions');
    await answer('Observe OpenCode sessions in all repositories?', 'Not Now');
    expect(config()).toContain('track: false');
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
