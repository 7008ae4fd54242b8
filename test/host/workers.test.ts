import assert from 'node:assert/strict';
import { appendFileSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { after, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { unwrap } from '../../src/core/shared/errors';
import type { AtlasApi } from '../../src/extension/api';
import { ForgeSigns } from '../../src/extension/workers/forgeSigns';
import type { WorkerNode } from '../../src/extension/workers/tree/nodes';
import { WorkersModel } from '../../src/extension/workers/workersModel';
import { WorkersTree } from '../../src/extension/workers/tree/workersTree';
import { locateRepository } from '../../src/git/read/locate';
import { createAtlas } from '../../src/service/createAtlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { WorkerStatus } from '../../src/workers/operations/workerStatus';
import { Workers } from '../../src/workers/workers';
import { type Shown, answering } from './support/answers';
import { atlasApi, git, workspaceFolder } from './support/atlasApi';
import { activeTab, eventually, openedRepository } from './support/gitApi';
import { callUi, hasUi } from './support/ui';

const HOSTILE = '\u202e$(trash) [x](command:atlas.slingTask) <b>**bold**</b>';

describe('the workers in a window', () => {
  let api: AtlasApi;
  let folder: string;
  let workers: Workers;
  let model: WorkersModel;
  let tree: WorkersTree;
  const places = new vscode.EventEmitter<void>();
  const tasks = new vscode.EventEmitter<undefined>();

  const hook = (...parts: string[]): string => path.join(folder, '.forge', 'hooks', ...parts);
  const sling = async (worker: string, id = `task-${worker.replace('/', '-')}`, more = {}): Promise<void> => {
    unwrap(await workers.slinging.sling({ worker, task: { id, ...more } }));
  };
  const claim = async (worker: string, owner?: ReturnType<typeof self>) =>
    unwrap(await workers.steps.claim({ worker, owner })).lease;
  const self = () => model.session.atlas.ports.processes.self();
  const dead = () => ({ ...self(), pid: 2 ** 22 - 3, start_time: '1', incarnation: 'dead' });
  const statusOf = async (worker: string): Promise<WorkerStatus | undefined> =>
    unwrap(await workers.statuses.all()).workers.find((each) => each.worker === worker);
  const nodes = async (under: string[], from?: WorkerNode): Promise<WorkerNode[]> => {
    const children = await tree.getChildren(from);
    const [first, ...rest] = under;
    if (first === undefined) return children;
    for (const child of children) {
      const { label } = await tree.getTreeItem(child);
      if (label === first) return nodes(rest, child);
    }
    throw new Error(`no row ${first}`);
  };
  const items = async (...under: string[]): Promise<vscode.TreeItem[]> =>
    Promise.all((await nodes(under)).map((node) => tree.getTreeItem(node)));
  const texts = async (...under: string[]): Promise<string[]> =>
    (await items(...under)).map(({ label, description }) =>
      [label, description].flatMap((part) => (typeof part === 'string' && part !== '' ? [part] : [])).join(' | '),
    );
  /** The Workers row that another process's change leads to. */
  const looked = async <T>(find: () => T | undefined): Promise<T> => eventually(model.onDidLook, find);
  const run = async (name: string, argument: unknown, press?: string): Promise<Shown[]> =>
    answering(
      () => press,
      () => vscode.commands.executeCommand(`atlas.${name}`, argument),
    );
  const row = (worker: string): WorkerNode => ({ kind: 'worker', repository: folder, worker });

  before(async () => {
    api = await atlasApi();
    await openedRepository();
    const repository = locateRepository(workspaceFolder());
    assert.ok(repository);
    folder = repository.main;
    const atlas = createAtlas(systemPorts(api.root, 'test', silentLog));
    workers = unwrap(Workers.open(folder, atlas.ports));
    model = new WorkersModel(
      {
        atlas,
        ownPlaces: [{ workspace: undefined, repository, worktree: folder }],
        onDidChange: tasks.event,
        onDidChangePlaces: places.event,
      },
      new ForgeSigns(atlas.ports.files),
    );
    tree = new WorkersTree(model);
  });

  after(async () => {
    model.dispose();
    tree.dispose();
    // Other suites use this repository too.
    rmSync(path.join(folder, '.forge'), { recursive: true, force: true });
    await git(folder, 'worktree', 'prune');
    const refs = (await git(folder, 'for-each-ref', '--format=%(refname)', 'refs/heads/forge')).split(/\s+/u);
    for (const ref of refs.filter(Boolean)) await git(folder, 'update-ref', '-d', ref);
  });

  it('shows nothing where nobody ever slung, and makes nothing by looking', async () => {
    await model.look();
    assert.deepEqual(await texts(), []);
    assert.equal(await git(folder, 'for-each-ref', 'refs/heads/forge'), '');
  });

  it('shows each worker: what hangs on its hook, how it stands, what is wrong, and what can be done', async () => {
    for (const worker of ['w-new', 'w-alive', 'w-held', 'w-dead', 'w-done', 'w-failed', 'w-free', 'w-hurt', 'w-gone'])
      await sling(worker);
    await sling('pool/p1', 'late', { timeout: '2020-01-01T00:00:00.000Z', type: HOSTILE });
    await claim('w-alive', self());
    await claim('w-held');
    await claim('w-dead', dead());
    const done = await claim('w-done', self());
    writeFileSync(hook('w-done', 'output.txt'), 'made\n');
    unwrap(await workers.steps.ending.end(done, 'complete'));
    const failed = await claim('w-failed', self());
    const error = { code: 'no', message: HOSTILE, recoverable: false };
    unwrap(await workers.steps.ending.end(failed, 'fail', { error }));
    unwrap(await workers.steps.ending.end(await claim('w-free', self()), 'complete'));
    unwrap(await workers.steps.clear('w-free'));
    writeFileSync(hook('w-hurt', 'status.json'), '{');
    await git(hook('w-hurt'), 'add', '--all');
    await git(hook('w-hurt'), 'commit', '--quiet', '--no-verify', '--message', 'by hand');
    rmSync(hook('w-gone'), { recursive: true });
    await model.look();
    const shown = (await items()).map(({ label, description, iconPath, contextValue }) => [
      label,
      description,
      (iconPath as vscode.ThemeIcon).id,
      contextValue,
    ]);
    assert.deepEqual(shown, [
      ['pool', '1 worker · 1 needs you', 'organization', 'pool'],
      ['w-alive', 'task-w-alive · in progress · now', 'play-circle', 'worker IN_PROGRESS running'],
      [
        'w-dead',
        'task-w-dead · process died · in progress · now',
        'warning',
        'worker IN_PROGRESS run recover held running',
      ],
      ['w-done', 'task-w-done · complete · now', 'pass', 'worker COMPLETE free clear'],
      ['w-failed', 'task-w-failed · failed for good · failed · now', 'error', 'worker FAILED free clear'],
      ['w-free', 'free', 'circle-outline', 'worker FREE free'],
      ['w-gone', 'task-w-gone · folder is gone · not started · now', 'warning', 'worker PENDING run recover'],
      [
        'w-held',
        'task-w-held · unknown whether it is running · in progress · now',
        'warning',
        'worker IN_PROGRESS recover held running',
      ],
      ['w-hurt', 'damaged', 'error', 'worker DAMAGED'],
      ['w-new', 'task-w-new · not started · now', 'circle-large-outline', 'worker PENDING run'],
      ['Tasks', '7 in progress · 1 failed · 2 complete', 'checklist', 'tasks'],
    ]);
    assert.deepEqual(await texts('pool'), ['p1 | late · past its deadline · not started · now']);
  });

  it('says what hangs there, and whatever it says is plain text', async () => {
    assert.deepEqual(await texts('w-new'), ['Task | task-w-new · task', 'Context | 0 tools', 'Evidence', 'History']);
    assert.deepEqual(await texts('pool', 'p1'), [
      'Past its deadline',
      'Task | late · $ (trash) [x] (command:atlas.slingTask) <b>**bold**</b> · until 2020-01-01T00:00:00.000Z',
      'Context | 0 tools',
      'Evidence',
      'History',
    ]);
    const [damaged] = await items('w-hurt');
    assert.equal(damaged?.label, 'Damaged');
    assert.match(damaged.accessibilityInformation?.label ?? '', /^Damaged, .*status\.json/u);
    const all = await nodes([]);
    const failed = all.find((node) => node.kind === 'worker' && node.worker === 'w-failed');
    assert.ok(failed);
    const { tooltip, accessibilityInformation } = tree.resolveTreeItem(await tree.getTreeItem(failed), failed);
    assert.match(accessibilityInformation?.label ?? '', /^Worker w-failed, task-w-failed, failed for good, failed/u);
    assert.ok(tooltip instanceof vscode.MarkdownString);
    assert.equal(tooltip.isTrusted ?? false, false);
    assert.equal(tooltip.supportHtml ?? false, false);
    assert.match(tooltip.value, /\\\*\\\*bold/u);
    // A space stays one at which a line may break.
    assert.doesNotMatch(tooltip.value, /&nbsp;/u);
    assert.deepEqual(
      (await texts('w-done', 'History')).map((text) => text.split(' | ')[0]),
      ['Complete task-w-done', 'Start task-w-done', 'Sling task-w-done to w-done'],
    );
  });

  it('ticks evidence only while the files are those that the ledger recorded', async () => {
    const evidence = async (): Promise<string[]> => texts('w-done', 'Evidence');
    assert.deepEqual(await evidence(), [
      'context.json | verified',
      'evidence/input-hash.txt | verified',
      'evidence/output-hash.txt | verified',
      'output.txt | verified',
    ]);
    const [, , , output] = await items('w-done', 'Evidence');
    assert.equal(output?.command?.command, 'vscode.open');
    assert.equal((output.command.arguments?.[0] as vscode.Uri).fsPath, hook('w-done', 'output.txt'));
    writeFileSync(hook('w-done', 'output.txt'), 'another\n');
    writeFileSync(hook('w-done', 'late.txt'), 'late\n');
    await model.look();
    assert.deepEqual((await evidence()).slice(2), [
      'evidence/output-hash.txt | verified',
      'late.txt | not recorded',
      'output.txt | changed since it was recorded',
    ]);
    rmSync(hook('w-done', 'output.txt'));
    await model.look();
    assert.deepEqual((await evidence()).slice(4), ['output.txt | recorded, but missing']);
  });

  it('shows the tasks by how they stand, convoys, and both sides of a conflict', async () => {
    unwrap(
      await workers.slinging.addTasks([
        { id: 'r1', type: 't' },
        { id: 'b1', type: 't', blockedBy: ['r1'] },
      ]),
    );
    unwrap(await workers.slinging.createConvoy({ id: 'c1', title: HOSTILE, tasks: ['r1', 'task-w-done'] }));
    const ledger = path.join(folder, '.forge', 'ledger');
    const lines = readFileSync(path.join(ledger, 'tasks.jsonl'), 'utf8').trimEnd().split('\n');
    const record = JSON.parse(lines.findLast((line) => line.includes('"id":"r1"')) ?? '') as Record<string, unknown>;
    appendFileSync(
      path.join(ledger, 'tasks.jsonl'),
      `${JSON.stringify({ ...record, at: '2020-01-01T00:00:00.000Z' })}\nno line`,
    );
    await git(ledger, 'add', '--all');
    await git(ledger, 'commit', '--quiet', '--no-verify', '--message', 'by hand');
    await model.look();
    assert.deepEqual(await texts('Tasks'), [
      'Conflicts | 1',
      'Damaged Lines | 1',
      'Ready | 1',
      'Blocked | 1',
      'In Progress | 7',
      'Failed | 1',
      'Complete | 2',
      '$ (trash) [x] (command:atlas.slingTask) <b>**bold**</b> | 1 of 2 complete',
    ]);
    assert.deepEqual(await texts('Tasks', 'Blocked'), ['b1 | blocked by r1 · t · now']);
    assert.deepEqual(await texts('Tasks', 'Conflicts'), ['r1 | task, recorded twice']);
    const sides = await texts('Tasks', 'Conflicts', 'r1');
    assert.match(sides[0] ?? '', /^OPEN · nobody \| counts/u);
    assert.match(sides[1] ?? '', /^OPEN · nobody \| kept, doesn't count/u);
    const [finding] = await texts('Tasks', 'Damaged Lines');
    assert.match(finding ?? '', /^tasks\.jsonl:\d+ \| (?:torn|damaged) · no line$/u);
  });

  it('shows what another process does, in git and in the folder of a hook', async () => {
    model.show(true);
    await model.look();
    const made = looked(() => model.worker(folder, 'w-copy'));
    await git(folder, 'branch', 'forge/hooks/w-copy', 'forge/hooks/w-new');
    assert.match((await made).damage?.message ?? '', /is about task-w-new of w-new/u);
    const pooled = looked(() => model.worker(folder, 'other/w1'));
    await git(folder, 'branch', 'forge/hooks/other/w1', 'forge/hooks/w-new');
    await pooled;
    const packed = looked(() => model.worker(folder, 'other/w2'));
    await git(folder, 'pack-refs', '--all');
    await git(folder, 'branch', 'forge/hooks/other/w2', 'forge/hooks/w-new');
    await packed;
    const edited = looked(() =>
      model.worker(folder, 'w-new')?.orphaned.includes('folder_differs') === true ? true : undefined,
    );
    writeFileSync(hook('w-new', 'task.json'), '{}');
    await edited;
    const removed = looked(() =>
      model.worker(folder, 'w-new')?.orphaned.includes('no_worktree') === true ? true : undefined,
    );
    rmSync(hook('w-new'), { recursive: true });
    await removed;
    for (const worker of ['w-copy', 'other/w1', 'other/w2'])
      await git(folder, 'update-ref', '-d', `refs/heads/forge/hooks/${worker}`);
    model.show(false);
  });

  it('the window itself finds the workers, and its commands do what they say', async () => {
    await run('refreshWorkers', undefined);
    // Its folder is made again, and the plan is shown.
    const recovered = await run('recoverWorker', row('w-new'), 'Not Now');
    assert.deepEqual(
      recovered.map(({ message, buttons }) => [message, ...buttons]),
      [["Start w-new's task?", 'Run Worker', 'Not Now']],
    );
    assert.match(recovered[0]?.detail ?? '', /It was never started\. The folder was restored\./u);
    assert.deepEqual((await statusOf('w-new'))?.orphaned, []);
    const asked = await run('recoverWorker', row('w-held'), 'It Is Gone');
    assert.deepEqual(
      asked.map(({ message }) => message),
      ['Is the process that worked on task-w-held gone?', "Restart w-held's task?"],
    );
    assert.equal((await statusOf('w-held'))?.state?.status, 'IN_PROGRESS');
    const [refused] = await run('completeWork', row('w-alive'), 'Complete');
    assert.match(refused?.message ?? '', /w-alive is running and will report its own result/u);
    await run('completeWork', row('w-held'), 'Keep It Open');
    assert.equal((await statusOf('w-held'))?.state?.status, 'IN_PROGRESS');
    await run('completeWork', row('w-held'), 'Complete');
    assert.equal((await statusOf('w-held'))?.state?.status, 'COMPLETE');
    await run('clearWorker', row('w-held'));
    assert.equal((await statusOf('w-held'))?.state?.status, 'COMPLETE');
    await run('clearWorker', row('w-held'), 'Clear');
    assert.equal((await statusOf('w-held'))?.state, undefined);
    const [, unfinished] = await run('clearWorker', row('w-new'), 'Clear');
    assert.match(unfinished?.message ?? '', /w-new has unfinished work/u);
    await run('copyHookPath', row('w-new'));
    assert.equal(await vscode.env.clipboard.readText(), hook('w-new'));
    await run('showWorker', { kind: 'part', repository: folder, worker: 'w-done', part: 'result' });
    await activeTab('Worker: w-done');
  });

  it('work that was tried too often is marked as failed only once that was confirmed', async () => {
    await sling('w-tried');
    for (let tries = 0; tries < 3; tries += 1) await claim('w-tried', dead());
    await run('recoverWorker', row('w-tried'), 'Not Now');
    assert.equal((await statusOf('w-tried'))?.state?.status, 'IN_PROGRESS');
    const shown = await run('recoverWorker', row('w-tried'), 'Mark as Failed');
    assert.match(shown[1]?.message ?? '', /task-w-tried failed\. It was tried 3 times/u);
    assert.equal((await statusOf('w-tried'))?.state?.status, 'FAILED');
  });

  it('repairs what was found only once that was wanted', async () => {
    await sling('w-broken');
    await claim('w-broken', dead());
    rmSync(hook('w-broken'), { recursive: true });
    const [asked] = await run('repairWorkers', undefined, 'Not Now');
    assert.match(asked?.detail ?? '', /^w-broken: Its process has exited\..*\nw-broken: Its folder was removed\./mu);
    assert.equal((await statusOf('w-broken'))?.state?.handoffReason, undefined);
    await run('repairWorkers', undefined, 'Repair');
    assert.equal((await statusOf('w-broken'))?.state?.handoffReason, 'error');
    assert.deepEqual((await statusOf('w-broken'))?.orphaned, []);
  });

  it('shares workers with a remote only once that was wanted', async () => {
    // Other suites may have given it one.
    if ((await git(folder, 'remote')) === '') {
      const [none] = await run('syncWorkers', undefined);
      assert.match(none?.message ?? '', /no remote through which workers can be shared/u);
      await git(folder, 'init', '--quiet', '--bare', path.join(folder, '.git', 'remote.git'));
      await git(folder, 'remote', 'add', 'origin', path.join(folder, '.git', 'remote.git'));
    }
    const bare = await git(folder, 'remote', 'get-url', 'origin');
    const before = await git(bare, 'for-each-ref');
    await run('syncWorkers', undefined, 'Not Now');
    assert.equal(await git(bare, 'for-each-ref'), before);
    await run('syncWorkers', undefined, 'Share');
    assert.match(await git(bare, 'for-each-ref', '--format=%(refname)'), /^refs\/heads\/forge\/ledger$/mu);
    // Now it is known: nobody is asked again.
    const again = await run('syncWorkers', undefined);
    assert.match(again.at(-1)?.message ?? '', /Workers are in sync with origin/u);
    rmSync(path.join(folder, '.forge', 'config.yaml'));
    await git(folder, 'update-ref', '-d', 'refs/remotes/origin/forge/ledger');
  });

  it('refuses what no row of it names', async () => {
    for (const argument of [
      { kind: 'worker', repository: '/', worker: 'w-new' },
      { kind: 'worker', repository: folder, worker: '../..' },
      { kind: 'worker', repository: folder, worker: 7 },
    ]) {
      // It asks for a worker instead.
      const asked = vscode.commands.executeCommand('atlas.copyHookPath', argument);
      if (hasUi) await callUi('quickTitle', 'Copy Path');
      await vscode.commands.executeCommand('workbench.action.closeQuickOpen');
      if (hasUi) await asked;
    }
  });

  it('asks for what it has to know', async function () {
    if (!hasUi) this.skip();
    const answered = async (
      name: string,
      argument: unknown,
      ...answers: (readonly [string, string])[]
    ): Promise<void> => {
      const done = vscode.commands.executeCommand(`atlas.${name}`, argument);
      for (const [title, text] of answers) await callUi('quickAnswer', { title, text });
      await done;
    };
    await answered(
      'addWorkerTask',
      undefined,
      ['Add Worker Task (1/3)', 'Asked: by a person'],
      ['Add Worker Task (2/3)', '{"file":"a.md"}'],
      ['Add Worker Task (3/3)', 'translate'],
      ['Add Worker Task', ''],
    );
    const { ledger } = unwrap(await workers.statuses.all());
    assert.deepEqual(ledger.tasks.last.get('asked-by-a-person')?.task, {
      id: 'asked-by-a-person',
      title: 'Asked: by a person',
      type: 'translate',
      input: { file: 'a.md' },
    });
    await answered(
      'slingTask',
      { kind: 'task', repository: folder, task: 'asked-by-a-person', under: '' },
      ['Assign to Worker', 'New Worker…'],
      ['Assign to Worker (2/2)', 'fresh/one'],
    );
    assert.equal((await statusOf('fresh/one'))?.state?.status, 'PENDING');
    const lease = await claim('fresh/one', self());
    await answered(
      'handOffWork',
      row('fresh/one'),
      ['Hand Off Work (1/2)', 'context_limit'],
      ['Hand Off Work (2/2)', 'line 7'],
    );
    const handed = await statusOf('fresh/one');
    assert.equal(handed?.state?.resumePoint, 'line 7');
    assert.equal(handed.state.incarnation, lease.incarnation);
    await claim('fresh/one');
    await answered('failWork', row('fresh/one'), ['Mark Work as Failed', 'it rained']);
    assert.equal((await statusOf('fresh/one'))?.result?.error?.message, 'it rained');
    const opened = new Promise<vscode.Terminal>((resolve) => {
      const listener = vscode.window.onDidOpenTerminal((terminal) => {
        listener.dispose();
        resolve(terminal);
      });
    });
    await answered('runWorker', row('w-new'), ['Run Worker w-new', 'true']);
    const terminal = await opened;
    assert.equal(terminal.name, 'Worker w-new');
    assert.equal((terminal.creationOptions as vscode.TerminalOptions).cwd, folder);
    terminal.dispose();
  });
});
