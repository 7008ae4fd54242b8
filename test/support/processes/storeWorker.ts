/* A process of its own on a store, bundled and started by the tests: `node <bundle> <command> <root> <arguments…>`. */
import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
import { unwrap } from '../../../src/core/shared/errors';
import type { TaskInput } from '../../../src/core/transition/events';
import type { TaskRecord } from '../../../src/core/task/taskRecord';
import { FileKeyManager } from '../../../src/signing/keyManager';
import { StoreWatcher } from '../../../src/store/storeWatcher';
import { TaskIndexes } from '../../../src/store/task/taskIndexes';
import { Atlas } from '../../../src/service/atlas';
import { silentLog, systemPorts } from '../../../src/service/ports';
import { KILLED_WORK, workForEver } from '../faults/killedWork';

const [command = '', root = '', ...rest] = process.argv.slice(2);
const atlas = new Atlas(systemPorts(root, '0.0.0', silentLog));
const [first = '', second = '', third = ''] = rest;
const ref = { workspace: first, id: second };

/** Written before the next operation begins, so that what was said was done. */
function say(line: string): void {
  writeSync(1, `${line}\n`);
}

/** Makes a number of checkpoints and says the id of each. */
async function checkpoints(): Promise<void> {
  for (let made = 0; made < Number(third); made += 1) {
    const { hook } = unwrap(await atlas.checkpoint(ref, `${process.pid} ${made}`));
    say(hook.checkpoints.at(-1)?.checkpoint_id ?? '');
  }
}

/** Holds the task's lock for ever. */
async function hold(): Promise<void> {
  await atlas.store.locked(ref, () => {
    say('held');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);
    return { ok: true, value: undefined };
  });
}

/** Is an owner of the task for ever. */
function own(): void {
  atlas.owners.adopt(ref, 'window');
  say('owns');
  setInterval(() => undefined, 1000);
}

/**
 * Is a window until its input ends: hooks see that it is there, it takes up what they write, and makes checkpoints of its
 * own, whose ids it says.
 */
async function beWindow(): Promise<void> {
  const service = await atlas.spool();
  let draining: Promise<unknown> = Promise.resolve();
  const drain = (): void => {
    draining = draining.then(async () => service.drain()).then(unwrap);
  };
  const watcher = new StoreWatcher(atlas.ports.paths, silentLog, () => undefined);
  service.announceWindow();
  await watcher.addSpool(drain);
  watcher.start([ref]);
  const ended = new Promise((resolve) => process.stdin.on('end', resolve).resume());
  await checkpoints();
  say('made all');
  await ended;
  service.withdrawWindow();
  watcher.close();
  await draining;
}

/** Reads hook.json until its input ends; says how often it could, fails if it ever was not whole. */
function read(): void {
  let reads = 0;
  let stopped = false;
  process.stdin.on('end', () => (stopped = true)).resume();
  const turn = (): void => {
    for (let index = 0; index < 50; index += 1) {
      JSON.parse(readFileSync(atlas.ports.paths.hook(ref), 'utf8'));
      reads += 1;
    }
    if (stopped) say(String(reads));
    else setImmediate(turn);
  };
  say('reading');
  turn();
}

const CYCLE: Readonly<Partial<Record<TaskRecord['state'], readonly TaskInput[]>>> = {
  step_pending: [{ type: 'start_step' }],
  step_running: [
    { type: 'note', workingOn: 'x', lastOutput: 'y'.repeat(400) },
    { type: 'checkpoint', trigger: 'manual', description: 'z' },
    { type: 'human_required', kind: 'review' },
  ],
  awaiting_human: [
    { type: 'human_reject', by: 'human' },
    { type: 'human_resume', by: 'human' },
  ],
};

/** Drives a task round and round, and says the length of its history after each change. */
async function drive(): Promise<void> {
  for (let turn = Number(third); ; turn += 1) {
    const { hook } = unwrap(atlas.store.read(ref));
    const inputs = CYCLE[hook.state] ?? [];
    const input = inputs[turn % inputs.length];
    if (input === undefined) throw new Error(`nothing to do in ${hook.state}`);
    const sent = unwrap(await atlas.send(ref, input));
    say(`${sent.hook.history.length} ${input.type}`);
  }
}

