import { execFileSync } from 'node:child_process';
import path from 'node:path';
import type { Line, Trial } from './cliAnswers';
import type { Desk } from '../../support/drivers/cliDesk';

const AGENT = { CLAUDECODE: '1' };
const LEASE = { FORGE_WORKER: 'w1', FORGE_TASK: 't1', FORGE_CLAIM: '1', FORGE_INCARNATION: '1' };

function line(exit: number, words: string, last: readonly string[] = [], more: Omit<Line, 'args' | 'exit'> = {}): Line {
  return { args: [...words.split(' '), ...last], exit, ...more };
}

/** A task hangs on the hook of w1. */
async function slung(desk: Desk): Promise<void> {
  await desk.ok('worker', 'sling', 't1', 'w1');
}

/** The same, and then everything that git doesn't know was removed. */
async function cleaned(desk: Desk): Promise<void> {
  await slung(desk);
  git(desk, 'clean', '-ffdxq');
}

/** The same, in a repository that has a remote. */
async function withRemote(desk: Desk): Promise<void> {
  await slung(desk);
  const bare = path.join(desk.folder, '.git', 'remote.git');
  git(desk, 'init', '--quiet', '--bare', bare);
  git(desk, 'remote', 'add', 'origin', bare);
}

function git({ folder }: Desk, ...args: string[]): void {
  execFileSync('git', args, { cwd: folder, stdio: 'ignore' });
}

/** It was claimed by a worker that runs itself. */
async function claimed(desk: Desk): Promise<void> {
  await slung(desk);
  await desk.ok('worker', 'claim', 'w1');
}

/** It is done. */
async function completed(desk: Desk): Promise<void> {
  await slung(desk);
  await desk.ok('worker', 'run', 'w1', '--', 'git', '--version');
}

/** Two tasks, of which one waits for the other. */
async function added(desk: Desk): Promise<void> {
  await desk.ok('worker', 'task', 'add', 't1', '--convoy', 'c0');
  await desk.ok('worker', 'task', 'add', 't2', '--blocked-by', 't1');
}

