/* One life of a worker, in a process that is killed at a chosen point: `node <bundle> <folder> <life> <point> <mode> <watched folders…>`. */
import { writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { unwrap } from '../../../src/core/shared/errors';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { Workers } from '../../../src/workers/workers';
import { type Life, LIVES, live, tipsOf } from '../faults/forgeLife';
import { type KillMode, KillPoints } from '../faults/killPoints';

const [folder = '', named = '', at = '0', mode = 'alone', ...watched] = process.argv.slice(2);

async function main(): Promise<void> {
  const life = LIVES.find((each): each is Life => each === named);
  if (life === undefined) throw new Error(`unknown life ${named}`);
  const points = new KillPoints(Number(at), mode as KillMode, watched);
  const ports = systemPorts(tmpdir(), '0.0.0', silentLog);
  const killed = { ...ports, files: points.files(ports.files) };
  const workers = unwrap(Workers.open(folder, killed));
  points.watchGit();
  const pass = (what: string): void => {
    points.pass(what);
  };
  const told = (what: string): void => {
    points.pass(`before ${what} is told`);
    writeSync(1, `${JSON.stringify({ what, tips: tipsOf(workers.commonDir) })}\n`);
    points.pass(`after ${what} was told`);
  };
  await live(workers, life, killed, { told, pass });
}

void main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  process.exitCode = 1;
});
