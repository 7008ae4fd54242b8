import { existsSync, lstatSync, mkdirSync, readFileSync, readdirSync, readlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../src/core/shared/errors';
import type { ListedCheckpoint } from '../../src/core/snapshot/snapshotEntry';
import type { StoredTask } from '../../src/core/task/storedTask';
import { createAtlas } from '../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { ObservedDesk } from '../support/agents/observedDesk';
import type { Turn } from '../support/agents/scriptedModel';
import { until } from '../support/drivers/taskFiles';
import { REAL_AGENTS_HERE } from '../support/agents/agentsHere';

/* Whatever a real agent does to the files, by its own tools or by a shell: each checkpoint gives back those of its moment. */

interface Listed {
  readonly checkpoint_id: string;
  readonly description: string;
  readonly status: string;
  readonly possibly_late: boolean;
}

/** Every file and link of a worktree with what it holds. */
function picture(folder: string): Record<string, string> {
  const found: Record<string, string> = {};
  const visit = (below: string): void => {
    for (const name of readdirSync(path.join(folder, below))) {
      const inner = path.posix.join(below, name);
      const full = path.join(folder, inner);
      if (inner === '.git') continue;
      const stat = lstatSync(full);
      if (stat.isDirectory()) visit(inner);
      else if (stat.isSymbolicLink()) found[inner] = `-> ${readlinkSync(full)}`;
      else found[inner] = `${(stat.mode & 0o777).toString(8)} ${readFileSync(full, 'latin1')}`;
    }
  };
  visit('');
  return found;
}

describe.each(REAL_AGENTS_HERE)('what %s does to files', (agent) => {
  let desk: ObservedDesk;

  beforeAll(async () => {
    desk = await ObservedDesk.open([agent]);
  });
  afterAll(async () => {
    await desk.dispose();
  });

  it('is taken back to each checkpoint exactly, and undone; its death changes nothing', async () => {
    const folder = desk.repository();
    const gates = path.join(desk.cli.home, `gates-${agent}`);
    mkdirSync(gates);
    // Codex refuses such commands where it reads them itself.
    const discard = path.join(gates, 'discard.sh');
    writeFileSync(discard, 'git reset -q --hard HEAD~1 && rm -rf src sub && echo after > own.txt\n');
    /** Holds the agent in a tool until the test has looked. */
    const gate = (name: string): Turn => ({
      run: `touch ${gates}/${name}.there; while [ ! -e ${gates}/${name}.go ]; do sleep 0.02; done`,
    });
    const turns: readonly Turn[] = [
      { run: 'mkdir -p src && printf "one\\r\\n" > src/a.txt && chmod 755 src/a.txt && ln -s a.txt src/link' },
      { write: { path: path.join(folder, 'own.txt'), content: 'by its own tool\n' } },
      gate('written'),
      {
        run: 'git add -A && git commit -qm agent && echo two > src/a.txt && rm kept.txt && mkdir sub && echo x > "sub/ä b.txt"',
      },
      gate('edited'),
      { run: `sh ${discard}` },
      gate('discarded'),
      { hang: true },
    ];
    const atlas = await createAtlas(
      systemPorts(path.join(desk.cli.home, `files-${agent}`), '0.0.0', silentLog),
    ).drive();
    const restores = await atlas.snapshots();
    const { files } = restores;
    const { ref } = unwrap(await atlas.startTask({ title: 'Sample', template: 'task', folder }));
    const stored = (): StoredTask => unwrap(atlas.catalog.read(ref));
    const running = desk.start(agent, 'Change the files', folder, turns);
    const moments: { readonly name: string; readonly item: ListedCheckpoint; readonly then: Record<string, string> }[] =
      [];
    for (const name of ['written', 'edited', 'discarded']) {
      const there = path.join(gates, `${name}.there`);
      await Promise.race([
        until(`${agent} is at ${name}`, () => existsSync(there)),
        running.ended.then(() => expect(existsSync(there), running.printed()).toBe(true)),
      ]);
      const then = picture(folder);
      const made = unwrap(await atlas.checkpoint(ref, name));
      const id = made.hook.checkpoints.at(-1)?.checkpoint_id ?? '';
      await files.take(ref, [id]);
      moments.push({ name, item: unwrap(files.find(stored(), id)), then });
      writeFileSync(path.join(gates, `${name}.go`), '');
    }
    await desk.model.asked(turns.length - 1);
    running.child.kill('SIGKILL');
    await running.ended;
    writeFileSync(path.join(folder, 'own.txt'), 'by the user, after the agent died\n');
    const last = picture(folder);
    for (const { name, item, then } of moments) {
      const previewed = unwrap(await restores.preview(stored(), item));
      const restored = unwrap(await restores.restore(stored(), previewed));
      expect(restored.skipped, name).toEqual([]);
      expect(picture(folder), name).toEqual(then);
      unwrap(await restores.restore(stored(), unwrap(await restores.previewUndo(stored()))));
      expect(picture(folder), `${name}, undone`).toEqual(last);
    }
    expect(new Set(moments.map(({ then }) => JSON.stringify(then))).size).toBe(3);
  });

  it('is captured before it throws changes away, where its sessions are observed', async () => {
    await desk.observe(agent);
    const folder = desk.repository();
    const env = { ATLAS_HOME: desk.cli.root, ATLAS_SNAPSHOTS: 'on' };
    const said = async (...args: readonly string[]): Promise<string> =>
      (await desk.cli.runIn({ folder, env }, ...args)).out;
    await said('start', 'Sample', '--template', 'task');
    await said('step', 'start');
    const listed = async (): Promise<readonly Listed[]> =>
      (JSON.parse(await said('checkpoint', 'list', '--json')) as { checkpoints: Listed[] }).checkpoints;
    const taken = async (description: string): Promise<Listed | undefined> =>
      (await listed()).find((each) => each.description === description && each.status === 'taken');
    await until('the files are captured as the step starts', async () => (await listed())[0]?.status === 'taken');
    writeFileSync(path.join(folder, 'own.txt'), "the user's\n");
    const go = path.join(desk.cli.home, `go-${agent}`);
    const turns: readonly Turn[] = [
      { run: `while [ ! -e ${go} ]; do sleep 0.02; done; echo changed > kept.txt` },
      { run: 'git checkout -- kept.txt' },
      { text: 'Thrown away.' },
    ];
    const running = desk.start(agent, 'Change a file, then throw that away', folder, turns, { ATLAS_SNAPSHOTS: 'on' });
    const turn = "Before a turn of the agent's";
    await until('the files are captured as the turn begins', async () => (await taken(turn)) !== undefined);
    writeFileSync(go, '');
    await running.ended;
    expect(readFileSync(path.join(folder, 'kept.txt'), 'utf8'), running.printed()).toBe('kept\n');
    const begun = await taken(turn);
    expect(await said('checkpoint', 'show', begun?.checkpoint_id ?? '', 'kept.txt')).toBe('kept\n');
    // OpenCode doesn't wait for a plugin's program: there it is best effort, and may find what the command left.
    if (agent === 'opencode') return;
    const point = await taken('Before "git checkout --"');
    expect(point?.possibly_late).toBe(false);
    expect(await said('checkpoint', 'show', point?.checkpoint_id ?? '', 'kept.txt')).toBe('changed\n');
  });
});
