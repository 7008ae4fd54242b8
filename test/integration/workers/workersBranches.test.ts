import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import type { Desk } from '../../support/drivers/cliDesk';
import { HostileRemote } from '../../support/faults/hostileRemote';

/* Names and targets of branches at a remote that keep git from one of them: all others are fetched, used and pushed. */

let cli: BuiltCli;

/** `npm run test:hostile` has all of them. */
const MANY = process.env['ATLAS_HOSTILE'] === 'all' ? 2000 : 500;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);
afterAll(() => {
  cli.dispose();
});

/** What both do beside the bad branch reaches the other. */
async function othersGoOn({ a, b }: HostileRemote, round: number): Promise<void> {
  const sides: readonly (readonly [Desk, Desk])[] = [
    [a, b],
    [b, a],
  ];
  for (const [index, [from, to]] of sides.entries()) {
    const worker = `ok${round}${index}`;
    await from.ok('worker', 'sling', `task-${worker}`, worker);
    await from.ok('worker', 'run', worker, '--', process.execPath, '-e', '0');
    const said = await to.run('worker', 'sync');
    expect([said.code, said.out], said.err).toEqual([0, expect.stringContaining(worker)]);
    expect(await to.ok('worker', 'task', 'list')).toMatch(new RegExp(`task-${worker} .*COMPLETE`, 'u'));
  }
}

/** Writes a branch of the bare remote without git's checks. */
function point({ bare }: HostileRemote, ref: string, id: string): void {
  execFileSync('mkdir', ['-p', path.dirname(path.join(bare, ref))]);
  writeFileSync(path.join(bare, ref), `${id}\n`);
}

