import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { DESTRUCTIVE, Desk, ERRORS_SAID } from '../../support/drivers/cliDesk';
import { WorkerPool } from '../../support/processes/workerPool';
import { PROJECT } from '../../support/project';

/* Each exit code by as many commands as come to it, and what every error has in common. */

let cli: BuiltCli;
let workers: WorkerPool;

beforeAll(async () => {
  // Files before this one may have had the same process.
  ERRORS_SAID.length = 0;
  [cli, workers] = await Promise.all([BuiltCli.open(), WorkerPool.open()]);
}, 60_000);

afterAll(async () => {
  await workers.close();
  cli.dispose();
  expect(ERRORS_SAID.length).toBeGreaterThan(50);
  for (const said of ERRORS_SAID) expect(said).not.toMatch(DESTRUCTIVE);
});

/** Refused with this code, as text and as JSON: the text on standard error alone, and nothing beside the document. */
async function refused(desk: Desk, exit: number, code: string, args: readonly string[], env = {}): Promise<string> {
  const said = await desk.apartWith({ env }, ...args);
  expect(said, args.join(' ')).toMatchObject({ code: exit, out: '' });
  expect(said.err).toMatch(/^atlas: \S[^]*\n$/u);
  await refusedAsJson(desk, exit, code, args, env);
  return said.err;
}

async function refusedAsJson(desk: Desk, exit: number, code: string, args: readonly string[], env = {}): Promise<void> {
  const at = args.indexOf('--');
  const asked = at === -1 ? [...args, '--json'] : [...args.slice(0, at), '--json', ...args.slice(at)];
  const json = await desk.apartWith({ env }, ...asked);
  expect(json, args.join(' ')).toMatchObject({ code: exit, err: '' });
  const printed = JSON.parse(json.out) as { error: Record<string, unknown> };
  expect(printed, args.join(' ')).toMatchObject({ success: false, error: { code } });
  expect(Object.keys(printed).sort()).toEqual(['command', 'error', 'success']);
  for (const key of Object.keys(printed.error)) expect(['code', 'message', 'hint']).toContain(key);
}

/** Each of these lines is refused so; the first one is looked at as text too. */
async function allRefused(
  desk: Desk,
  exit: number,
  code: string,
  [first = [], ...others]: readonly (readonly string[])[],
): Promise<string> {
  const text = await refused(desk, exit, code, first);
  for (const line of others) await refusedAsJson(desk, exit, code, line);
  return text;
}

const HUMAN_ONLY = [
  ['approve'],
  ['reject', 'no'],
  ['fail', 'why'],
  ['abandon'],
  ['acknowledge'],
  ['recover', '--action', 'skip_step'],
  ['workspace', 'destroy', 'agents'],
  ['inbox', 'cancel', '1'],
] as const;

