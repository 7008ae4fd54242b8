import { existsSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { type Clone, Clones, Gate, codeOf } from '../../support/fixtures/forgeClones';
import { type ForgeWorld, makeForgeWorld } from '../../support/fixtures/forgeWorld';

let world: ForgeWorld;
let clones: Clones;
let a: Clone;
const NOWHERE = 'no/such/repository';

beforeEach(() => {
  world = makeForgeWorld();
  clones = new Clones(world);
  a = clones.add('a');
});
afterEach(() => {
  world.dispose();
});

function configOf({ folder }: Clone): string {
  return path.join(folder, '.forge', 'config.yaml');
}

/** The texts of the files that lie in a folder. */
function filesOf(folder: string): Map<string, string> {
  const files = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile());
  return new Map(files.map(({ name }) => [name, readFileSync(path.join(folder, name), 'utf8')]));
}

/** Another clone, with all that the remote has. */
async function synced(name: string): Promise<Clone> {
  const clone = clones.add(name);
  unwrap(await clone.workers.sharing.sync());
  return clone;
}

describe('the first sync', { timeout: 60_000 }, () => {
  it('shares what is here, and a fresh clone has it after one', async () => {
    unwrap(await a.sling('pool/w1', 't1'));
    unwrap(await a.workers.slinging.addTasks([{ id: 't2', type: 'x', input: {} }]));
    expect(clones.refs).toBe('');
    const report = unwrap(await a.workers.sharing.sync());
    expect(report).toMatchObject({ remote: 'origin', received: [], conflicts: [], clashing: [] });
    expect([...report.sent].sort()).toEqual(['refs/heads/forge/hooks/pool/w1', 'refs/heads/forge/ledger']);
    expect(clones.refs).not.toBe('');

    const b = clones.add('b');
    expect(await b.tasks()).toEqual([]);
    expect(unwrap(await b.workers.sharing.sync())).toMatchObject({ received: ['pool/w1'], sent: [] });
    expect(await b.tasks()).toEqual(['t1 PENDING pool/w1', 't2 OPEN']);
    expect(await b.statusOf('pool/w1')).toMatchObject({ elsewhere: true, orphaned: [], damage: undefined });
    expect(existsSync(b.hook('pool')), 'folders are made when they are needed').toBe(false);
    expect(b.git('status', '--porcelain')).toBe('');
  });

  it('is not needed for a claim in a fresh clone', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.workers.sharing.sync());
    const b = clones.add('b');
    expect(codeOf(await b.sling('w2', 't1'))).toBe('illegal_transition');
    expect(await b.tasks()).toEqual(['t1 PENDING w1']);
    unwrap(await b.sling('w2', 't2'));
    unwrap(await a.workers.sharing.sync());
    expect(await a.tasks()).toEqual(['t1 PENDING w1', 't2 PENDING w2']);
  });

  it('writes once by which remote it is shared', async () => {
    unwrap(await a.sling('w1', 't1'));
    expect(existsSync(configOf(a))).toBe(false);
    unwrap(await a.workers.sharing.sync());
    expect(readFileSync(configOf(a), 'utf8')).toMatch(/^remote: "origin"$/mu);
    writeFileSync(configOf(a), '# mine\nremote: origin\ntools: [x]\n');
    unwrap(await a.workers.sharing.sync());
    expect(readFileSync(configOf(a), 'utf8')).toBe('# mine\nremote: origin\ntools: [x]\n');
  });
});

