import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../../src/core/shared/errors';
import type { Atlas } from '../../../src/service/atlas';
import type { TaskRef } from '../../../src/core/task/taskRef';

/** Work that is done over and over until its process is killed. */
export const KILLED_WORK = ['validate', 'recover', 'clean', 'hooks', 'drain'] as const;

/** One of them. */
export type KilledWork = (typeof KILLED_WORK)[number];

async function running(atlas: Atlas, folder: string): Promise<TaskRef> {
  const { ref } = unwrap(await atlas.startTask({ title: 'Sample', template: 'commit', folder }));
  unwrap(await atlas.startStep(ref));
  return ref;
}

async function round(atlas: Atlas, work: KilledWork, folder: string, turn: number): Promise<string> {
  switch (work) {
    case 'validate': {
      const ref = await running(atlas, folder);
      const signal = new AbortController().signal;
      const { receipts } = unwrap(await atlas.validate(ref, { commands: ['true'], signal, caller: 'human' }));
      return `${ref.id} ${receipts[0]?.receipt_id ?? ''}`;
    }
    case 'recover': {
      const ref = await running(atlas, folder);
      return `${ref.id} ${unwrap(await atlas.recover(ref)).hook.history.length}`;
    }
    case 'clean': {
      const ref = await running(atlas, folder);
      unwrap(await atlas.send(ref, { type: 'abandon', by: 'human' }));
      const plan = atlas.cleanup.plan({ completed: 0, failed: 0, abandoned: 0 });
      return `${ref.id} ${(await atlas.cleanup.run(plan)).cleaned.length}`;
    }
    case 'hooks': {
      const hooks = await atlas.gitHooks();
      const command = { command: [process.execPath, 'cli.js'] };
      const report = turn % 2 === 0 ? await hooks.install(folder, command) : await hooks.uninstall(folder);
      return unwrap(report)
        .hooks.map(({ state }) => state)
        .join();
    }
    case 'drain': {
      const text = `atlas-event 1\ntrigger post-commit\nfolder ${folder}\nparent 1\nend\n`;
      execFileSync('git', ['commit', '--quiet', '--allow-empty', '--message', `turn ${turn}`], { cwd: folder });
      writeFileSync(path.join(atlas.ports.paths.spool, `event.${process.pid}.${turn}`), text);
      return String(unwrap(await (await atlas.spool()).drain()).events);
    }
  }
}

/** Does it until somebody kills the process, and says after each round what was made. */
export async function workForEver(
  atlas: Atlas,
  work: KilledWork,
  folder: string,
  say: (line: string) => void,
): Promise<never> {
  say('ready');
  for (let turn = 0; ; turn += 1) say(await round(atlas, work, folder, turn));
}
