import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LIMITS } from '../../../src/core/worker/limits';
import { BuiltCli } from '../../support/drivers/cli';
import type { Desk } from '../../support/drivers/cliDesk';
import { HostileRemote, measured } from '../../support/faults/hostileRemote';

/* More than anybody can hold, on branches of a remote: `atlas` says so, and does its work with the others. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);
afterAll(() => {
  cli.dispose();
});

const MIB = 1024 * 1024;
/** Far beyond what is read, and so much that holding it would show; all of what was tried first by `npm run test:hostile`. */
const LEDGER_MIB = process.env['ATLAS_HOSTILE'] === 'all' ? 600 : 260;
/** What a command may take beyond one that has nothing to do, in MiB. */
const MOST_MIB = 200;

/** What the other branch is worth: its work is done and shared. */
async function othersGoOn({ a, b }: HostileRemote, worker = 'w5'): Promise<void> {
  await b.ok('worker', 'sling', `task-${worker}`, worker);
  await b.ok('worker', 'run', worker, '--', process.execPath, '-e', '0');
  const said = await a.run('worker', 'sync');
  expect(said.out).toContain(worker);
}

/** Claims what waits for a worker, for a program that ends it later. */
async function claimed(desk: Desk, worker: string): Promise<Record<string, string>> {
  const { lease } = (await desk.json('worker', 'claim', worker)) as unknown as {
    readonly lease: { readonly task_id: string; readonly claim: number; readonly incarnation: number };
  };
  const { task_id: task, claim, incarnation } = lease;
  return { FORGE_WORKER: worker, FORGE_TASK: task, FORGE_CLAIM: `${claim}`, FORGE_INCARNATION: `${incarnation}` };
}

/** A line of the ledger with so many bytes in it. */
function line(sequence: number, bytes: number, id = 'big'): string {
  const task = { id, type: 'x', input: { text: 'x'.repeat(bytes) } };
  const at = '2026-01-01T00:00:00.000Z';
  return `${JSON.stringify({ id, claim: 0, incarnation: 0, sequence, at, status: 'OPEN', task })}\n`;
}

