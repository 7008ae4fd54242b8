import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, mkdirSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { readClaudeTranscript } from '../../src/agents/hosts/claude/claudeTranscript';
import { observedHosts } from '../../src/agents/sessions/observedHosts';
import { newSession } from '../../src/core/session/sessionRecord';
import { silentLog, systemPorts } from '../../src/service/ports';
import { SessionService } from '../../src/service/sessions/sessionService';
import { ConfigSource } from '../../src/service/tasks/configSource';
import { SessionSpool } from '../../src/store/sessions/sessionSpool';
import { type Row, medianOf, percentile95, timed } from './rows';

const ROUNDS = 300;
const SESSIONS = 100;
const WORKTREES = 20;
const GIB = 1024 ** 3;
const MIB = 1024 ** 2;

function report(id: string, cwd: string): string {
  const input = { command: 'y'.repeat(2000) };
  return JSON.stringify({
    session_id: id,
    cwd,
    hook_event_name: 'PreToolUse',
    tool_name: 'Bash',
    tool_use_id: 'x',
    tool_input: input,
  });
}

/** What a tool event costs an agent, beside an empty hook of the same shell: in turn, so that load hits both. */
async function hookRows(folder: string): Promise<Row[]> {
  const spool = new SessionSpool(systemPorts(path.join(folder, 'store'), '0.0.0', silentLog));
  spool.open('true');
  const input = report('one', folder);
  const times: Record<'empty' | 'ours', number[]> = { empty: [], ours: [] };
  const commands = { empty: 'true', ours: `sh '${spool.scriptPath}' claude tool 2>/dev/null || true` };
  for (let round = 0; round < ROUNDS; round += 1) {
    for (const name of ['empty', 'ours'] as const)
      times[name].push(await timed(() => spawnSync('/bin/sh', ['-c', commands[name]], { input })));
    // What waits stays few, as with a window that looks.
    if (round % 20 === 0) spool.remove(spool.read(), Date.now());
  }
  const [ours, empty] = [percentile95(times.ours), percentile95(times.empty)];
  return [
    {
      what: 'lifecycle hook that reports a tool, median',
      amount: medianOf(times.ours),
      beside: { what: 'empty hook', amount: medianOf(times.empty), ratio: 'times' },
    },
    {
      what: 'the same, 95th percentile',
      amount: ours,
      beside: { what: 'empty hook', amount: empty, ratio: 'times' },
      bar: { text: 'adds at most 5 ms', met: ours - empty <= 5 },
    },
  ];
}

/** The first look at a transcript of 1 GB, and what it takes in memory. */
async function transcriptRows(folder: string): Promise<Row[]> {
  const file = path.join(folder, 'large.jsonl');
  writeFileSync(file, '\n');
  truncateSync(file, GIB);
  const at = new Date().toISOString();
  const line = (index: number): string =>
    JSON.stringify({ type: 'user', timestamp: at, message: { content: `Request ${index} ${'x'.repeat(900)}` } });
  appendFileSync(file, `\n${Array.from({ length: 1500 }, (_, index) => line(index)).join('\n')}\n`);
  const record = { ...newSession({ host: 'claude', sessionId: 'one' }, at, 'hook'), transcript: file };
  const before = process.memoryUsage().rss;
  const ms = await timed(() => readClaudeTranscript(record));
  const grown = (process.memoryUsage().rss - before) / MIB;
  return [
    { what: 'first look at a transcript of 1 GB', amount: ms, bar: { text: 'at most 50 ms', met: ms <= 50 } },
    { what: 'memory it takes', amount: grown, unit: 'MB', bar: { text: 'at most 20 MB', met: grown <= 20 } },
  ];
}

/** Looks at many sessions in many worktrees, and at one change among them. */
async function manyRows(folder: string): Promise<Row[]> {
  const store = path.join(folder, 'many');
  const ports = systemPorts(store, '0.0.0', silentLog);
  const home = path.join(folder, 'home');
  mkdirSync(home);
  const service = new SessionService(ports, new ConfigSource(ports), observedHosts({}, home, Date.now), home);
  service.spool.open('true');
  writeFileSync(path.join(store, 'config.yaml'), 'sessions:\n  track: true\n');
  const places = Array.from({ length: WORKTREES }, (_, index) => path.join(folder, `repository-${index}`));
  for (const place of places) {
    execFileSync('git', ['init', '-q', place]);
    writeFileSync(path.join(place, 'a.txt'), 'a');
  }
  for (let index = 0; index < SESSIONS; index += 1)
    service.spool.put('claude', report(`session-${index}`, places[index % WORKTREES] ?? folder), Date.now());
  const first = await timed(async () => service.refresh());
  const listed = await timed(() => service.list());
  service.spool.put('claude', report('session-7', places[7] ?? folder), Date.now());
  const change = await timed(async () => service.refresh());
  const what = `${SESSIONS} sessions in ${WORKTREES} worktrees`;
  return [
    { what: `${what}: taken in for the first time`, amount: first },
    { what: `${what}: listed`, amount: listed, bar: { text: 'at most 200 ms', met: listed <= 200 } },
    { what: `${what}: one change shows`, amount: change, bar: { text: 'at most 1 s', met: change <= 1000 } },
  ];
}

/** What observing sessions costs. */
export async function sessionRows(folder: string): Promise<Row[]> {
  return [...(await hookRows(folder)), ...(await transcriptRows(folder)), ...(await manyRows(folder))];
}
