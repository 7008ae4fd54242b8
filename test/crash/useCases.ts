import { fail, ok, unwrap } from '../../src/core/shared/errors';
import type { Atlas } from '../../src/service/atlas';
import type { TaskRef } from '../../src/core/task/taskRef';
import { ED25519, checkReceipts, config, keyOf, must, tried } from '../support/fixtures/caseHelpers';
import type { CrashWorld } from '../support/faults/crashWorld';
import { eventCases, taskIn } from '../support/fixtures/eventCases';
import { INBOX_CASES } from './inboxCases';
import { PretendedRuns } from '../support/fixtures/receipts/signedStore';
import { STORE_CASES } from './storeCases';
import type { UseCase } from '../support/faults/useCase';

const starting: UseCase[] = ['in a new store', 'beside another'].map((where) => ({
  name: `start a task ${where}`,
  arrange: async (world) => {
    if (where === 'beside another') await taskIn(world, 'step_pending');
    const { folder } = world.stage;
    const several = true;
    return {
      several,
      repeatable: true,
      act: async (atlas) => atlas.startTask({ title: 'Sample', template: 'commit', folder }),
    };
  },
}));

const driving: UseCase[] = [
  {
    name: 'complete the last step',
    arrange: async (world) => {
      const ref = await taskIn(world, 'step_running');
      const atlas = world.process();
      const steps = unwrap(atlas.store.read(ref)).task.steps.length;
      unwrap(await atlas.send(ref, { type: 'step_complete' }));
      // The others are git's, which has nothing to show here.
      const ended = { type: 'step_complete', nothingToDo: 'there is no remote' } as const;
      for (let step = 1; step < steps; step += 1) {
        unwrap(await atlas.send(ref, { type: 'start_step' }));
        if (step < steps - 1) unwrap(await atlas.send(ref, ended));
      }
      return { act: async (now) => now.send(ref, ended) };
    },
  },
  {
    name: 'checkpoint that prunes',
    arrange: async (world) => {
      config(world, 'hooks:\n  max_checkpoints: 3\n');
      const ref = await taskIn(world, 'step_running');
      const { folder, files } = world.stage;
      files.write(`${folder}/file.txt`, 'touched', { sync: true });
      for (const name of ['1', '2', '3']) unwrap(await world.process().checkpoint(ref, name));
      return { repeatable: true, act: async (atlas) => atlas.checkpoint(ref, 'one more') };
    },
  },
  {
    name: 'a step from its start to a checkpoint',
    arrange: async (world) => {
      const ref = await taskIn(world, 'step_pending');
      return {
        several: true,
        act: async (atlas, acknowledge) => {
          const started = await atlas.startStep(ref, { workingOn: 'x'.repeat(600) });
          if (!started.ok) return started;
          acknowledge();
          return atlas.checkpoint(ref, 'by hand');
        },
      };
    },
  },
  {
    name: 'find a crash and recover',
    arrange: async (world) => {
      const ref = await taskIn(world, 'step_running');
      world.process().owners.adopt(ref, 'window');
      return {
        several: true,
        act: async (atlas, acknowledge) => {
          const detected = await atlas.recovery.detect(unwrap(atlas.store.read(ref)));
          if (!detected.ok) return detected;
          if (detected.value.recorded) acknowledge();
          return atlas.recovery.recover(detected.value.task);
        },
      };
    },
  },
  {
    name: 'own a task and sign off',
    arrange: async (world) => {
      const ref = await taskIn(world, 'step_running');
      return {
        repeatable: true,
        act: async (atlas) =>
          tried(() => {
            atlas.owners.adopt(ref, 'window');
            atlas.owners.touch(ref);
            atlas.owners.signOff(ref);
          }),
      };
    },
  },
];

/** A finished task whose last change didn't come to HOOK.md and the marker any more. */
const mendingFinished: UseCase = {
  name: 'repair a finished task',
  arrange: async (world) => {
    const ref = await taskIn(world, 'step_running');
    const { paths, files } = world.process().ports;
    const old = files.read(paths.markdown(ref), 1e6);
    unwrap(await world.process().send(ref, { type: 'abandon', by: 'human' }));
    files.write(paths.markdown(ref), old);
    files.write(paths.marker(ref), '');
    return { repeatable: true, act: async (atlas) => atlas.reconcile(ref) };
  },
};

