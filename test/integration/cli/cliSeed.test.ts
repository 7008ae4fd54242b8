import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/*
 * What the first specification promises of the command: its sections "CLI Integration", "CLI Commands" and "Usage
 * Examples", command for command.
 */

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

interface Checkpoints {
  readonly checkpoints: readonly { readonly trigger: string; readonly description: string }[];
}

async function triggersOf(desk: Desk, ...args: readonly string[]): Promise<string[]> {
  const { checkpoints } = (await desk.json('hook', 'checkpoints', ...args)) as unknown as Checkpoints;
  return checkpoints.map(({ trigger }) => trigger);
}

describe.concurrent('CLI Commands', { timeout: 60_000 }, () => {
  it('start creates hook.json and HOOK.md, and says where', async () => {
    const desk = new Desk(cli, 'start');
    const out = await desk.ok('start', 'task description', '--template', 'bugfix');
    const file = /^HOOK\.md: (.+)$/mu.exec(out)?.[1] ?? '';
    expect(existsSync(file)).toBe(true);
    const hook = JSON.parse(readFileSync(path.join(path.dirname(file), 'hook.json'), 'utf8')) as { state: string };
    expect(hook.state).toBe('step_pending');
    expect(out).toMatch(/^State: +Ready \(analyze, step 1 of 7, attempt 1 of 3\)$/mu);
  });

  it('status and hook status show state, step and the last checkpoint with its age', async () => {
    const desk = new Desk(cli, 'status');
    const ref = await desk.running('task', 'Sample', 2.5 * MINUTE);
    const made = await desk.atlas(2.2 * MINUTE).checkpoint(ref, 'half of it');
    if (!made.ok) throw made.error;
    const id = made.value.hook.checkpoints.at(-1)?.checkpoint_id ?? '';
    expect(id).toMatch(/^ckpt-[0-9a-f]{8}$/u);
    for (const name of [['status'], ['hook', 'status']]) {
      const out = await desk.ok(...name);
      expect(out).toMatch(/^State: +Running \(implement, step 1 of \d, attempt 1 of 3\)$/mu);
      expect(out).toMatch(new RegExp(`^Last Checkpoint: ${id} \\(2 min ago, manual\\) half of it$`, 'mu'));
    }
  });

  it('checkpoint makes one in the current step, and hook checkpoints lists all with their triggers', async () => {
    const desk = new Desk(cli, 'checkpoints');
    await desk.running();
    expect(await desk.ok('checkpoint', 'description of progress')).toMatch(
      /^Recorded checkpoint ckpt-[0-9a-f]{8}\.\n/u,
    );
    expect(await desk.ok('checkpoint', '--trigger', 'git_commit', '--auto', 'Commit: message')).toBe('');
    const out = await desk.ok('hook', 'checkpoints');
    const [head, ...rows] = out.trimEnd().split('\n');
    expect(head?.split(/ {2,}/u)).toEqual(['CHECKPOINT', 'TIME', 'TRIGGER', 'STEP', 'DESCRIPTION']);
    expect(rows.map((row) => row.split(/ {2,}/u).slice(2))).toEqual([
      ['manual', 'implement', 'description of progress'],
      ['git_commit', 'implement', 'Commit: message'],
    ]);
  });

  it('checkpoint --auto is silent where there is nothing to do', async () => {
    const desk = new Desk(cli, 'auto');
    const nothing = await desk.run('checkpoint', '--trigger', 'git_commit', '--auto', 'Commit: message');
    expect(nothing).toEqual({ code: 0, out: '', err: '' });
    await desk.running();
    desk.settings({ auto_checkpoint: { on_commit: false } });
    const off = await desk.run('checkpoint', '--trigger', 'git_commit', '--auto', 'Commit: message');
    expect(off).toEqual({ code: 0, out: '', err: '' });
    expect(await triggersOf(desk)).toEqual([]);
    await desk.ok('abandon');
    expect(await desk.run('checkpoint', '--auto', 'over')).toEqual({ code: 0, out: '', err: '' });
    // Without --auto, somebody asked for it.
    expect((await desk.run('checkpoint', 'over')).code).not.toBe(0);
  });

  it('hook regenerate writes a corrupted HOOK.md again, byte for byte', async () => {
    const desk = new Desk(cli, 'regenerate');
    const ref = await desk.running();
    await desk.ok('step', 'note', 'half');
    const before = desk.hookMarkdown(ref);
    writeFileSync(desk.fileOf(ref, 'HOOK.md'), 'garbage');
    expect(await desk.ok('hook', 'regenerate')).toBe(`Regenerated HOOK.md: ${desk.fileOf(ref, 'HOOK.md')}\n`);
    expect(desk.hookMarkdown(ref)).toBe(before);
  });

  it('hook export prints the history as JSON', async () => {
    const desk = new Desk(cli, 'export');
    const ref = await desk.running();
    const exported = JSON.parse(await desk.ok('hook', 'export', '--format', 'json')) as {
      hook: { task_id: string; history: { trigger: string }[] };
    };
    expect(exported.hook.task_id).toBe(ref.id);
    expect(exported.hook.history.map(({ trigger }) => trigger)).toEqual(['init', 'setup_complete', 'start_step']);
    expect(exported.hook).toEqual(JSON.parse(readFileSync(desk.fileOf(ref, 'hook.json'), 'utf8')));
  });

  it('hook verify-receipt says VALID with its details, and INVALID once the receipt was changed', async () => {
    const desk = new Desk(cli, 'verify');
    desk.settings({ key_derivation: { account: 0 } });
    desk.template('checked', { name: 'check', type: 'validation', validation: ['git --version'] }, { name: 'next' });
    const ref = await desk.running('checked');
    await desk.ok('validate');
    const hookFile = desk.fileOf(ref, 'hook.json');
    const id = /rcpt-[0-9a-f-]+/u.exec(readFileSync(hookFile, 'utf8'))?.[0] ?? '';
    expect(await desk.ok('hook', 'verify-receipt', id)).toBe(`Receipt: ${id}
Step: check
Command: git --version
Exit Code: 0
Key Path: m/44'/236'/0'/0/0
Signature: VALID ✓

This receipt was signed by your ATLAS installation.
The validation command ran and completed successfully.
Files: current.
`);
    desk.write('new.txt', 'new');
    expect(await desk.ok('hook', 'verify-receipt', id)).toContain(
      'Files: OUTDATED: files changed since the run: new.txt.',
    );
    const hook = JSON.parse(readFileSync(hookFile, 'utf8')) as { receipts: { command: string }[] };
    for (const receipt of hook.receipts) receipt.command = 'true';
    writeFileSync(hookFile, JSON.stringify(hook));
    const said = await desk.run('hook', 'verify-receipt', id);
    expect(said.code).toBe(5);
    expect(said.out).toContain('Signature: INVALID\nFailed Check: ');
    expect(said.out).not.toContain('successfully');
  });

  it('cleanup --hooks removes the hook files of finished tasks, and --dry-run only shows them', async () => {
    const desk = new Desk(cli, 'cleanup');
    const old = await desk.running('task', 'Old', 8 * DAY);
    const ended = await desk.atlas(8 * DAY).send(old, { type: 'fail', by: 'human', reason: 'no' });
    if (!ended.ok) throw ended.error;
    const before = desk.digest();
    expect(await desk.ok('cleanup', '--hooks')).toBe('Cleaned up 0 tasks.\n');
    const dry = await desk.ok('cleanup', '--hooks', '--retention', '7d', '--dry-run');
    expect(dry).toMatch(new RegExp(`^TASK +STATE +PAST RETENTION BY\\ncleanup/${old.id} +Failed +1d\\S*\\n`, 'u'));
    expect(dry).toMatch(/\nDry run: nothing was deleted\.\n$/u);
    expect(desk.digest()).toBe(before);
    expect(await desk.ok('cleanup', '--hooks', '--retention', '7d')).toContain('Cleaned up 1 task.');
    expect(existsSync(desk.fileOf(old, 'hook.json'))).toBe(false);
    expect(existsSync(desk.fileOf(old, 'HOOK.md'))).toBe(false);
    expect(existsSync(desk.fileOf(old, 'task.json'))).toBe(true);
  });

  it('workspace destroy deletes the hooks too', async () => {
    const desk = new Desk(cli, 'my-workspace');
    await desk.running();
    const out = await desk.ok('workspace', 'destroy', 'my-workspace', '--yes');
    expect(out).toBe('Destroyed workspace "my-workspace" with 1 task.\n');
    expect(readdirSync(path.join(desk.root, 'workspaces'))).toEqual([]);
    expect(existsSync(path.join(desk.folder, '.git'))).toBe(true);
  });

  it('abandon moves the hook to abandoned', async () => {
    const desk = new Desk(cli, 'abandon');
    await desk.running();
    expect(await desk.ok('abandon')).toMatch(/^The task is abandoned\.\n[\s\S]*\nState: +Abandoned/u);
    expect(await desk.state()).toBe('abandoned');
  });
});

