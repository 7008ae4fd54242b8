import { execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { SessionRecord } from '../../../src/core/session/sessionRecord';
import { BuiltCli } from '../../support/drivers/cli';

/* Which files a session changed, where its first tool was quicker than the first look. */

let cli: BuiltCli;
let folder: string;

beforeAll(async () => {
  cli = await BuiltCli.open();
  folder = cli.repository('repo');
  expect((await cli.runIn({ folder }, 'lifecycle', 'install', '--host', 'claude', '--yes')).code).toBe(0);
}, 60_000);
afterAll(() => {
  cli.dispose();
});

/** What Claude Code's hooks report; nothing looks at it yet. */
function report(event: string, more: object = {}): void {
  const input = { hook_event_name: event, session_id: 'quick', cwd: folder, ...more };
  const { status } = spawnSync('sh', [path.join(cli.root, 'observe.sh'), 'claude'], {
    cwd: folder,
    env: cli.environment(),
    input: JSON.stringify(input),
  });
  expect(status).toBe(0);
}

/** The same, so many seconds ago. */
function reportedAgo(seconds: number, event: string, more: object): void {
  const spool = path.join(cli.root, 'observed');
  const before = new Set(readdirSync(spool));
  report(event, more);
  for (const name of readdirSync(spool)) if (!before.has(name)) age(path.join(spool, name), seconds);
}

function age(file: string, seconds: number): void {
  utimesSync(file, new Date(), new Date(Date.now() - seconds * 1000));
}

const shown = async (session = 'quick', env: Readonly<Record<string, string>> = {}): Promise<string> =>
  (await cli.runIn({ folder, env }, 'sessions', 'show', session)).out;

it('names a file that was written between the start and the first look, and none that was uncommitted before', async () => {
  writeFileSync(path.join(folder, 'before.txt'), 'before');
  age(path.join(folder, 'before.txt'), 60);
  report('SessionStart', { source: 'startup' });
  report('UserPromptSubmit', { prompt: 'Write quickly' });
  writeFileSync(path.join(folder, 'quick.txt'), 'written');
  // The tool that wrote it is reported after this look.
  const first = await shown();
  const tool = { tool_name: 'Write', tool_use_id: 'one', tool_input: { file_path: path.join(folder, 'quick.txt') } };
  report('PreToolUse', tool);
  report('PostToolUse', { ...tool, tool_response: {} });
  for (const markdown of [first, await shown()]) {
    expect(markdown).toContain('- `quick.txt` (added)');
    expect(markdown).not.toContain('before.txt');
  }
});

describe('where git took too long at the end of the turn', () => {
  const slow = (): string => {
    const folder = path.join(cli.root, 'slow');
    mkdirSync(folder, { recursive: true });
    writeFileSync(path.join(folder, 'git'), '#!/bin/sh\nexec sleep 30\n');
    chmodSync(path.join(folder, 'git'), 0o755);
    return `${folder}${path.delimiter}${process.env['PATH'] ?? ''}`;
  };
  const put = (name: string, secondsAgo: number, text = name): void => {
    writeFileSync(path.join(folder, name), text);
    age(path.join(folder, name), secondsAgo);
  };

  it('asks again, and leaves out what was changed since', async () => {
    const session = { session_id: 'waited', cwd: folder };
    reportedAgo(120, 'SessionStart', { ...session, source: 'startup' });
    reportedAgo(110, 'UserPromptSubmit', { ...session, prompt: 'Write and stop' });
    put('own.txt', 90);
    reportedAgo(60, 'Stop', session);
    put('later.txt', 0);
    expect(await shown('waited', { PATH: slow() })).not.toContain('own.txt');
    // That the session ends, too, makes nothing of it that the user wrote before.
    reportedAgo(0, 'SessionEnd', { ...session, reason: 'exit' });
    const again = await shown('waited');
    expect(again).toContain('- `own.txt` (added)');
    expect(again).not.toContain('later.txt');
  });

  it('keeps what was known before, though the user changed or deleted it since', async () => {
    const session = { session_id: 'knew', cwd: folder };
    put('kept.txt', 200);
    put('gone.txt', 200);
    execFileSync('git', ['-C', folder, 'add', '.'], { env: cli.environment() });
    execFileSync('git', ['-C', folder, 'commit', '-qm', 'before'], { env: cli.environment() });
    reportedAgo(120, 'SessionStart', { ...session, source: 'startup' });
    reportedAgo(110, 'UserPromptSubmit', { ...session, prompt: 'Write, delete and stop' });
    await shown('knew');
    put('kept.txt', 90, 'changed');
    rmSync(path.join(folder, 'gone.txt'));
    expect(await shown('knew')).toContain('- `kept.txt` (modified)');
    reportedAgo(60, 'Stop', session);
    put('kept.txt', 0, 'of the user');
    expect(await shown('knew', { PATH: slow() })).toContain('- `kept.txt` (modified)');
    const again = await shown('knew');
    expect(again).toContain('- `kept.txt` (modified)');
    expect(again).toContain('- `gone.txt` (deleted)');
  });

  it('does so a few times only', { timeout: 60_000 }, async () => {
    const session = { session_id: 'never', cwd: folder };
    reportedAgo(120, 'SessionStart', { ...session, source: 'startup' });
    reportedAgo(110, 'UserPromptSubmit', { ...session, prompt: 'Write and stop' });
    reportedAgo(60, 'Stop', session);
    for (let looks = 0; looks < 6; looks += 1) await shown('never', { PATH: slow() });
    const records = readdirSync(path.join(cli.root, 'sessions'), { recursive: true, encoding: 'utf8' })
      .filter((name) => name.endsWith('session.json'))
      .map((name) => JSON.parse(readFileSync(path.join(cli.root, 'sessions', name), 'utf8')) as SessionRecord);
    const tries = records.flatMap((each) => (each.session_id === 'never' ? [each.recheck?.tries] : []));
    expect(tries).toEqual([5]);
  });
});