/** What fixes is interrupted too. */
const fixing: UseCase[] = [
  ['a torn line', (atlas: Atlas, ref: TaskRef) => atlas.ports.files.append(atlas.ports.paths.journal(ref), '{"seq":')],
  ['a corrupt hook.json', (atlas: Atlas, ref: TaskRef) => atlas.ports.files.write(atlas.ports.paths.hook(ref), '{')],
  ['a lost hook.json', (atlas: Atlas, ref: TaskRef) => atlas.ports.files.unlink(atlas.ports.paths.hook(ref))],
].map(([name, damage]) => ({
  name: `hint ${name as string}`,
  arrange: async (world: CrashWorld) => {
    const ref = await taskIn(world, 'step_running');
    (damage as (atlas: Atlas, ref: TaskRef) => void)(world.process(), ref);
    return { repeatable: true, act: async (atlas: Atlas) => atlas.reconcile(ref) };
  },
}));

async function finished(world: CrashWorld, ends: readonly ('fail' | 'abandon')[]): Promise<TaskRef[]> {
  const refs: TaskRef[] = [];
  for (const type of ends) {
    const ref = await taskIn(world, 'step_running');
    unwrap(await world.process().send(ref, { type, by: 'human' }));
    refs.push(ref);
  }
  return refs;
}

const NO_RETENTION = { completed: 0, failed: 0, abandoned: 0 };

const removing: UseCase[] = [
  {
    name: 'clean finished tasks',
    arrange: async (world) => {
      const open = await taskIn(world, 'step_running');
      const refs = await finished(world, ['fail', 'abandon']);
      world.wait(1000);
      return {
        removes: true,
        repeatable: true,
        act: async (atlas) => {
          const { cleaned, failed } = await atlas.cleanup.run(atlas.cleanup.plan(NO_RETENTION));
          const message = failed.map((each) => each.message).join();
          if (failed.length > 0) return fail('write_failed', message);
          // What could not be read was not in the plan; the answer names those that were cleaned.
          if (cleaned.length < refs.length && remains(world, refs)) return fail('unreadable', 'not all were cleaned');
          return ok(undefined);
        },
        check: async (atlas, outcome) => {
          const { paths, files } = atlas.ports;
          // Power that goes brings back what was removed just now; task.json says that it goes, and the next one removes it.
          if (outcome === 'done') await atlas.cleanup.run([]);
          must(atlas.store.read(open).ok, 'an open task was cleaned');
          for (const ref of refs) {
            const task = atlas.store.readTask(ref);
            must(task.ok, 'what cleaning keeps is gone');
            must(files.stat(paths.log(ref)) !== undefined, 'the log is gone');
            if (outcome !== 'done') continue;
            const left = files.list(paths.task(ref)).filter((name) => !KEPT.has(name) && !name.endsWith('.tmp'));
            must(left.length === 0, `cleaning left ${left.join()}`);
          }
        },
      };
    },
  },
  {
    name: 'destroy a workspace',
    arrange: async (world) => {
      const [ref] = await finished(world, ['fail']);
      await taskIn(world, 'step_running');
      const workspace = ref?.workspace ?? '';
      return {
        removes: true,
        act: (atlas) => {
          const destroyed = atlas.cleanup.destroy(workspace);
          return !destroyed.ok && destroyed.error.code === 'not_found' ? ok(undefined) : destroyed;
        },
        repeatable: true,
        check: (atlas, outcome) => {
          if (outcome !== 'done') return;
          must(
            atlas.ports.files.stat(atlas.ports.paths.workspace(workspace)) === undefined,
            'the workspace is still there',
          );
          must(atlas.catalog.open().length === 0, 'a marker is still there');
        },
      };
    },
  },
];

function remains(world: CrashWorld, refs: readonly TaskRef[]): boolean {
  const { paths, files } = world.process().ports;
  return refs.some((ref) => files.stat(paths.hook(ref)) !== undefined);
}

const KEPT = new Set(['task.json', 'task.log', 'artifacts', 'locks']);

/** Receipts as validations leave them, with real keys, chain and signatures, but no command is run. */
const receipts: UseCase = {
  name: 'sign a receipt and pass a validation',
  arrange: async (world) => {
    config(world, ED25519);
    const ref = await taskIn(world, 'step_running');
    await keyOf(world.process(), 'ed25519');
    unwrap(await world.process().send(ref, { type: 'step_output' }));
    return {
      several: true,
      act: async (atlas) => {
        const runs = await PretendedRuns.open(atlas, { durable: true });
        await runs.add(ref, [{ command: 'true' }]);
        const service = await atlas.receipts();
        const proven = unwrap(await service.proven(unwrap(atlas.store.read(ref)), { current: false }));
        return atlas.send(ref, { type: 'validate_pass' }, { proven });
      },
      check: async (atlas) => checkReceipts(atlas, ref),
    };
  },
};

/** All that is tried on any file system; see realUseCases.ts for what needs git and commands. */
export function useCases(): UseCase[] {
  return [
    ...[...starting, ...driving, ...eventCases()],
    ...[...fixing, mendingFinished, ...removing, receipts],
    ...STORE_CASES,
    ...INBOX_CASES,
  ];
}