describe('a branch of a remote', { timeout: 120_000 }, () => {
  it('whose name was a pool, and is a worker now, stops nobody', async () => {
    const remote = await HostileRemote.make(cli, 'pool');
    const { a, b } = remote;
    await a.ok('worker', 'sling', 't3', 'p/w');
    await b.ok('worker', 'sync', 'origin');
    const tip = remote.git('rev-parse', 'forge/hooks/w2');
    remote.git('update-ref', '-d', 'refs/heads/forge/hooks/p/w');
    remote.git('update-ref', 'refs/heads/forge/hooks/p', tip);
    for (const desk of [a, b]) {
      const said = await desk.run('worker', 'sync');
      expect([said.code, said.out], said.err).toEqual([0, expect.stringContaining('p/w exists here and p there')]);
    }
    await othersGoOn(remote, 1);
    // And back again.
    remote.git('update-ref', '-d', 'refs/heads/forge/hooks/p');
    remote.git('update-ref', 'refs/heads/forge/hooks/p/w', a.git('rev-parse', 'forge/hooks/p/w'));
    for (const desk of [a, b]) expect((await desk.run('worker', 'sync')).out).not.toContain('p there');
    await othersGoOn(remote, 2);
  });

  it('that no worker can have, beside which git can’t keep one of ours, is named', async () => {
    const remote = await HostileRemote.make(cli, 'beside');
    const { a, b } = remote;
    await b.ok('worker', 'sync', 'origin');
    const tip = remote.git('rev-parse', 'forge/hooks/w2');
    remote.git('update-ref', 'refs/heads/forge/hooks/ok10/x/y', tip);
    for (const name of ['Forge/x', 'forge/hooks/W2', 'forge/hooks/EVIL', 'forge/LEDGER', 'forge/hooks/w2.LOCK'])
      remote.git('update-ref', `refs/heads/${name}`, tip);
    await a.ok('worker', 'sync');
    const refused = await a.run('worker', 'sling', 't9', 'ok10');
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining('rejected the forge/* branches')]);
    remote.git('update-ref', '-d', 'refs/heads/forge/hooks/ok10/x/y');
    await othersGoOn(remote, 2);
    // Here, and there only later.
    remote.git('update-ref', '-d', 'refs/heads/forge/hooks/ok20');
    remote.git('update-ref', 'refs/heads/forge/hooks/ok20/x/y', tip);
    const said = await a.run('worker', 'sync');
    expect(said.out).toContain("forge/hooks/ok20/x/y can't be used: git can't keep it beside forge/hooks/ok20");
    await othersGoOn(remote, 3);
  });

  it('in the place of the ledger: nothing is claimed, and how to go on is said', async () => {
    const remote = await HostileRemote.make(cli, 'ledgers-place');
    const { a, b } = remote;
    await b.ok('worker', 'sync', 'origin');
    const tip = remote.git('rev-parse', 'forge/ledger');
    remote.git('update-ref', '-d', 'refs/heads/forge/ledger');
    remote.git('update-ref', 'refs/heads/forge/ledger/x', tip);
    const said = await a.run('worker', 'sync');
    expect(said.out).toContain("forge/ledger/x can't be used: git can't keep it beside forge/ledger");
    expect((await a.run('worker', 'sling', 't9', 'w9')).code).toBe(1);
    remote.git('update-ref', '-d', 'refs/heads/forge/ledger/x');
    await othersGoOn(remote, 1);
  });

  it('that points to a tag, a file, a folder, nothing or a damaged commit is named, and the others are used', async () => {
    const remote = await HostileRemote.make(cli, 'targets');
    const { b, objects } = remote;
    await b.ok('worker', 'sync', 'origin');
    const tip = remote.git('rev-parse', 'forge/hooks/w2');
    remote.git('-c', 'user.name=x', '-c', 'user.email=x@y', 'tag', '-a', '-m', 'x', 'v1', tip);
    const targets = {
      tag: remote.git('rev-parse', 'v1'),
      blob: objects.file('f', 'x').id,
      tree: objects.folder('f', []).id,
      gone: '1'.repeat(40),
      bare: objects.commit(`tree ${'2'.repeat(40)}\nauthor x <x> 0 +0000\ncommitter x <x> 0 +0000\n\nx\n`),
      wrong: objects.commit(`tree ${tip}\nauthor x <x> 0 +0000\ncommitter x <x> 0 +0000\n\nx\n`),
    };
    for (const [name, id] of Object.entries(targets)) {
      point(remote, `refs/heads/forge/hooks/${name}`, id);
      const said = await b.run('worker', 'sync');
      expect([said.code, said.out], `${name}: ${said.err}`).toEqual([
        0,
        expect.stringMatching(new RegExp(`forge/hooks/${name} (can't|could not) be`, 'u')),
      ]);
      // With such a commit, git at the remote takes no push from anybody.
      if (!['gone', 'bare', 'wrong'].includes(name)) await othersGoOn(remote, Object.keys(targets).indexOf(name));
      rmSync(path.join(remote.bare, 'refs/heads/forge/hooks', name));
    }
    for (const name of Object.keys(targets)) expect(b.git('for-each-ref', `refs/heads/forge/hooks/${name}`)).toBe('');
  });

  it('whose object is damaged here keeps nobody from the others', async () => {
    const remote = await HostileRemote.make(cli, 'damaged');
    const { b } = remote;
    await b.ok('worker', 'sync', 'origin');
    const blob = b.git('rev-parse', 'forge/hooks/evil:status.json');
    const [folder, file] = [blob.slice(0, 2), blob.slice(2)];
    execFileSync('/bin/sh', ['-c', `chmod u+w objects/${folder}/${file} && echo garbage >objects/${folder}/${file}`], {
      cwd: path.join(b.folder, '.git'),
    });
    expect(await b.ok('worker', 'list')).toMatch(/evil +damaged/u);
    expect(await b.ok('worker', 'status', 'evil')).toContain('status.json is missing or damaged');
    await othersGoOn(remote, 1);
  });

  it(`one of ${MANY} is as good as one of two`, async () => {
    const remote = await HostileRemote.make(cli, 'thousands');
    const { b } = remote;
    const tip = remote.git('rev-parse', 'forge/hooks/w2');
    const input = Array.from(
      { length: MANY },
      (_, index) => `create refs/heads/forge/hooks/many${index} ${tip}\n`,
    ).join('');
    execFileSync('git', ['update-ref', '--stdin'], { cwd: remote.bare, input });
    remote.git('pack-refs', '--all');
    point(remote, 'refs/heads/forge/hooks/gone', '1'.repeat(40));
    const said = await b.run('worker', 'sync', 'origin');
    expect([said.code, said.out], said.err).toEqual([
      0,
      expect.stringContaining('forge/hooks/gone could not be fetched'),
    ]);
    rmSync(path.join(remote.bare, 'refs/heads/forge/hooks/gone'));
    await othersGoOn(remote, 1);
    expect((await b.ok('worker', 'list')).split('\n').length).toBeGreaterThan(MANY);
  });
});
