import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { unwrap } from '../../src/core/shared/errors';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { type Row, medianOf } from './rows';

const ROUNDS = 200;
const WARM_UP = 5;
const BAR = 3;

type Kind = 'none' | 'empty' | 'window' | 'starting';

/** Runs git to its end, and gives how long that took by the clock. */
async function timed(folder: string, env: NodeJS.ProcessEnv, args: readonly string[]): Promise<number> {
  const start = performance.now();
  const child = spawn('git', args, { cwd: folder, env, stdio: 'ignore' });
  const [code] = (await once(child, 'exit')) as [number | null];
  if (code !== 0) throw new Error(`git ended with ${code ?? 'a signal'}`);
  return performance.now() - start;
}

/** Waits until a process is no more; one that nobody buries counts as gone. */
async function ended(atlas: Atlas, pid: number): Promise<void> {
  const { processes } = atlas.ports;
  const other = { ...processes.self(), pid, start_time: '' };
  while (processes.vitality(other) === 'alive') await new Promise((resolve) => setTimeout(resolve, 5));
}

/**
 * What a hook adds to a commit, ours beside one that does nothing, taken in turns in one run. Ours with an open window,
 * which drains by itself, and with a drain to start. What is started only waits until the commit is over: what a drain
 * does then is no part of the commit, but starting it is.
 */
export async function gitHookRows(root: string): Promise<Row[]> {
  const ws = await makeGitWorkspace(path.join(root, 'hooks'));
  const env = { ...process.env, ...ws.env };
  const program = path.join(root, 'atlas');
  writeFileSync(program, '#!/bin/sh\nexec sleep 0.05\n');
  chmodSync(program, 0o755);
  const atlas = new Atlas(systemPorts(ws.atlasHome, 'bench', silentLog));
  unwrap(await (await atlas.gitHooks()).install(ws.folder, { command: [program] }));
  const empty = path.join(root, 'empty-hooks');
  mkdirSync(empty);
  writeFileSync(path.join(empty, 'post-commit'), '#!/bin/sh\n:\n');
  chmodSync(path.join(empty, 'post-commit'), 0o755);
  const none = path.join(root, 'no-hooks');
  mkdirSync(none);
  const spool = await atlas.spool();
  const claim = path.join(atlas.ports.paths.spool, 'claim');
  const hooks: Record<Kind, string> = { none, empty, window: '.git/hooks', starting: '.git/hooks' };
  const times: Record<Kind, number[]> = { none: [], empty: [], window: [], starting: [] };
  const kinds = Object.keys(hooks) as Kind[];
  for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
    // Whoever is first after a pause is slower: each is first equally often.
    for (const kind of [...kinds.slice(round % kinds.length), ...kinds.slice(0, round % kinds.length)]) {
      if (kind === 'window') spool.announceWindow();
      else spool.withdrawWindow();
      if (existsSync(claim)) unlinkSync(claim);
      const hooksPath = `core.hooksPath=${hooks[kind]}`;
      const args = ['-c', hooksPath, 'commit', '--quiet', '--allow-empty', '--message', `nr ${round}`];
      const time = await timed(ws.folder, env, args);
      if (round >= WARM_UP) times[kind].push(time);
      // The one that was started ends before the next commit is measured.
      if (kind === 'starting') await ended(atlas, Number.parseInt(readFileSync(claim, 'utf8'), 10));
      for (const name of readdirSync(atlas.ports.paths.spool)) {
        if (name.startsWith('event.')) rmSync(path.join(atlas.ports.paths.spool, name));
      }
    }
  }
  const added = (kind: Kind): number => medianOf(times[kind].map((time, index) => time - (times.none[index] ?? NaN)));
  return (['window', 'starting'] as const).map((kind) => ({
    what: `what our hook adds to a commit, ${kind === 'window' ? 'a window is open' : 'it starts a drain'}`,
    amount: added(kind),
    beside: { what: 'a hook that does nothing', amount: added('empty'), ratio: 'times' },
    bar: { text: `${BAR} times`, met: added(kind) <= BAR * added('empty') },
  }));
}
