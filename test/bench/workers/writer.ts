/* Makes checkpoints on a task once it is told to, and says how long they took, in ms. */
import { once } from 'node:events';
import { unwrap } from '../../../src/core/shared/errors';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';

const [root = '', workspace = '', id = '', changes = ''] = process.argv.slice(2);

async function main(): Promise<void> {
  const atlas = new Atlas(systemPorts(root, 'bench', silentLog));
  const ref = { workspace, id };
  const { config } = await atlas.configs.forWorktree(undefined);
  const input = { type: 'checkpoint', trigger: 'manual', description: `by ${process.pid}` } as const;
  process.stdout.write('ready\n');
  await once(process.stdin, 'data');
  const start = performance.now();
  for (let made = 0; made < Number(changes); made += 1) unwrap(await atlas.store.send(ref, input, { config }));
  process.stdout.write(`${performance.now() - start}\n`);
  process.stdin.destroy();
}

void main();
