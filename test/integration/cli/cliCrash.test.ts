import { createHash } from 'node:crypto';
import { readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';
import { WorkerPool } from '../../support/processes/workerPool';

/* Whatever drives a task looks for a crash first. */

const MINUTE = 60_000;
let cli: BuiltCli;
let workers: WorkerPool;

beforeAll(async () => {
  [cli, workers] = await Promise.all([BuiltCli.open(), WorkerPool.open()]);
}, 60_000);

afterAll(async () => {
  await workers.close();
  cli.dispose();
});

interface Hook {
  readonly state: string;
  readonly history: readonly { readonly trigger: string; readonly details?: Record<string, unknown> }[];
  readonly recovery?: { readonly crash_type: string; readonly details?: Record<string, unknown> };
}

function hookOf(desk: Desk, ref: Parameters<Desk['fileOf']>[0]): Hook {
  return JSON.parse(readFileSync(desk.fileOf(ref, 'hook.json'), 'utf8')) as Hook;
}

function crashes({ history }: Hook): number {
  return history.filter(({ trigger }) => trigger === 'crash_detected').length;
}

/** Every file of the store, with locks, times and folders. */
function everything(root: string): string {
  const hash = createHash('sha256');
  const entries = readdirSync(root, { recursive: true, withFileTypes: true });
  const names = entries.map((entry) => [path.join(entry.parentPath, entry.name), entry.isFile()] as const);
  for (const [name, isFile] of names.sort()) hash.update(`${name}\0${isFile ? readFileSync(name, 'latin1') : ''}\0`);
  return hash.digest('hex');
}

const DRIVING: readonly (readonly string[])[] = [
  ['step', 'start'],
  ['step', 'complete'],
  ['step', 'output'],
  ['step', 'ask', 'what?'],
  ['step', 'fail', 'why'],
  ['validate', '--command', 'git --version'],
  ['resume'],
  ['recover'],
  ['run', '--', 'git', '--version'],
];

describe.concurrent('a task that was silent for too long', { timeout: 60_000 }, () => {
  it.each(DRIVING.map((args) => [args.join(' '), args] as const))(
    'is found crashed by atlas %s',
    async (name, args) => {
      const desk = new Desk(cli, `silent ${name.replaceAll(/\W+/gu, '_')}`);
      const ref = await desk.running('task', 'Sample', 6 * MINUTE);
      const said = await desk.apart(...args);
      const hook = hookOf(desk, ref);
      expect(crashes(hook), said.out + said.err).toBe(1);
      const found = hook.history.find(({ trigger }) => trigger === 'crash_detected');
      expect(found?.details).toMatchObject({ crash_type: 'timeout', attempt: 1 });
      expect([0, 4]).toContain(said.code);
      expect(said.err).toContain('The task was interrupted (no activity).');
    },
  );

  it('is not crashed where the setting says longer', async () => {
    const desk = new Desk(cli, 'patient');
    desk.settings({ stale_threshold: '1h' });
    const ref = await desk.running('task', 'Sample', 30 * MINUTE);
    await desk.ok('step', 'note', 'x');
    expect(crashes(hookOf(desk, ref))).toBe(0);
  });

  it.each([
    ['note', ['step', 'note', 'still here']],
    ['checkpoint', ['checkpoint', 'half way']],
  ])('is not crashed for a %s of the step that runs: that is a sign of life', async (name, args) => {
    for (const [bound, index] of [[[], 0] as const, [['--step', 'implement', '--attempt', '1'], 1] as const]) {
      const desk = new Desk(cli, `named-${name}-${index}`);
      const ref = await desk.running('task', 'Sample', 60 * MINUTE);
      await desk.ok(...args, ...bound);
      expect(crashes(hookOf(desk, ref))).toBe(0);
      expect(await desk.ok('status')).not.toContain('Interrupted');
    }
  });

  it.each([
    ['ends the step without its attempt', ['step', 'complete', 'implement']],
    ['ends the attempt without its step', ['step', 'complete', '--attempt', '1']],
    ['notes something of another attempt', ['step', 'note', 'x', '--step', 'implement', '--attempt', '2']],
    ['notes something of another step', ['step', 'note', 'x', '--step', 'plan']],
  ])('is crashed for whoever %s', async (name, args) => {
    const desk = new Desk(cli, `half ${name.replaceAll(' ', '_')}`);
    const ref = await desk.running('task', 'Sample', 60 * MINUTE);
    expect((await desk.apart(...args)).code).toBe(4);
    expect(crashes(hookOf(desk, ref))).toBe(1);
  });

  it('is only read by what lists parts of it', async () => {
    const desk = new Desk(cli, 'read');
    await desk.running('task', 'Sample', 60 * MINUTE);
    const before = everything(desk.root);
    for (const args of [
      ['hook', 'checkpoints'],
      ['hook', 'export'],
      ['receipts', 'list'],
      ['recover', '--dry-run'],
    ])
      await desk.ok(...args);
    expect(everything(desk.root)).toBe(before);
  });

  it.each([
    ['status', ['status'], /^Health: +Interrupted 1 h ago \(no activity\)$/mu],
    ['the synopsis', ['hook', 'synopsis'], /^\[ATLAS RECOVERY\] Task '.+' interrupted\. State: recovering/u],
    ['session start', ['lifecycle', 'session-start'], /' interrupted\. [^]*### (🔁|✋) RECOVER/u],
    [
      "a host's session start",
      ['lifecycle', 'session-start', '--host', 'codex'],
      /' interrupted\. .*### (🔁|✋) RECOVER/u,
    ],
  ])('is told to whoever wakes up by %s, and from then on by everything', async (name, args, says) => {
    const desk = new Desk(cli, `told by ${name}`);
    const ref = await desk.running('task', 'Sample', 60 * MINUTE);
    const said = await desk.apartWith({ input: '{}' }, ...args);
    expect(said.out).toMatch(says);
    expect(hookOf(desk, ref)).toMatchObject({ state: 'recovering', recovery: { crash_type: 'timeout' } });
    const before = everything(desk.root);
    const markdown = readFileSync(desk.fileOf(ref, 'HOOK.md'), 'utf8');
    expect(markdown).toContain('\n## What Interrupted You\n');
    expect(markdown).toMatch(/\n### (🔁|✋) RECOVER: /u);
    expect(await desk.ok('status')).toMatch(/^State: +Interrupted[^]*^Next: +RECOVER: /mu);
    expect(await desk.ok('hook', 'synopsis')).toContain("' interrupted. ");
    expect(everything(desk.root), 'it is recorded once').toBe(before);
    const again = await desk.apartWith({ input: '{}' }, 'lifecycle', 'session-start');
    expect(again.out).not.toMatch(/RESUME|BEGIN/u);
    expect(crashes(hookOf(desk, ref))).toBe(1);
  });

  it('is recovered once: whoever recovers it again changes nothing', async () => {
    const desk = new Desk(cli, 'twice');
    const ref = await desk.running('task', 'Sample', 60 * MINUTE);
    const first = await desk.json('recover');
    expect(first).toMatchObject({ exit: 0, changed: true });
    const after = hookOf(desk, ref);
    for (const agent of [{}, { CLAUDECODE: '1' }]) {
      const said = await desk.apartWith({ env: agent }, 'recover');
      expect(said.out + said.err).toMatch(/isn't interrupted|waiting for a human/u);
    }
    expect(hookOf(desk, ref)).toEqual(after);
  });

  it('is no interruption where a live process has it: only a human takes that over', async () => {
    const desk = new Desk(cli, 'living');
    const ref = await desk.running('task', 'Sample');
    const owner = workers.start('own', desk.root, [ref.workspace, ref.id]);
    expect(await owner.speaks()).toBe('owns');
    const before = hookOf(desk, ref);
    const plain = await desk.json('recover');
    expect(plain).toMatchObject({ exit: 0, changed: false });
    const agent = await desk.apartWith({ env: { CLAUDECODE: '1' } }, 'recover', '--take-over');
    expect(agent).toMatchObject({ code: 4 });
    expect(agent.err).toContain('Only a human may take over');
    expect(hookOf(desk, ref)).toEqual(before);
    expect(await desk.json('recover', '--take-over')).toMatchObject({ exit: 0, changed: true });
    expect(crashes(hookOf(desk, ref))).toBe(1);
    await owner.kill();
  });
});

describe.concurrent('a task whose owner died', { timeout: 60_000 }, () => {
  it('is crashed for everybody, however fresh it is', async () => {
    const desk = new Desk(cli, 'owner');
    const ref = await desk.running();
    const owner = workers.start('own', desk.root, [ref.workspace, ref.id]);
    expect(await owner.speaks()).toBe('owns');
    await desk.ok('step', 'note', 'x');
    await owner.kill();
    const said = await desk.apart('step', 'note', 'x', '--step', 'implement', '--attempt', '1');
    expect(said).toMatchObject({ code: 4, out: '' });
    expect(hookOf(desk, ref)).toMatchObject({ state: 'recovering', recovery: { crash_type: 'signal' } });
    expect(said.err).toMatch(/\nYou can run: .*atlas resume/u);
  });
});

describe.concurrent('recover --dry-run', { timeout: 60_000 }, () => {
  it('changes not a byte, and says what recover then does', async () => {
    const desk = new Desk(cli, 'dry');
    desk.template('checked', { name: 'check', validation: ['git --version'] }, { name: 'work', type: 'ai' });
    const ref = await desk.running('checked', 'Sample', 30 * MINUTE);
    desk.write('a.txt', 'one');
    await desk.ok('step', 'note', '--file', 'a.txt', '--step', 'check', '--attempt', '1');
    await desk.ok('validate');
    await desk.ok('step', 'start');
    await desk.ok('step', 'note', '--file', 'a.txt');
    await desk.ok('checkpoint', 'one');
    desk.write('a.txt', 'two');
    const owner = workers.start('own', desk.root, [ref.workspace, ref.id]);
    await owner.speaks();
    await owner.kill();
    const before = everything(desk.root);
    const dry = await desk.json('recover', '--dry-run');
    const text = await desk.ok('recover', '--dry-run');
    expect(everything(desk.root)).toBe(before);
    expect(dry).toMatchObject({ exit: 0, dry_run: true, changed: false, diagnosis: 'window_died' });
    expect(dry['files']).toContainEqual({ path: 'a.txt', kind: 'changed' });
    expect(text).toMatch(/^Diagnosis: +Interrupted .+ \(window crashed\)$/mu);
    expect(text).toContain('\nFiles changed since the last checkpoint:\n  changed  a.txt\n');
    const done = await desk.json('recover');
    expect(done).toMatchObject({ exit: 0, dry_run: false, changed: true });
    expect((done['plan'] as { action: string }).action).toBe((dry['plan'] as { action: string }).action);
    expect(crashes(hookOf(desk, ref))).toBe(1);
  });
});