describe('the remote that decides', { timeout: 60_000 }, () => {
  it('is none where the settings say so', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.workers.sharing.sync());
    writeFileSync(configOf(a), 'remote: false\n');
    const before = clones.refs;
    a.setUrl(NOWHERE);
    unwrap(await a.sling('w2', 't2'));
    await a.done('w1');
    expect(a.workers.sharing.unshared).toBeUndefined();
    a.setUrl(clones.bare);
    expect(codeOf(await a.workers.sharing.sync())).toBe('invalid_config');
    expect(clones.refs).toBe(before);
    unwrap(await a.workers.sharing.sync('origin'));
    expect(clones.refs).not.toBe(before);
  });

  it('has to be said where there are two', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.workers.sharing.sync());
    const b = clones.add('b');
    b.git('remote', 'add', 'other', clones.bare);
    b.git('fetch', '--quiet', 'other');
    const refused = await b.sling('w2', 't2');
    expect(refused).toMatchObject({ ok: false, error: { code: 'invalid_config' } });
    expect(refused.ok ? '' : refused.error.hint).toContain(configOf(b));
    expect(codeOf(await b.workers.sharing.sync())).toBe('invalid_config');
    expect(b.picture()).toBe('');
    unwrap(await b.workers.sharing.sync('other'));
    expect(readFileSync(configOf(b), 'utf8')).toMatch(/^remote: "other"$/mu);
    unwrap(await b.sling('w2', 't2'));
  });

  it.each([
    ['an option', (mark: string) => `--upload-pack=touch ${mark}`],
    ['an option to push', (mark: string) => `--receive-pack=touch ${mark}`],
    ['a program', (mark: string) => `ext::sh -c touch% ${mark}`],
    ['a path', () => clones.bare],
    ['a URL', () => `file://${clones.bare}`],
    ['nothing', () => ''],
  ])('is one of the repository: %s is refused, and nothing runs', async (_, nameFor) => {
    world.configure('protocol.ext.allow', 'always');
    const mark = path.join(world.base, 'mark');
    unwrap(await a.sling('w1', 't1'));
    writeFileSync(configOf(a), `remote: ${JSON.stringify(nameFor(mark))}\n`);
    const before = a.picture();
    expect(codeOf(await a.sling('w2', 't2'))).toBe('not_found');
    expect(codeOf(await a.claim('w1'))).toBe('not_found');
    expect(codeOf(await a.workers.sharing.sync())).toBe('not_found');
    expect(codeOf(await a.workers.sharing.sync(nameFor(mark)))).toBe('not_found');
    expect(existsSync(mark)).toBe(false);
    expect(a.picture()).toBe(before);
    expect(clones.refs).toBe('');
  });
});

describe('two clones that want the same at once', { timeout: 60_000 }, () => {
  it.each([
    ['one task for two workers', 'w1', 'w2', 't1', 't1'],
    ['two tasks for one worker', 'w1', 'w1', 't1', 't2'],
  ])('%s: one wins, the other is refused and leaves no trace', async (_, mine, yours, first, second) => {
    unwrap(await a.workers.slinging.addTasks(['t1', 't2'].map((id) => ({ id, type: 'x', input: {} }))));
    unwrap(await a.sling('w1', 't0'));
    await a.done('w1');
    unwrap(await a.workers.sharing.sync());
    if (yours !== mine) writeFileSync(a.hook('w1', 'late.txt'), 'late');
    const b = await synced('b');
    const shown = filesOf(a.hook('w1'));
    const gate = await Gate.build();
    // The remote has told A what it has, and B comes before A's push is in.
    clones.hook('pre-receive', gate.line);
    try {
      const late = a.sling(mine, first);
      await gate.reached;
      unwrap(await b.sling(yours, second));
      const won = clones.refs;
      gate.open();
      expect(codeOf(await late)).toBe('illegal_transition');
      expect(clones.refs).toBe(won);
      expect(a.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/forge/')).toBe(won);
      if (yours === mine)
        expect(JSON.parse(filesOf(a.hook('w1')).get('task.json') ?? '')).toMatchObject({ id: second });
      else expect(filesOf(a.hook('w1'))).toEqual(shown);
      expect(await a.tasks()).toEqual(await b.tasks());
      expect(a.git('log', '--format=%s', '--branches=forge/*')).not.toContain(`Sling ${first} to ${mine}`);
      const before = a.picture();
      expect(unwrap(await a.workers.sharing.sync())).toMatchObject({ sent: [], received: [], conflicts: [] });
      expect(a.picture()).toBe(before);
    } finally {
      gate.open();
    }
  });

  it('want different things: both get them', async () => {
    unwrap(await a.workers.slinging.addTasks(['t1', 't2'].map((id) => ({ id, type: 'x', input: {} }))));
    unwrap(await a.workers.sharing.sync());
    const b = await synced('b');
    const gate = await Gate.build();
    clones.hook('pre-receive', gate.line);
    try {
      const late = a.sling('w1', 't1');
      await gate.reached;
      unwrap(await b.sling('w2', 't2'));
      gate.open();
      unwrap(await late);
      expect(await a.tasks()).toEqual(['t1 PENDING w1', 't2 PENDING w2']);
      expect(a.git('log', '--format=%s', 'forge/hooks/w1'), 'what was made first is dropped').toBe('Sling t1 to w1');
      expect(a.git('log', '--merges', '--format=%s', 'forge/ledger')).toBe('');
    } finally {
      gate.open();
    }
  });

  it('start one hook: one wins, the other is refused and its folder stays as it was', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.workers.sharing.sync());
    const b = await synced('b');
    const gate = await Gate.build();
    clones.hook('pre-receive', gate.line);
    try {
      const late = a.claim('w1');
      await gate.reached;
      const { lease } = unwrap(await b.claim('w1'));
      gate.open();
      expect(codeOf(await late)).toBe('illegal_transition');
      expect((await a.statusOf('w1')).elsewhere).toBe(true);
      expect(a.git('log', '--format=%s', 'forge/hooks/w1').split('\n')).toEqual(['Start t1', 'Sling t1 to w1']);
      unwrap(await b.workers.steps.ending.end(lease, 'complete'));
    } finally {
      gate.open();
    }
  });

  it('start one hook: what was slung in one is done in the other', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.workers.sharing.sync());
    const b = await synced('b');
    const { lease, folder } = unwrap(await b.claim('w1'));
    expect(folder).toBe(b.hook('w1'));
    expect(existsSync(b.hook('w1', 'task.json'))).toBe(true);
    expect(codeOf(await a.claim('w1'))).toBe('illegal_transition');
    writeFileSync(path.join(folder, 'out.txt'), 'by b');
    unwrap(await b.workers.steps.ending.end(lease, 'complete'));
    expect(unwrap(await a.workers.sharing.sync()).received).toEqual(['w1']);
    expect(readFileSync(a.hook('w1', 'out.txt'), 'utf8')).toBe('by b');
    expect(JSON.parse(readFileSync(a.hook('w1', 'result.json'), 'utf8'))).toMatchObject({ status: 'COMPLETE' });
    expect(a.git('-C', a.hook('w1'), 'status', '--porcelain')).toBe('');
    expect(await a.statusOf('w1')).toMatchObject({ orphaned: [], damage: undefined });
    expect(unwrap(await a.workers.repairs.plan())).toEqual([]);
  });
});

