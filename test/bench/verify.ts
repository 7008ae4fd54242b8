import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { run } from '../support/drivers/run';
import { claimed } from '../support/fixtures/attachedLine';
import { type Machine, VerifyTeam } from '../support/fixtures/verifyTeam';
import { type Row, medianOf } from './rows';
import { buildWorkers } from './workers/build';
import type { VerifiedRange } from './workers/verify';

const PROCESSES = 7;
const COMMITS = 1000;
const BAR = 2;

/** Feeds git a stream of commits: a process for each would take minutes. */
function importInto({ folder, env }: Machine, stream: string): void {
  execFileSync('git', ['fast-import', '--quiet', '--force'], {
    cwd: folder,
    env,
    input: stream,
    stdio: ['pipe', 'pipe', 'pipe'],
  });
}

function data(text: string): string {
  return `data ${Buffer.byteLength(text)}\n${text}\n`;
}

const WHO = 'committer Bench <bench@example.com> 1700000000 +0000\n';

/** A range of commits, each with a receipt in a note on its tree. */
async function makeRange(team: VerifyTeam): Promise<void> {
  const { ana } = team;
  ana.git('switch', '--quiet', 'main');
  const checks = [{ name: 'unit', run: 'npm test' }];
  ana.commit('policy', { '.atlas/config.yaml': JSON.stringify({ verify: { checks, protect: ['test/**'] } }) });
  const commits = Array.from({ length: COMMITS }, (_each, index) => {
    const from = index === 0 ? 'from refs/heads/main^0\n' : '';
    const file = `M 100644 inline src/part${index % 20}/file${index % 100}.ts\n${data(`export const n = ${index};\n`)}`;
    return `commit refs/heads/range\n${WHO}${data(`commit ${index}`)}${from}${file}\n`;
  });
  importInto(ana, commits.join(''));
  const trees = ana.git('log', '--format=%T', 'main..range').split('\n');
  const lines = await claimed(
    ana,
    trees.map((tree) => ({ tree, command: 'npm test', check: 'unit' })),
  );
  const notes = trees.map(
    (tree, index) => `M 100644 inline ${tree.slice(0, 2)}/${tree.slice(2)}\n${data(`${lines[index] ?? ''}\n`)}`,
  );
  importInto(ana, `commit refs/notes/atlas\n${WHO}${data('notes')}${notes.join('')}\n`);
  ana.git('gc', '--quiet');
}

/** What verifying a thousand commits in one call costs, beside what it can't do without. */
export async function verifyRows(root: string): Promise<Row[]> {
  const workers = path.join(root, 'workers');
  mkdirSync(workers);
  const programOf = await buildWorkers(workers, ['verify']);
  const team = await VerifyTeam.make();
  try {
    await makeRange(team);
    const runs: VerifiedRange[] = [];
    for (let count = 0; count < PROCESSES; count += 1) {
      const said = await run(process.execPath, [programOf('verify'), team.ana.folder, 'main..range'], {
        env: team.ana.env,
      });
      runs.push(JSON.parse(said) as VerifiedRange);
    }
    const amount = medianOf(runs.map(({ verify }) => verify));
    const floor = medianOf(runs.map(({ log, signatures }) => log + signatures));
    const commits = runs[0]?.commits ?? 0;
    return [
      {
        what: `verify a range of ${commits.toLocaleString('en')} commits, a receipt each`,
        amount,
        beside: { what: '`git log --format=%T` and the signatures themselves', amount: floor, ratio: 'times' },
        bar: { text: `≤ ${BAR} times`, met: commits === COMMITS && amount <= BAR * floor },
      },
    ];
  } finally {
    team.dispose();
  }
}
