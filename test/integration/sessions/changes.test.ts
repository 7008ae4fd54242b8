import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
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

it('looks again, where git took too long at the end of the turn, and leaves out what was changed since', async () => {
  const slow = path.join(cli.root, 'slow');
  mkdirSync(slow);
  const git = path.join(slow, 'git');
  writeFileSync(git, '#!/bin/sh\nexec sleep 30\n');
  chmodSync(git, 0o755);
  const session = { session_id: 'waited', cwd: folder };
  reportedAgo(120, 'SessionStart', { ...session, source: 'startup' });
  reportedAgo(110, 'UserPromptSubmit', { ...session, prompt: 'Write and stop' });
  writeFileSync(path.join(folder, 'own.txt'), 'own');
  age(path.join(folder, 'own.txt'), 90);
  reportedAgo(60, 'Stop', session);
  writeFileSync(path.join(folder, 'later.txt'), 'of the user');
  const PATH = `${slow}${path.delimiter}${process.env['PATH'] ?? ''}`;
  expect(await shown('waited', { PATH })).not.toContain('own.txt');
  rmSync(slow, { recursive: true });
  const again = await shown('waited');
  expect(again).toContain('- `own.txt` (added)');
  expect(again).not.toContain('later.txt');
});