describe('without the remote', { timeout: 60_000 }, () => {
  it('nothing new is claimed, what is claimed goes on, and all of it comes to the others later', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.workers.sharing.sync());
    unwrap(await a.sling('w2', 't2'));
    const b = await synced('b');
    const begun = unwrap(await a.claim('w1'));
    a.setUrl(NOWHERE);
    const [before, remote] = [a.picture(), clones.refs];
    expect(codeOf(await a.sling('w3', 't3'))).toBe('remote_unreachable');
    expect(codeOf(await a.claim('w2'))).toBe('remote_unreachable');
    expect(codeOf(await a.workers.sharing.sync())).toBe('remote_unreachable');
    expect(a.picture()).toBe(before);

    writeFileSync(path.join(begun.folder, 'half.txt'), 'half');
    unwrap(await a.workers.steps.handoff(begun.lease, 'context_limit', 'line 7'));
    expect(a.workers.sharing.unshared?.code).toBe('remote_unreachable');
    const again = unwrap(await a.claim('w1'));
    expect(again).toMatchObject({ action: 'resume', state: { incarnation: 2, resumePoint: 'line 7' } });
    unwrap(await a.workers.steps.ending.end(again.lease, 'complete'));
    unwrap(await a.workers.slinging.addTasks([{ id: 't4', type: 'x', input: {} }]));
    expect(clones.refs).toBe(remote);
    unwrap(await b.sling('w5', 't5'));

    a.setUrl(clones.bare);
    expect(unwrap(await a.workers.sharing.sync())).toMatchObject({ ledgerMerged: true, conflicts: [], superseded: [] });
    expect(a.workers.sharing.unshared).toBeUndefined();
    unwrap(await b.workers.sharing.sync());
    for (const clone of [a, b]) {
      expect(await clone.tasks()).toEqual(['t1 COMPLETE w1', 't2 PENDING w2', 't4 OPEN', 't5 PENDING w5']);
      expect(clone.git('for-each-ref', '--format=%(refname) %(objectname)', 'refs/heads/forge/')).toBe(clones.refs);
    }
    expect(b.git('show', 'forge/hooks/w1:half.txt')).toBe('half');
  });

  it('a change brings along what was done meanwhile, without a sync', async () => {
    unwrap(await a.sling('w1', 't1'));
    unwrap(await a.workers.sharing.sync());
    const b = await synced('b');
    a.setUrl(NOWHERE);
    unwrap(await a.workers.slinging.addTasks([{ id: 't2', type: 'x', input: {} }]));
    unwrap(await b.sling('w3', 't3'));
    a.setUrl(clones.bare);
    unwrap(await a.workers.slinging.addTasks([{ id: 't4', type: 'x', input: {} }]));
    expect(a.workers.sharing.unshared).toBeUndefined();
    unwrap(await b.workers.sharing.sync());
    expect(await b.tasks()).toEqual(['t1 PENDING w1', 't2 OPEN', 't3 PENDING w3', 't4 OPEN']);
  });
});
