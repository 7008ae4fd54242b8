import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../src/core/shared/errors';
import { Atlas } from '../../src/service/atlas';
import { capture } from '../../src/service/checkpoints/capture';
import { silentLog, systemPorts } from '../../src/service/ports';
import { makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { run } from '../support/drivers/run';
import { type Row, medianOf, timed } from './rows';

const FILES = 50_000;
const FOLDERS = 500;
const ROUNDS = 20;

/** What git's state costs an automatic checkpoint in a repository of many files. */
export async function gitStateRows(root: string): Promise<Row[]> {
  const workspace = await makeGitWorkspace(root);
  const { folder } = workspace;
  for (let made = 0; made < FILES; made += 1) {
    const parent = path.join(folder, `folder${made % FOLDERS}`);
    if (made < FOLDERS) mkdirSync(parent);
    writeFileSync(path.join(parent, `file${made}.txt`), `${made}\n`);
  }
  const env = { ...process.env, ...workspace.env };
  await run('git', ['add', '.'], { cwd: folder, env });
  await run('git', ['commit', '--quiet', '--message', 'many files'], { cwd: folder, env });
  const atlas = new Atlas(systemPorts(workspace.atlasHome, 'bench', silentLog));
  const { ports } = atlas;
  const repository = await ports.git.locate(folder);
  if (repository === undefined) throw new Error('no repository');
  const { ref } = unwrap(await atlas.startTask({ title: 'bench', template: 'task', folder }));
  unwrap(await atlas.startStep(ref));
  const { config } = await atlas.configs.forWorktree(undefined);
  const heads: number[] = [];
  const spawns: number[] = [];
  const captures: number[] = [];
  const statuses: number[] = [];
  const wrong: (boolean | undefined)[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const dirty = round % 2 === 1;
    const file = path.join(folder, 'new.txt');
    if (dirty) writeFileSync(file, 'x');
    else rmSync(file, { force: true });
    heads.push(await timed(() => ports.git.head(repository)));
    spawns.push(await timed(async () => run('git', ['rev-parse', 'HEAD'], { cwd: folder, env })));
    const { hook, task } = unwrap(atlas.store.read(ref));
    captures.push(
      await timed(async () => {
        const taken = await capture(ports, ref, hook, task);
        if (taken.git?.dirty !== undefined && taken.git.dirty !== dirty) wrong.push(taken.git.dirty);
        const input = { type: 'checkpoint', trigger: 'interval', description: 'by itself' } as const;
        unwrap(await atlas.store.send(ref, input, { config, capture: taken }));
      }),
    );
    statuses.push(await timed(async () => ports.git.status(repository, 60_000)));
  }
  const [head, spawn] = [medianOf(heads), medianOf(spawns)];
  const [taken, status] = [medianOf(captures), medianOf(statuses)];
  const what = `repository of ${FILES.toLocaleString('en')} files`;
  return [
    {
      what: `branch and commit, ${what}`,
      amount: head,
      beside: { what: 'one `git rev-parse`', amount: spawn, ratio: 'faster' },
      bar: { text: 'no process started', met: head < spawn },
    },
    {
      what: `automatic checkpoint with git's state, ${what}`,
      amount: taken,
      beside: { what: '`git status`', amount: status, ratio: 'times' },
      bar: {
        text: `doesn't wait for it; git_dirty wrong in ${wrong.length} of ${ROUNDS}`,
        met: taken < status && wrong.length === 0,
      },
    },
  ];
}
