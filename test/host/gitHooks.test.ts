import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { after, afterEach, before, describe, it } from 'mocha';
import * as vscode from 'vscode';
import { unwrap } from '../../src/core/shared/errors';
import type { AtlasApi } from '../../src/extension/api';
import { type Shown, answering } from './support/answers';
import { atlasApi, checkpointsOf, git, otherProgram, taskWhen, workspaceFolder } from './support/atlasApi';
import { eventually } from './support/gitApi';

const NAMES = ['post-commit', 'post-merge', 'pre-push'];

describe('git hooks and the atlas command', () => {
  const folder = workspaceFolder();
  const hooks = path.join(folder, '.git', 'hooks');
  const temporary: string[] = [];
  let api: AtlasApi;

  function temporaryFolder(): string {
    const made = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-hooks-')));
    temporary.push(made);
    return made;
  }

  async function command(name: string, answer: string | undefined, argument?: unknown): Promise<Shown[]> {
    return answering(
      ({ buttons }) => buttons.find((button) => button === answer),
      () => vscode.commands.executeCommand(`atlas.${name}`, argument),
    );
  }

  const installed = (where = hooks): string[] => NAMES.filter((name) => existsSync(path.join(where, name)));

  /** What the hooks start, as they say it. */
  function launcher(): string {
    const line = /^# command: (.*)$/mu.exec(readFileSync(path.join(hooks, 'post-commit'), 'utf8'))?.[1] ?? '[]';
    const [program] = JSON.parse(line) as string[];
    return program ?? '';
  }

  before(async () => {
    api = await atlasApi();
  });

  afterEach(async () => {
    const human = otherProgram(api);
    for (const ref of human.catalog.open()) unwrap(await human.send(ref, { type: 'abandon', by: 'human' }));
  });

  after(async () => {
    await command('removeGitHooks', undefined, { folder });
    for (const each of temporary) rmSync(each, { recursive: true, force: true });
  });

  it('are put in only once a person has seen which files change', async () => {
    const shown = await command('installGitHooks', undefined);
    assert.deepEqual(shown[0]?.buttons, ['Install']);
    for (const name of [...NAMES, hooks]) assert.ok(shown[0].detail?.includes(name), name);
    assert.deepEqual(installed(), []);
    const [, done] = await command('installGitHooks', 'Install');
    assert.match(done?.message ?? '', /^Installed Atlas.s git hooks/u);
    assert.deepEqual(done?.buttons, ['Remove']);
    assert.deepEqual(installed(), NAMES);
    const [again] = await command('installGitHooks', 'Install');
    assert.match(again?.message ?? '', /already installed/u);
  });

  it('make of a commit exactly one checkpoint, though the window sees it too', async () => {
    const task = await api.startTask({ title: 'with hooks', template: 'task', folder });
    await api.send(task.ref, { type: 'start_step' });
    await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'hooked');
    await git(folder, 'commit', '--quiet', '--allow-empty', '--message', 'mark');
    const seen = await taskWhen(api, task.ref, (now) => checkpointsOf(now, 'git_commit').includes('Commit: mark'));
    await api.look();
    assert.deepEqual(checkpointsOf(api.task(task.ref) ?? seen, 'git_commit'), ['Commit: hooked', 'Commit: mark']);
  });

  it('tell the window of a commit in a repository that it has not open, and start nothing', async () => {
    const elsewhere = temporaryFolder();
    await git(elsewhere, 'init', '--quiet');
    const other = otherProgram(api);
    const { ref } = unwrap(await other.startTask({ title: 'elsewhere', template: 'task', folder: elsewhere }));
    unwrap(await other.send(ref, { type: 'start_step' }));
    await command('installGitHooks', 'Install', { folder: elsewhere });
    assert.deepEqual(installed(path.join(elsewhere, '.git', 'hooks')), NAMES);
    await git(elsewhere, 'commit', '--quiet', '--allow-empty', '--message', 'far away');
    const seen = await taskWhen(api, ref, (now) => checkpointsOf(now, 'git_commit').length > 0);
    assert.deepEqual(checkpointsOf(seen, 'git_commit'), ['Commit: far away']);
    assert.deepEqual((await other.spool()).kept().length, 0);
    assert.ok(readdirSync(path.join(api.root, 'spool')).some((name) => name.startsWith('window.')));
  });

  it('start the launcher, which a real shell finds and which passes on what it is given', () => {
    const program = launcher();
    assert.ok(existsSync(program), program);
    const env = { ...process.env, PATH: `${path.dirname(program)}${path.delimiter}${process.env['PATH'] ?? ''}` };
    const hostile = `it's "a" $HOME \`id\` %PATH% \\ * é\nb.json`;
    const run = spawnSync('sh', ['-c', 'atlas receipts verify --json -- "$1"', 'sh', hostile], {
      env,
      encoding: 'utf8',
      cwd: temporaryFolder(),
    });
    assert.equal(run.status, 3, run.stderr);
    const { error } = JSON.parse(run.stdout) as { error: { code: string; message: string } };
    assert.equal(error.code, 'not_found');
    assert.ok(error.message.includes('it\'s "a" $HOME `id` %PATH% \\ * é'), error.message);
    assert.equal(spawnSync(program, ['no-such-command'], { env }).status, 2);
    assert.equal(spawnSync(program, ['--help'], { env }).status, 0);
  });

  it('is on the PATH of a terminal', async function () {
    // The older server has no native terminals here.
    if (process.env['HOST_VERSION'] === '4.104.0') this.skip();
    const out = path.join(temporaryFolder(), 'found');
    const script =
      'command -v atlas >"$0"; printf "%s\\n" "$ATLAS_HOME" >>"$0"; exec atlas receipts verify nowhere.json';
    const terminal = vscode.window.createTerminal({
      name: 'found',
      shellPath: '/bin/sh',
      shellArgs: ['-c', script, out],
    });
    await eventually(vscode.window.onDidCloseTerminal, () => terminal.exitStatus);
    assert.equal(terminal.exitStatus?.code, 3);
    assert.deepEqual(readFileSync(out, 'utf8').split('\n'), [launcher(), api.root, '']);
  });

  it('are taken out again, and what was there before is there byte for byte', async () => {
    await command('removeGitHooks', undefined);
    assert.deepEqual(installed(), []);
    const own = path.join(hooks, 'post-commit');
    writeFileSync(own, '#!/bin/sh\necho mine\n', { mode: 0o755 });
    await command('installGitHooks', 'Install');
    assert.notEqual(readFileSync(own, 'utf8'), '#!/bin/sh\necho mine\n');
    const [done] = await command('removeGitHooks', undefined);
    assert.match(done?.message ?? '', /^Removed Atlas.s git hooks/u);
    assert.equal(readFileSync(own, 'utf8'), '#!/bin/sh\necho mine\n');
    rmSync(own);
  });

  it('of a manager are left alone, with what to add shown and copied', async () => {
    const managed = temporaryFolder();
    await git(managed, 'init', '--quiet');
    writeFileSync(path.join(managed, 'lefthook.yml'), '');
    const [told] = await command('installGitHooks', 'Copy', { folder: managed });
    assert.match(told?.message ?? '', /lefthook manages/u);
    const text = vscode.window.activeTextEditor?.document.getText() ?? '';
    assert.match(text, /lefthook-local\.yml/u);
    assert.ok(text.includes(await vscode.env.clipboard.readText()));
    assert.deepEqual(installed(path.join(managed, '.git', 'hooks')), []);
  });
});
