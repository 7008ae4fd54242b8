import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, readdirSync, watch, writeFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { unwrap } from '../../src/core/shared/errors';
import { launcherPath, writeLauncher } from '../../src/system/launcher/launcher';
import { NodeFileSystem } from '../../src/system/files/nodeFileSystem';
import { systemIds } from '../../src/system/systemPorts';
import { AgentHost } from '../support/drivers/agentHost';
import { BuiltCli } from '../support/drivers/cli';
import { Desk } from '../support/drivers/cliDesk';
import { type Row, medianOf, percentile95 } from './rows';

const QUIET_ROUNDS = 300;
const ROUNDS = 40;
const WARM_UP = 5;
const FILES = 10_000;

/** How long a hook's shell command takes, in ms, with what it exits with. */
function fired(
  desk: Desk,
  command: string,
  input: object,
  more: NodeJS.ProcessEnv = {},
): { ms: number; code: number | null } {
  const options = {
    cwd: desk.folder,
    env: desk.cli.environment({ ...desk.how().env, ...more }),
    input: JSON.stringify(input),
  };
  const began = performance.now();
  const { status } = spawnSync('/bin/sh', ['-c', command], options);
  return { ms: performance.now() - began, code: status };
}

function inputOf(desk: Desk, session: string): object {
  const last = 'All tests pass, as far as I can see. '.repeat(40);
  return { session_id: session, cwd: desk.folder, hook_event_name: 'Stop', last_assistant_message: last };
}

/** An agent that stops where nothing keeps it, beside an empty hook: in turns, so that load hits both. */
function quietRows(cli: BuiltCli, folder: string): Row[] {
  const desk = new Desk(cli, 'quiet');
  const target = { folder, node: process.execPath, cli: cli.entry };
  unwrap(writeLauncher({ files: new NodeFileSystem(), ids: systemIds }, target));
  const input = inputOf(desk, 'one');
  const ours = `'${launcherPath(folder)}' lifecycle stop --host claude`;
  // The first one makes the workspace.
  for (const command of [ours, ours, 'true']) fired(desk, command, input);
  const times: Record<'empty' | 'ours', number[]> = { empty: [], ours: [] };
  for (let round = 0; round < QUIET_ROUNDS; round += 1) {
    times.empty.push(fired(desk, 'true', input).ms);
    times.ours.push(fired(desk, ours, input).ms);
  }
  const [p95, empty] = [percentile95(times.ours), percentile95(times.empty)];
  return [
    {
      what: 'an agent stops where nothing keeps it, median',
      amount: medianOf(times.ours),
      beside: { what: 'empty hook', amount: medianOf(times.empty), ratio: 'times' },
    },
    {
      what: 'the same, 95th percentile',
      amount: p95,
      beside: { what: 'empty hook', amount: empty, ratio: 'times' },
      bar: { text: 'adds at most 5 ms', met: p95 - empty <= 5 },
    },
  ];
}

/** Waits until the files are noted that a session began with. */
async function noted(sessions: string): Promise<void> {
  const watcher = watch(sessions);
  try {
    while (!readdirSync(sessions).some((name) => name.endsWith('.tree'))) await once(watcher, 'change');
  } finally {
    watcher.close();
  }
}

/** An agent that is kept in a large repository, beside the same call that is told not to look, and beside a Node that does nothing. */
async function gateRows(cli: BuiltCli): Promise<Row[]> {
  const desk = new Desk(cli, 'large');
  desk.template('checked', { name: 'implement', validation: ['true'] });
  for (let index = 0; index < FILES; index += 1) {
    const below = path.join(desk.folder, `folder-${Math.floor(index / 100)}`);
    if (index % 100 === 0) mkdirSync(below);
    writeFileSync(path.join(below, `file-${index}.txt`), `line ${index}\n`);
  }
  desk.git('add', '-A');
  desk.git('commit', '-qm', 'many');
  await desk.ok('start', 'Sample', '--template', 'checked');
  // Files that were written within the last two seconds are read again each time: no repository consists of those.
  await setTimeout(2100);
  const host = new AgentHost(cli, desk, 'one');
  try {
    await host.fires('session-start');
    await host.runs('step start');
    await noted(path.join(desk.root, 'sessions'));
    const node = `'${process.execPath}'`;
    const stop = `${node} '${cli.entry}' lifecycle stop --host claude`;
    const empty = path.join(cli.home, 'empty.cjs');
    writeFileSync(empty, '');
    const times: Record<'empty' | 'off' | 'kept', number[]> = { empty: [], off: [], kept: [] };
    for (let round = 0; round < ROUNDS + WARM_UP; round += 1) {
      // Another tree each time, so that it is never told often enough.
      desk.write('folder-7/file-700.txt', `round ${round}\n`);
      const input = inputOf(desk, 'one');
      const of = {
        empty: fired(desk, `${node} '${empty}'`, input),
        off: fired(desk, stop, input, { ATLAS_STOP_GATE: '0' }),
        kept: fired(desk, stop, input),
      };
      if (of.off.code !== 0 || of.kept.code !== 2) throw new Error(`stopped with ${of.off.code}, ${of.kept.code}`);
      if (round < WARM_UP) continue;
      for (const name of ['empty', 'off', 'kept'] as const) times[name].push(of[name].ms);
    }
    const [kept, off] = [medianOf(times.kept), medianOf(times.off)];
    return [
      {
        what: `an agent is kept, ${FILES.toLocaleString('en')} files`,
        amount: kept,
        beside: { what: 'the same with the gate off', amount: off, ratio: 'times' },
        bar: { text: 'adds at most 60 ms', met: kept - off <= 60 },
      },
      {
        what: 'an agent stops in a step, with the gate off',
        amount: off,
        beside: { what: 'an empty Node', amount: medianOf(times.empty), ratio: 'times' },
      },
    ];
  } finally {
    AgentHost.endAll();
  }
}

/** What an agent waits for when it stops. */
export async function stopRows(folder: string): Promise<Row[]> {
  const cli = await BuiltCli.open();
  try {
    return [...quietRows(cli, path.join(folder, 'bin')), ...(await gateRows(cli))];
  } finally {
    cli.dispose();
  }
}