/** Reads the task, waits for its input to end, and then recovers what it read: many do so at once. */
async function recover(): Promise<void> {
  const seen = unwrap(atlas.store.read(ref));
  say('ready');
  await new Promise((resolve) => process.stdin.on('end', resolve).resume());
  const recovered = await atlas.recovery.recover(seen);
  say(recovered.ok ? `recovered ${recovered.value.hook.state}` : recovered.error.code);
}

/** Makes a checkpoint, and stops itself (SIGSTOP) while it holds the lock, before anything is written. */
async function stopped(): Promise<void> {
  const { config } = await atlas.configs.forWorktree(undefined);
  const made = await atlas.store.update(
    ref,
    () => {
      say('stops');
      process.kill(process.pid, 'SIGSTOP');
      return { ok: true, value: { type: 'checkpoint', trigger: 'manual', description: 'of one who was stopped' } };
    },
    { config },
  );
  say(made.ok ? 'made' : made.error.code);
}

/** Makes a checkpoint while this process has no file descriptor left, and another one after that. */
async function starved(): Promise<void> {
  unwrap(await atlas.checkpoint(ref, 'before'));
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    // None is left.
  }
  const refused = await atlas.checkpoint(ref, 'meanwhile');
  for (const fd of taken) closeSync(fd);
  say(refused.ok ? 'made' : `${refused.error.code} ${refused.error.hint ?? ''}`);
  unwrap(await atlas.checkpoint(ref, 'after'));
  say('made after');
}

/** Validates the current step, and dies as soon as it has recorded so many receipts. */
async function validate(): Promise<void> {
  let left = Number(third);
  const onReceipt = (): void => {
    left -= 1;
    if (left === 0) process.kill(process.pid, 'SIGKILL');
  };
  unwrap(await atlas.validate(ref, { signal: new AbortController().signal, caller: 'human', watch: { onReceipt } }));
}

/** Loads the signing key, and makes it if need be; says which it is. */
async function key(): Promise<void> {
  const receipts = await atlas.receipts();
  const derivation = { purpose: 44, coinType: 236, account: 0 };
  const scheme = first === 'hd' ? 'hd' : 'ed25519';
  if (second !== '') say(second);
  const manager = new FileKeyManager(receipts.keys, { scheme, derivation }, silentLog, receipts.curve);
  say(unwrap(await manager.newSigner({ task: 0, receipt: 0 })).keyId);
}

async function main(): Promise<void> {
  const work = KILLED_WORK.find((each) => command === `work-${each}`);
  if (work !== undefined) return workForEver(atlas, work, first, say);
  switch (command) {
    case 'checkpoints':
      return checkpoints();
    case 'window':
      return beWindow();
    case 'hold':
      return hold();
    case 'own':
      own();
      return;
    case 'read':
      read();
      return;
    case 'drive':
      return drive();
    case 'scan': {
      const repository = await atlas.ports.git.locate(first);
      if (repository === undefined) throw new Error('no repository');
      say(String(unwrap(await (await atlas.git()).scan(repository)).length));
      return;
    }
    case 'drain':
      say(JSON.stringify(unwrap(await (await atlas.spool()).drain())));
      return;
    case 'start':
      for (let made = 0; made < Number(second); made += 1) {
        say(unwrap(await atlas.startTask({ title: 'Sample', template: 'commit', folder: first })).ref.id);
      }
      return;
    case 'detect': {
      const detected = unwrap(await atlas.recovery.detect(unwrap(atlas.store.read(ref))));
      say(`${detected.diagnosis.kind} ${String(detected.recorded)}`);
      return;
    }
    case 'recover':
      return recover();
    case 'stopped':
      return stopped();
    case 'starved':
      return starved();
    case 'validate':
      return validate();
    case 'key':
      return key();
    case 'indexes':
      for (let made = 0; made < Number(first); made += 1) {
        say(String(unwrap(await new TaskIndexes(atlas.ports).next())));
      }
      return;
    case 'ensure':
      say(unwrap(atlas.workspaces.ensure(first, undefined)));
      return;
    default:
      throw new Error(`unknown command ${command}`);
  }
}

void main().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  process.exitCode = 1;
});