/** What hosts of agents set, as src/cli/agentCaller.ts says it: read from there, so that a new one is tested too. */
function agentVariables(): string[] {
  const source = readFileSync(path.join(PROJECT, 'src', 'cli', 'agentCaller.ts'), 'utf8');
  return [...source.matchAll(/\{ name: '([A-Z_]+)'/gu)].map((match) => match[1] ?? '');
}

describe.concurrent('atlas exits with', { timeout: 120_000 }, () => {
  it('1 where a validation failed', async () => {
    const desk = new Desk(cli, 'failed');
    await desk.running();
    const said = await desk.apart('validate', '--command', 'git no-such-command');
    expect(said.code).toBe(1);
    expect(said.out).toMatch(/^Failed: /mu);
    const json = await desk.json('validate', '--command', 'git no-such-command');
    // The step that failed is back at its beginning or goes on: either way nothing is validated twice by accident.
    expect([1, 4]).toContain(json.exit);
    expect(json).toMatchObject({ success: false });
  });

  it('2 for a line that it does not understand', async () => {
    const desk = new Desk(cli, 'usage');
    await desk.running();
    const lines = [
      ['nonsense'],
      ['hook', 'nonsense'],
      ['step'],
      ['status', '--nonsense'],
      ['step', 'ask'],
      ['start'],
      ['run'],
      ['workspace', 'destroy'],
      ['status', 'more'],
      ['checkpoint', 'one', 'two'],
      ['checkpoint', '--trigger', 'interval'],
      ['recover', '--action', 'await_human'],
      ['hook', 'export', '--format', 'xml'],
      ['completion', 'tcsh'],
      ['cleanup'],
      ['cleanup', '--hooks', '--retention', 'soon'],
      ['status', '--task'],
      ['status', '--task', '--workspace'],
      ['start', '   '],
      ...['0', '-1', '1.5', 'one', '1e3', ''].map((attempt) => ['step', 'note', '--attempt', attempt]),
    ];
    await allRefused(desk, 2, 'usage', lines);
    await allRefused(desk, 2, 'invalid_name', [
      ['status', '--task', '../escape'],
      ['status', '--workspace', '../escape'],
    ]);
    expect((await desk.apart('statsu')).err).toMatch(/Did you mean status\?/u);
    expect((await desk.apart('status', '--tsak', 'x')).err).toMatch(/Did you mean --task\?/u);
  });

  it('2 where a write could mean several tasks, and lists them', async () => {
    const desk = new Desk(cli, 'several');
    const refs = [await desk.running('task', 'First'), await desk.running('task', 'Second')];
    for (const line of [['checkpoint', 'x'], ['step', 'note', 'x'], ['abandon'], ['run', '--', 'true'], ['resume']]) {
      const text = (await desk.apart(...line)).err;
      for (const { id } of refs) expect(text).toContain(`\n  ${id} Running `);
    }
  });

  it('3 for what is not there', async () => {
    const desk = new Desk(cli, 'nothing');
    await allRefused(desk, 3, 'not_found', [
      ['status'],
      ['checkpoint', 'x'],
      ['step', 'start'],
      ['validate'],
      ['resume'],
      ['receipts', 'list'],
    ]);
    const ref = await desk.running();
    const lines = [
      ['status', '--task', 'task-20200101-000000'],
      ['status', '--task', 'elsewhere/' + ref.id],
      ['status', '--workspace', 'elsewhere'],
      ['start', 'x', '--workspace', 'elsewhere'],
      ['hook', 'verify-receipt', 'rcpt-00000000'],
      ['hook', 'verify-receipt', 'rcpt-00000000', '--task', ref.id],
      ['workspace', 'destroy', 'elsewhere'],
      ['receipts', 'export'],
      ['receipts', 'verify', 'nowhere.json'],
      ['step', 'output', 'nowhere.md'],
      ['step', 'start', '--prompt-file', 'nowhere.md'],
      ['run', '--', 'no-such-program'],
    ];
    await allRefused(desk, 3, 'not_found', lines);
    // A program that isn't there was no agent: nothing has crashed.
    expect(await desk.state()).toBe('step_running');
  });

  it('4 for what the state does not take, and for a caller that is behind', async () => {
    const desk = new Desk(cli, 'illegal');
    await desk.running();
    const illegal = [['approve'], ['reject'], ['step', 'start']];
    await allRefused(desk, 4, 'illegal_transition', illegal);
    const stale = [
      ['step', 'note', 'x', '--step', 'other', '--attempt', '1'],
      ['step', 'note', 'x', '--attempt', '2'],
      ['step', 'complete', 'implement', '--attempt', '2'],
      ['step', 'complete', 'other'],
      ['step', 'output', '--step', 'other'],
      ['step', 'ask', 'what?', '--attempt', '3'],
      ['step', 'fail', 'why', '--step', 'other'],
      ['validate', '--command', 'true', '--attempt', '2'],
    ];
    await allRefused(desk, 4, 'stale_caller', stale);
    await desk.ok('step', 'ask', 'Which one?');
    // What is refused is not what is suggested.
    const text = await refused(desk, 4, 'illegal_transition', ['approve']);
    expect(text).toMatch(/\nYou can run: atlas checkpoint, atlas reject, atlas answer\.\n$/u);
    await desk.ok('abandon');
    const over = [['step', 'start'], ['checkpoint', 'x'], ['resume'], ['recover'], ['abandon'], ['run', '--', 'true']];
    const { task } = (await desk.json('status')) as unknown as { task: { task_id: string } };
    for (const [first = '', ...rest] of over) {
      const named = ['--task', task.task_id];
      await refusedAsJson(desk, 4, 'illegal_transition', [
        ...(first === 'step' ? [first, ...rest, ...named] : [first, ...named, ...rest]),
      ]);
    }
  });

  it("4 where an agent decides what is a human's, whichever agent it is", async () => {
    const desk = new Desk(cli, 'agents');
    await desk.running();
    const before = desk.digest();
    const [first = '', ...others] = agentVariables();
    for (const known of ['AI_AGENT', 'CLAUDECODE', 'CODEX_SANDBOX', 'CURSOR_AGENT', 'GEMINI_CLI', 'OPENCODE'])
      expect(others).toContain(known);
    for (const line of HUMAN_ONLY) await refusedAsJson(desk, 4, 'human_only', line, { [first]: '1' });
    await refused(desk, 4, 'human_only', ['workspace', 'destroy', 'agents', '--yes'], { [first]: '1' });
    for (const [index, name] of others.entries()) {
      const value = name === 'CURSOR_EXTENSION_HOST_ROLE' ? 'agent-exec' : '1';
      const line = HUMAN_ONLY[index % HUMAN_ONLY.length] ?? ['abandon'];
      const said = await desk.apartWith({ env: { [name]: value } }, ...line);
      expect(said, name).toMatchObject({ code: 4, out: '' });
      expect(said.err, name).toContain('Only a human may ');
    }
    expect((await desk.apartWith({ env: { [first]: '0' } }, 'approve')).err).not.toContain('Only a human');
    // The plan itself is no decision.
    const recovered = await desk.apartWith({ env: { [first]: '1' } }, 'recover', '--dry-run');
    expect(recovered.code).toBe(0);
    const state = desk.digest();
    expect(state === before).toBe(true);
  });

  it('5 for a receipt or a bundle that is not what was signed', async () => {
    const desk = new Desk(cli, 'forged');
    desk.template('checked', { name: 'check', validation: ['git --version'] }, { name: 'next' });
    const ref = await desk.running('checked');
    await desk.ok('validate');
    await desk.ok('receipts', 'export', '--output', 'bundle.json');
    const bundle = path.join(desk.folder, 'bundle.json');
    expect((await desk.apart('receipts', 'verify', 'bundle.json')).code).toBe(0);
    writeFileSync(bundle, readFileSync(bundle, 'utf8').replaceAll('git --version', 'git --forged'));
    expect((await desk.apart('receipts', 'verify', 'bundle.json')).code).toBe(5);
    const file = desk.fileOf(ref, 'hook.json');
    const hook = JSON.parse(readFileSync(file, 'utf8')) as { receipts: { receipt_id: string; exit_code: number }[] };
    const [receipt] = hook.receipts;
    if (receipt === undefined) throw new Error('no receipt');
    receipt.exit_code = 3;
    writeFileSync(file, JSON.stringify(hook));
    const json = await desk.json('hook', 'verify-receipt', receipt.receipt_id);
    expect(json).toMatchObject({ exit: 5, success: false, error: { code: 'verification_failed' } });
  });

  it('6 where a live process holds the lock', async () => {
    const desk = new Desk(cli, 'locked');
    const ref = await desk.running();
    const holder = workers.start('hold', desk.root, [ref.workspace, ref.id]);
    expect(await holder.speaks()).toBe('held');
    const began = performance.now();
    const [text, json] = await Promise.all([
      desk.apart('checkpoint', 'x'),
      desk.json('step', 'note', 'x', '--step', 'implement', '--attempt', '1'),
    ]);
    expect(performance.now() - began).toBeGreaterThan(4500);
    expect(text).toMatchObject({ code: 6, out: '' });
    expect(text.err).toContain(`Timed out waiting for the task's lock: process ${holder.process.pid} holds it`);
    expect(json).toMatchObject({ exit: 6, error: { code: 'lock_timeout' } });
    // Reading needs no lock.
    expect((await desk.apart('status')).code).toBe(0);
    await holder.kill();
    expect((await desk.apart('checkpoint', 'x')).code).toBe(0);
  });

  it('7 for a store that is damaged or from a newer version', async () => {
    const desk = new Desk(cli, 'damaged');
    const ref = await desk.running();
    const file = desk.fileOf(ref, 'hook.json');
    const hook = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
    writeFileSync(file, JSON.stringify({ ...hook, schema_version: '99.0' }));
    await allRefused(desk, 7, 'too_new', [
      ['recover'],
      ['checkpoint', 'x'],
      ['hook', 'export'],
      ['step', 'note', 'x'],
      ['resume'],
    ]);
    writeFileSync(file, 'no JSON');
    writeFileSync(desk.fileOf(ref, 'journal.jsonl'), 'no journal\n');
    await allRefused(desk, 7, 'damaged', [['status'], ['checkpoint', 'x'], ['receipts', 'list']]);
    const doctor = await desk.apart('doctor');
    expect(doctor.code).toBe(1);
  });

  it('1 where a file can not be written', async () => {
    const desk = new Desk(cli, 'unwritable');
    desk.template('checked', { name: 'check', validation: ['git --version'] }, { name: 'next' });
    await desk.running('checked');
    await desk.ok('validate');
    mkdirSync(path.join(desk.folder, 'there'));
    await refused(desk, 1, 'write_failed', ['receipts', 'export', '--output', 'there']);
    desk.write('kept.json', 'kept');
    await refused(desk, 1, 'write_failed', ['receipts', 'export', '--output', 'kept.json']);
    expect(readFileSync(path.join(desk.folder, 'kept.json'), 'utf8')).toBe('kept');
    await desk.ok('receipts', 'export', '--output', 'kept.json', '--force');
  });

  it.runIf(process.platform === 'linux')('1 where no folder can be made, and says what the system said', async () => {
    const desk = new Desk(cli, 'nowhere');
    const store = { ATLAS_HOME: '/proc/store' };
    const said = await refused(desk, 1, 'write_failed', ['start', 'A task'], store);
    expect(said).toContain("ENOENT: no such file or directory, mkdir '/proc/store'");
  });
});