describe.concurrent('Usage Examples', { timeout: 60_000 }, () => {
  it('1: a normal flow with checkpoints made by themselves, to its end', async () => {
    const desk = new Desk(cli, 'example1');
    desk.template(
      'bugfix1',
      { name: 'analyze', type: 'ai' },
      { name: 'implement', type: 'ai' },
      { name: 'git_pr', type: 'git' },
      { name: 'validate', type: 'validation', validation: ['git --version'] },
    );
    desk.git('init', '-q', '--bare', path.join(cli.home, 'example1.git'));
    desk.git('remote', 'add', 'origin', path.join(cli.home, 'example1.git'));
    const started = await desk.json('start', 'fix null pointer in config', '--template', 'bugfix1', '--git-hooks');
    expect(started).toMatchObject({ exit: 0, git_hooks: 'installed', task: { state: 'step_pending' } });
    await desk.ok('step', 'start');
    await desk.ok('step', 'complete', 'analyze', '--attempt', '1');
    await desk.ok('step', 'start');
    const git = (...args: readonly string[]): string => desk.git(...args);
    desk.write('config.ts', 'fixed');
    git('add', 'config.ts');
    git('commit', '-q', '-m', 'fix: nil checks');
    git('push', '-q', '-u', 'origin', 'HEAD');
    // The hooks start a drain of their own; whichever is first turns what they noted.
    await desk.ok('spool', 'drain');
    await desk.ok('step', 'complete', 'implement');
    await desk.ok('step', 'start');
    await desk.ok('checkpoint', '--trigger', 'pr_created', 'https://example.com/pull/1');
    await desk.ok('step', 'complete');
    await desk.ok('step', 'start');
    const validated = await desk.json('validate');
    expect(validated).toMatchObject({ exit: 0, passed: true, task: { state: 'completed', step: null } });
    const triggers = await triggersOf(desk);
    for (const trigger of ['step_complete', 'git_commit', 'git_push', 'pr_created', 'validation'])
      expect(triggers, triggers.join()).toContain(trigger);
    expect(triggers.filter((each) => each === 'git_commit')).toHaveLength(1);
    expect(triggers.filter((each) => each === 'git_push')).toHaveLength(1);
  });

  it('2: a crash is found, HOOK.md says where to go on, and the work goes on from the checkpoint', async () => {
    const desk = new Desk(cli, 'example2');
    const ref = await desk.running('bugfix', 'Sample', 12 * MINUTE);
    const made = await desk.atlas(9 * MINUTE).checkpoint(ref, 'adding nil checks for config.Server');
    if (!made.ok) throw made.error;
    const id = made.value.hook.checkpoints.at(-1)?.checkpoint_id ?? '?';
    expect(await desk.ok('status')).toMatch(/^Health: +Interrupted 9 min ago \(no activity\)$/mu);
    const out = await desk.ok('resume');
    expect(out).toMatch(/^Resumed: Interrupted → Running\./u);
    const markdown = desk.hookMarkdown(ref);
    expect(markdown).toContain(id);
    expect(markdown).toContain('adding nil checks for config.Server');
    const exported = JSON.parse(await desk.ok('hook', 'export')) as {
      hook: { history: { from_state: string; to_state: string }[] };
    };
    const moves = exported.hook.history.map(({ from_state: from, to_state: to }) => `${from} ${to}`);
    expect(moves.slice(-2)).toEqual(['step_running recovering', 'recovering step_running']);
  });

  it('3: every receipt is verified after the task is complete', async () => {
    const desk = new Desk(cli, 'example3');
    desk.settings({ key_derivation: { account: 0 } });
    desk.template('checked', { name: 'analyze', type: 'validation', validation: ['git --version', 'git status'] });
    await desk.running('checked');
    await desk.ok('validate');
    expect(await desk.state()).toBe('completed');
    const { receipts } = (await desk.json('receipts', 'list')) as unknown as { receipts: { receipt_id: string }[] };
    expect(receipts).toHaveLength(2);
    for (const [index, { receipt_id: id }] of receipts.entries()) {
      const out = await desk.ok('hook', 'verify-receipt', id);
      expect(out).toContain(`Receipt: ${id}\nStep: analyze\n`);
      expect(out).toContain(`Key Path: m/44'/236'/0'/0/${index}\nSignature: VALID ✓\n`);
      expect(out).toContain('This receipt was signed by your ATLAS installation.\n');
    }
  });
});