/** How the commands of workers are tried. */
export const WORKER_TRIALS: Readonly<Record<string, Trial>> = {
  'worker task add': {
    lines: [
      line(0, 'worker task add t1 --type translate --timeout 2h --convoy c1 --blocked-by t0', ['--input', '{"a":1}']),
      line(0, 'worker task add t1'),
      line(0, 'worker task add --from -', [], { input: '{"id":"t2","type":"x"}\n{"id":"t1","type":"x"}\n' }),
      line(2, 'worker task add'),
      line(2, 'worker task add t3 --timeout soon'),
      line(2, 'worker task add t3 --input', ['[]']),
      line(2, 'worker task add --from -', [], { input: 'no json' }),
      line(3, 'worker task add --from nowhere.json'),
    ],
  },
  'worker task show': {
    before: completed,
    lines: [line(0, 'worker task show t1'), line(3, 'worker task show t9'), line(2, 'worker task show')],
  },
  'worker task list': {
    before: added,
    lines: [
      line(0, 'worker task list'),
      line(0, 'worker task list --status OPEN'),
      line(2, 'worker task list --status LOST'),
    ],
  },
  'worker ready': {
    before: added,
    lines: [line(0, 'worker ready'), line(0, 'worker ready --convoy c0'), line(2, 'worker ready x')],
  },
  'worker sling': {
    before: added,
    lines: [
      line(4, 'worker sling t2 w1'),
      line(2, 'worker sling t1 w1 --tool a --tool b --tool c --tool d --tool e --tool f'),
      line(0, 'worker sling t1 w1 --tool a --context -', [], { input: '{"more":true}' }),
      line(4, 'worker sling t3 w1'),
      line(2, 'worker sling t3 ../w1'),
      line(2, 'worker sling t3'),
    ],
  },
  'worker list': { before: slung, lines: [line(0, 'worker list'), line(2, 'worker list x')] },
  'worker status': {
    before: slung,
    lines: [line(0, 'worker status w1'), line(3, 'worker status w9'), line(2, 'worker status W9')],
  },
  'worker show': {
    before: completed,
    lines: [line(0, 'worker show w1'), line(3, 'worker show w9'), line(2, 'worker show')],
  },
  'worker run': {
    before: slung,
    lines: [
      line(4, 'worker run w1 --owner-is-gone -- git', [], { env: AGENT }),
      line(0, 'worker run w1 -- git', ['diff', '--quiet']),
      line(4, 'worker run w1 -- git'),
      line(3, 'worker run w9 -- git'),
      line(2, 'worker run w1'),
      line(2, 'worker run w1 --timeout soon -- git'),
    ],
  },
  'worker claim': {
    before: slung,
    lines: [
      line(2, 'worker claim w1 --pid none'),
      line(4, 'worker claim w1', [], { env: { FORGE_WORKER: 'w2' } }),
      line(0, 'worker claim w1'),
      line(4, 'worker claim w1'),
      line(3, 'worker claim w9'),
    ],
  },
  'worker complete': {
    before: claimed,
    lines: [
      line(2, 'worker complete w1'),
      line(4, 'worker complete w1 --incarnation 2', [], { env: LEASE }),
      line(4, 'worker complete w2', [], { env: LEASE }),
      line(0, 'worker complete w1 --result -', [], { env: LEASE, input: '{"output":{"path":"x"}}' }),
      line(0, 'worker complete w1 --task t1 --claim 1 --incarnation 1'),
    ],
  },
  'worker fail': {
    before: claimed,
    lines: [
      line(2, 'worker fail w1 --claim 0', [], { env: LEASE }),
      line(2, 'worker fail w1 --result -', [], { env: LEASE, input: '{"status":"FAILED"}' }),
      line(0, 'worker fail w1 --code no_input --message', ['it is gone'], { env: LEASE }),
      line(0, 'worker fail w1', [], { env: LEASE }),
    ],
  },
  'worker handoff': {
    before: claimed,
    lines: [
      line(2, 'worker handoff w1 --reason tired', [], { env: LEASE }),
      line(2, 'worker handoff w1 --reason error', [], { env: LEASE }),
      line(0, 'worker handoff w1 --reason context_limit --resume-point', ['step 3'], { env: LEASE }),
      line(4, 'worker handoff w1 --reason error --resume-point x --claim 2', [], { env: LEASE }),
    ],
  },
  'worker recover': {
    before: slung,
    lines: [
      line(0, 'worker recover w1'),
      line(4, 'worker recover w1 --owner-is-gone', [], { env: AGENT }),
      line(1, 'worker recover w1 -- git', ['rev-parse', '-q', '--verify', 'none']),
      line(3, 'worker recover w9'),
      line(2, 'worker recover'),
    ],
  },
  'worker clear': {
    before: completed,
    lines: [
      line(0, 'worker clear w1'),
      line(3, 'worker clear w1'),
      line(3, 'worker clear w9'),
      line(2, 'worker clear'),
    ],
  },
  'worker repair': {
    before: cleaned,
    lines: [
      line(0, 'worker repair'),
      line(0, 'worker repair --yes'),
      line(0, 'worker repair --yes'),
      line(2, 'worker repair w1'),
    ],
  },
  'worker sync': {
    before: withRemote,
    lines: [
      line(3, 'worker sync nowhere'),
      line(0, 'worker sync'),
      line(0, 'worker sync origin'),
      line(2, 'worker sync a b'),
    ],
  },
  'worker convoy create': {
    before: added,
    lines: [
      line(0, 'worker convoy create c1 t1 t2 --title', ['Both']),
      line(0, 'worker convoy create c1 t1 t2 --title', ['Both']),
      line(4, 'worker convoy create c1 t1'),
      line(3, 'worker convoy create c2 t9'),
      line(2, 'worker convoy create c2'),
    ],
  },
  'worker convoy status': {
    before: added,
    lines: [
      line(0, 'worker convoy status'),
      line(0, 'worker convoy status c0'),
      line(3, 'worker convoy status c9'),
      line(2, 'worker convoy status c0 x'),
    ],
  },
};
