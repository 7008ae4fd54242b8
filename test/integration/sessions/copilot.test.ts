import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import path from 'node:path';
import { readFileSync } from 'node:fs';

/* VS Code's agent runs the hooks in its own file, and those of Claude Code: what it reports is its own, and told once. */

let cli: BuiltCli;
let folder: string;

beforeAll(async () => {
  cli = await BuiltCli.open();
  folder = cli.repository('repo');
  for (const host of ['claude', 'vscode'])
    expect((await cli.runIn({ folder }, 'lifecycle', 'install', '--host', host, '--yes')).code).toBe(0);
}, 60_000);
afterAll(() => {
  cli.dispose();
});

type Hooks = Record<string, readonly { readonly command?: string; readonly hooks?: readonly { command: string }[] }[]>;

/** Every command that VS Code 1.139 runs at an event: it reads both files, in both forms. */
function commandsAt(event: string): string[] {
  return ['.claude/settings.json', '.copilot/hooks/atlas.json'].flatMap((name) => {
    const { hooks } = JSON.parse(readFileSync(path.join(cli.home, name), 'utf8')) as { hooks: Hooks };
    return (hooks[event] ?? []).flatMap((each) => each.command ?? each.hooks?.map(({ command }) => command) ?? []);
  });
}

/** Runs them as it does, with what it writes on standard input. */
function happen(event: string, more: object): void {
  const input = {
    ...{ timestamp: new Date().toISOString(), hook_event_name: event, session_id: 'chat-1' },
    ...{ transcript_path: path.join(cli.home, 'transcripts', 'chat-1.jsonl'), cwd: folder, ...more },
  };
  const commands = commandsAt(event);
  expect(commands).toHaveLength(2);
  for (const command of commands) {
    const { status, stdout, stderr } = spawnSync('sh', ['-c', command], {
      cwd: folder,
      env: cli.environment(),
      input: JSON.stringify(input),
      encoding: 'utf8',
    });
    expect({ status, said: stdout + stderr }).toEqual({ status: 0, said: '' });
  }
}

it("is Copilot's, however many of its files name the hook", async () => {
  happen('UserPromptSubmit', { prompt: 'Sort the imports' });
  const tool = { tool_name: 'create_file', tool_use_id: 'call-1', tool_input: { filePath: path.join(folder, 'a.ts') } };
  happen('PreToolUse', tool);
  happen('PostToolUse', { ...tool, tool_response: 'done' });
  happen('UserPromptSubmit', { prompt: 'Now the exports' });
  const listed = await cli.runIn({ folder }, 'sessions', 'list', '--json');
  const { sessions } = JSON.parse(listed.out) as { sessions: { session_id: string; host: string }[] };
  expect(sessions).toMatchObject([
    { session_id: 'chat-1', host: 'vscode', state: 'working', request: 'Sort the imports' },
  ]);
  const shown = await cli.runIn({ folder }, 'sessions', 'show', 'chat-1');
  expect(shown.out).toContain('What the user asked Copilot in this session');
  expect(shown.out).toContain('`a.ts` (`create_file`');
  expect(shown.out).toContain('Now the exports');
  expect(shown.out).not.toContain('in between');
});