describe('branches that hold more than can be read', { timeout: 240_000 }, () => {
  it('16 files of 300 MB: little memory is used, each is named, and all else is done', async () => {
    const remote = await HostileRemote.make(cli, 'zeros');
    const { b, objects } = remote;
    const idle = await measured(b, 'worker', 'list');
    const { id } = objects.zeros(300 * MIB);
    const files = ['status.json', 'task.json', 'context.json', 'result.json'];
    const entries = files.map((name) => ({ mode: '100644', name, id }));
    for (const name of ['z1', 'z2', 'z3', 'z4']) objects.plant(`forge/hooks/${name}`, entries, 'forge/hooks/w2');
    const sync = await measured(b, 'worker', 'sync', 'origin');
    expect([sync.code, sync.out]).toEqual([0, expect.stringContaining('From origin: evil, w2, z1, z2, z3, z4.')]);
    expect(sync.out).toContain('Left out of forge/hooks/z1: "result.json": it has 300 MiB, which is too large.');
    const list = await measured(b, 'worker', 'list');
    expect(list.out.match(/z\d +damaged/gu)).toHaveLength(4);
    expect(Math.max(sync.mib, list.mib)).toBeLessThan(idle.mib + MOST_MIB);
    const status = await b.ok('worker', 'status', 'z1');
    expect(status).toContain('status.json has 300 MiB, at most 256 KiB are read');
    expect(status).toContain('atlas worker repair --yes');
    expect(await b.ok('worker', 'repair')).toContain('z1: ');
    await othersGoOn(remote);
    const repair = await measured(b, 'worker', 'repair', '--yes');
    expect([repair.code, repair.mib < idle.mib + MOST_MIB]).toEqual([0, true]);
    expect(repair.out).toMatch(
      /By hand: z1: .* Repair it in the clone that has it, or delete the branch on the remote\./u,
    );
  });

  it(`a ledger of ${LEDGER_MIB} MiB: that is said, nothing is claimed, and repair brings the last usable one back`, async () => {
    const remote = await HostileRemote.make(cli, 'ledger');
    const { a, b, objects } = remote;
    await b.ok('worker', 'sync', 'origin');
    await b.ok('worker', 'sling', 't4', 'w4');
    const idle = await measured(b, 'worker', 'list');
    const [ours, theirs] = [await claimed(b, 'w4'), await claimed(a, 'w2')];
    objects.plant('forge/ledger', [{ ...objects.zeros(LEDGER_MIB * MIB), name: 'tasks.jsonl' }]);
    const completed = await a.runWith({ env: theirs }, 'worker', 'complete', 'w2');
    expect([completed.code, completed.err]).toEqual([0, expect.stringContaining(`tasks.jsonl has ${LEDGER_MIB} MiB`)]);
    const sync = await measured(b, 'worker', 'sync');
    const damage = `The ledger can't be used: tasks.jsonl has ${LEDGER_MIB} MiB, at most 64 MiB are read.`;
    expect([sync.code, sync.out]).toEqual([7, expect.stringContaining(damage)]);
    // What was done on another branch came all the same.
    expect(sync.out).toContain('From origin: w2.');
    expect(sync.mib).toBeLessThan(idle.mib + MOST_MIB);
    for (const args of [['list'], ['status', 'w2']]) {
      const said = await b.run('worker', ...args);
      expect([said.code, said.err]).toEqual([0, expect.stringContaining(damage)]);
      expect(said.err).toContain('atlas worker repair --yes');
    }
    const refused = await b.run('worker', 'sling', 't6', 'w6');
    expect([refused.code, refused.err]).toEqual([7, expect.stringContaining(damage)]);
    // Work that this clone has goes on, and is shared as far as it can be.
    const done = await b.runWith({ env: ours }, 'worker', 'complete', 'w4');
    expect([done.code, done.err]).toEqual([0, expect.stringContaining(damage)]);
    expect(remote.git('show', 'forge/hooks/w4:status.json')).toContain('COMPLETE');
    const planned = await b.ok('worker', 'repair');
    expect(planned).toContain(`forge/ledger: On origin: ${damage}`);
    const repaired = await measured(b, 'worker', 'repair', '--yes');
    expect([repaired.code, repaired.mib < idle.mib + MOST_MIB]).toEqual([0, true]);
    for (const desk of [b, a]) await desk.ok('worker', 'sync');
    for (const desk of [b, a])
      for (const task of ['t2', 't4'])
        expect(await desk.ok('worker', 'task', 'list')).toMatch(new RegExp(`${task} .*COMPLETE`, 'u'));
    expect(remote.git('cat-file', '-s', 'forge/ledger:tasks.jsonl').length).toBeLessThan(6);
    await othersGoOn(remote);
  });

  // Half a minute of writing: by `npm run test:hostile`.
  it.runIf(process.env['ATLAS_HOSTILE'] === 'all')(
    'an own ledger that is nearly full is made smaller by repair, and a full one takes no more',
    async () => {
      const remote = await HostileRemote.make(cli, 'full');
      const { b, objects } = remote;
      const known = remote.git('show', 'forge/ledger:tasks.jsonl');
      const lines = Array.from({ length: 63 }, (_, sequence) => line(sequence, MIB - 1000));
      objects.plant('forge/ledger', [objects.file('tasks.jsonl', `${known}\n${lines.join('')}`)]);
      await b.ok('worker', 'sync', 'origin');
      const input = JSON.stringify({ text: 'x'.repeat(100_000) });
      for (let index = 0; index < 10; index += 1) {
        const id = `more${index}`;
        const added = await b.run('worker', 'task', 'add', id, '--type', 'x', '--input', input);
        if (added.code === 0) continue;
        expect([added.code, added.err]).toEqual([7, expect.stringContaining('The ledger is full')]);
        expect(added.err).toContain('atlas worker repair --yes');
        break;
      }
      expect(await b.ok('worker', 'repair')).toContain('Replaced records are removed.');
      await b.ok('worker', 'repair', '--yes');
      expect(Number(b.git('cat-file', '-s', 'forge/ledger:tasks.jsonl'))).toBeLessThan(3 * MIB);
      await b.ok('worker', 'task', 'add', 'last', '--type', 'x', '--input', input);
      expect(await b.ok('worker', 'task', 'list')).toContain('t2');
      expect(await b.ok('worker', 'repair')).toContain('Nothing to repair.');
    },
  );

  it('more lines, files, folders or values than the limits are named, each', async () => {
    const remote = await HostileRemote.make(cli, 'counts');
    const { b, objects } = remote;
    const { id } = objects.file('f', 'x');
    let deep = objects.file('f', 'x');
    for (let depth = 0; depth < 40; depth += 1) deep = objects.folder('d', [deep]);
    const many = Array.from({ length: LIMITS.files + 1 }, (_, index) => ({ mode: '100644', name: `f${index}`, id }));
    const nested = '['.repeat(20_000) + ']'.repeat(20_000);
    const values = `{"taskId":"t2","a":[${'0,'.repeat(LIMITS.jsonValues)}0]}`;
    const context = JSON.parse(remote.git('show', 'forge/hooks/w2:context.json')) as object;
    const within = (text: string): string => JSON.stringify({ ...context, more: JSON.parse(text) as unknown });
    const plant = (name: string, ...entries: Parameters<typeof objects.plant>[1]): void => {
      const status = remote.git('show', 'forge/hooks/w2:status.json').replaceAll('"w2"', `"${name}"`);
      objects.plant(`forge/hooks/${name}`, [objects.file('status.json', status), ...entries], 'forge/hooks/w2');
    };
    plant('deep', deep);
    plant('many', objects.folder('many', many));
    plant('nested', objects.file('context.json', `${within('0').slice(0, -2)}${nested}}`));
    plant('values', objects.file('context.json', within(values)));
    const big = objects.file('tasks.jsonl', '{}\n'.repeat(LIMITS.ledgerLines + 1));
    await b.ok('worker', 'sync', 'origin');
    const damage = async (worker: string): Promise<string> =>
      /^Damage: +(.*)$/mu.exec(await b.ok('worker', 'status', worker))?.[1] ?? '';
    expect(await damage('deep')).toContain('its folders are more than 16 deep');
    expect(await damage('many')).toContain('it contains more than 4,000 files and folders');
    expect(await damage('nested')).toContain('in context.json, it is nested more than 100 levels deep');
    expect(await damage('values')).toContain('in context.json, it contains more than 100,000 values');
    await othersGoOn(remote);
    objects.plant('forge/ledger', [big]);
    const said = await b.run('worker', 'sync');
    expect([said.code, said.out]).toEqual([7, expect.stringContaining('tasks.jsonl has more than 200,000 lines')]);
    await b.ok('worker', 'repair', '--yes');
    await othersGoOn(remote, 'w6');
    // Small in a file, and many times that once it is read.
    const dense = line(1, 1, 'dense').replace('"text":"x"', `"a":[${'[],'.repeat(49_000)}[]]`);
    objects.plant('forge/ledger', [objects.file('tasks.jsonl', dense.repeat(100))]);
    const idle = await measured(b, 'worker', 'task', 'show', 'none');
    const full = await measured(b, 'worker', 'sync');
    expect([full.code, full.out]).toEqual([7, expect.stringContaining('its lines contain too many values')]);
    expect(full.mib).toBeLessThan(idle.mib + MOST_MIB);
    await b.ok('worker', 'repair', '--yes');
    await othersGoOn(remote, 'w7');
  });

  it('lines of the ledger that are too long or too deep are set aside, and all others count', async () => {
    const remote = await HostileRemote.make(cli, 'lines');
    const { b, objects } = remote;
    const known = remote.git('show', 'forge/ledger:tasks.jsonl');
    const deep = line(1, 1, 'deep').replace('"x"}', `${'['.repeat(20_000)}${']'.repeat(20_000)}}`);
    expect(deep).toContain('[[[[');
    objects.plant('forge/ledger', [
      objects.file('tasks.jsonl', `${known}\n${deep}${line(1, MIB, 'long')}${line(1, 10, 'good')}`),
    ]);
    await b.ok('worker', 'sync', 'origin');
    const tasks = await b.ok('worker', 'task', 'list');
    expect(tasks).toContain('good');
    expect(tasks).not.toMatch(/deep|long/u);
    expect(await b.ok('worker', 'repair')).toContain('of tasks.jsonl is not a record.');
    await b.ok('worker', 'repair', '--yes');
    for (const id of ['deep', 'long']) expect((await b.run('worker', 'task', 'show', id)).code).toBe(3);
    expect(Number(b.git('cat-file', '-s', 'forge/ledger:rejected.jsonl'))).toBeGreaterThan(MIB + 40_000);
    expect(await b.ok('worker', 'repair')).toContain('Nothing to repair.');
    // What could not be read back is not taken either.
    const input = `{"a":${'['.repeat(200)}${']'.repeat(200)}}`;
    const added = await b.run('worker', 'task', 'add', 'own', '--type', 'x', '--input', input);
    expect([added.code, added.err]).toEqual([2, expect.stringContaining('it is nested more than 100 levels deep')]);
  });
});
