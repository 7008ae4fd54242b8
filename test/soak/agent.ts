/*
 * An agent that never heard of atlas: `node <bundle> agent <root> <folder> <number>`. It works in a repository for some time
 * and, as Claude Code does, has its hooks report each tool. Every fourth dies in the middle of a tool.
 */
import { spawnSync } from 'node:child_process';
import { mkdirSync, writeFileSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { observeCommand } from '../../src/agents/install/observeInstall';
import { silentLog, systemPorts } from '../../src/service/ports';
import { SessionSpool } from '../../src/store/sessions/sessionSpool';
import { diesAtWork } from './agents';

const TOOLS = 40;
const TURN = 10;
const INTERVAL_MS = 1000;
/** So many files are written again and again. */
const FILES = 200;

const [, root = '', folder = '', number = ''] = process.argv.slice(2);
const session = `soak-${number}`;
const { scriptPath } = new SessionSpool(systemPorts(root, 'soak', silentLog));

function report(event: string, fields: Readonly<Record<string, unknown>> = {}): void {
  const input = JSON.stringify({ session_id: session, cwd: folder, hook_event_name: event, ...fields });
  const { status } = spawnSync('/bin/sh', ['-c', observeCommand(scriptPath, 'claude', event)], { input });
  if (status !== 0) throw new Error(`the hook of ${event} ended with ${status ?? 'a signal'}`);
}

async function work(): Promise<void> {
  report('SessionStart', { source: 'startup' });
  for (let count = 0; count < TOOLS; count += 1) {
    if (count % TURN === 0) report('UserPromptSubmit', { prompt: `Request ${count / TURN} of ${session}` });
    const file = path.join(folder, 'src', `module-${(Number(number) * TOOLS + count) % FILES}.ts`);
    const content = `export const by = '${session}';\nexport const count = ${count};\n`;
    const tool = { tool_name: 'Write', tool_use_id: `${session}-${count}`, tool_input: { file_path: file, content } };
    report('PreToolUse', tool);
    if (diesAtWork(Number(number)) && count === TOOLS - 1) process.kill(process.pid, 'SIGKILL');
    mkdirSync(path.dirname(file), { recursive: true });
    writeFileSync(file, content);
    report('PostToolUse', { ...tool, tool_response: { success: true } });
    if (count % TURN === TURN - 1) report('Stop', { last_assistant_message: `Done with request ${count / TURN}.` });
    await sleep(INTERVAL_MS);
  }
  report('SessionEnd', { reason: 'other' });
}

void work().catch((error: unknown) => {
  writeSync(2, `${error instanceof Error ? (error.stack ?? '') : String(error)}\n`);
  process.exitCode = 1;
});
