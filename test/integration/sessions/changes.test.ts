import { spawnSync } from 'node:child_process';
import { utimesSync, writeFileSync } from 'node:fs';
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

const shown = async (): Promise<string> => (await cli.runIn({ folder }, 'sessions', 'show', 'quick')).out;

it('names a file that was written between the start and the first look, and none that was uncommitted before', async () => {
  writeFileSync(path.join(folder, 'before.txt'), 'before');
  utimesSync(path.join(folder, 'before.txt'), new Date(), new Date(Date.now() - 60_000));
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
