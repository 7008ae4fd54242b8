/*
 * `npm run soak`: a real window stays open on a store that another process changes ten times a second, beside three agents
 * whose sessions are observed, for twenty minutes (ATLAS_SOAK_MINUTES). Fails when what the extension host or the store holds
 * grows, when an acknowledged change was lost, or when something wrong is said of a session.
 */
import { appendFileSync, mkdtempSync, realpathSync, writeFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { AtlasError, unwrap } from '../../src/core/shared/errors';
import { trackedSessions } from '../../src/agents/sessions/trackedSessions';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import { refKey } from '../../src/core/task/taskRef';
import { type GitWorkspace, makeGitWorkspace } from '../support/fixtures/gitWorkspace';
import { buildExtensions } from '../support/vscode/probe/extensions';
import type { Probe } from '../support/vscode/probe/probe';
import { openProbedWindow } from '../support/vscode/probe/window';
import { WorkerPool } from '../support/processes/workerPool';
import { removeFolder } from '../support/removeFolder';
import { keepAgents, wrongOf } from './agents';
import { sampleStore } from './storeSample';
import { type Timed, trendsOf } from './trend';
import type { Acknowledged } from './worker';

/** The newest that is supported: VS Code 1.104 keeps every row that a tree ever drew. */
process.env['HOST_VERSION'] ??= '4.139.1';
/**
 * The view that is shown. VS Code keeps something of each row that a tree ever drew, so a run in which ours draws
 * (`ATLAS_SOAK_VIEW=Atlas`) tells of the editor too.
 */
const VIEW = process.env['ATLAS_SOAK_VIEW'] ?? 'Explorer';
const MINUTES = Number(process.env['ATLAS_SOAK_MINUTES'] ?? 20);
/** A shorter run is told of but not judged: it is over before caches are full. */
const JUDGED_MINUTES = 10;
const SAMPLE_MS = 15_000;
const COMMIT_MS = 5000;
/** When the last change was made, the window must know of it after so long. */
const KNOWN_MS = 60_000;

function minutesSince(start: number): number {
  return (performance.now() - start) / 60_000;
}

/** Changes a file of the repository and commits it with what the agents wrote, again and again. */
async function commit(workspace: GitWorkspace, start: number): Promise<void> {
  for (let count = 1; minutesSince(start) < MINUTES; count += 1) {
    appendFileSync(path.join(workspace.folder, 'README.md'), `${count}\n`);
    await workspace.git('add', '--all');
    await workspace.git('commit', '--quiet', '--message', `soak ${count}`);
    await sleep(COMMIT_MS);
  }
}

async function sample(probe: Probe, atlas: Atlas, start: number): Promise<Timed[]> {
  const samples: Timed[] = [];
  for (let due = 0; minutesSince(start) <= MINUTES; due += SAMPLE_MS) {
    await sleep(Math.max(0, start + due - performance.now()));
    const taken = { minute: minutesSince(start), ...(await probe.ask('sample')), ...sampleStore(atlas) };
    samples.push(taken);
    console.log(
      Object.entries(taken)
        .map(([name, value]) => `${name} ${value.toFixed(Number.isInteger(value) ? 0 : 2)}`)
        .join('  '),
    );
  }
  return samples;
}

/** Changes that were acknowledged and aren't where they were put; waits until the window shows the others as they are. */
async function lostOf(acknowledged: readonly Acknowledged[], atlas: Atlas, probe: Probe): Promise<Acknowledged[]> {
  const refs = new Map(acknowledged.map(({ ref }) => [refKey(ref), ref]));
  const hooks = new Map([...refs].map(([key, ref]) => [key, unwrap(atlas.store.read(ref)).hook]));
  for (const ref of refs.values()) {
    const hook = hooks.get(refKey(ref));
    const known = probe.ask('knows', { ref, history: hook?.history.length ?? 0, state: hook?.state ?? '' });
    if ((await Promise.race([known, sleep(KNOWN_MS)])) === undefined)
      throw new Error(`the window has not seen ${ref.id}`);
  }
  return acknowledged.filter(
    ({ ref, index, event }) => !isDeepStrictEqual(hooks.get(refKey(ref))?.history[index], event),
  );
}

async function soak(folder: string): Promise<boolean> {
  const extensions = await buildExtensions(path.join(folder, 'extensions'));
  const workspace = await makeGitWorkspace(path.join(folder, 'workspace'));
  const atlas = new Atlas(systemPorts(workspace.atlasHome, 'soak', silentLog));
  // As setting up an agent does.
  writeFileSync(atlas.ports.paths.config, 'sessions:\n  track: true\n');
  const sessions = trackedSessions(atlas);
  sessions.spool.open(`'${process.execPath}' '${path.join(extensions.atlas, 'dist', 'cli.js')}'`);
  const [changers, agents] = [
    await WorkerPool.open('test/soak/worker.ts'),
    await WorkerPool.open('test/soak/agent.ts'),
  ];
  const window = await openProbedWindow({
    workspace: workspace.folder,
    env: workspace.env,
    extensions: [extensions.atlas, extensions.probe],
  });
  try {
    await window.probe.ask('ready');
    await window.workbench.openSidebar(VIEW);
    const worker = changers.start('soak', workspace.atlasHome, [workspace.folder], workspace.env);
    await worker.speaks();
    const start = performance.now();
    const isOver = (): boolean => minutesSince(start) >= MINUTES;
    const wrong: string[] = [];
    const settle = async (number: number): Promise<boolean> => {
      const session = (await sessions.refresh()).find(({ ref }) => ref.sessionId === `soak-${number}`);
      try {
        if (session !== undefined) await sessions.forget(session.ref);
      } catch (error) {
        // The window is taking in what the agents reported.
        if (error instanceof AtlasError && error.code === 'lock_timeout') return false;
        throw error;
      }
      wrong.push(...wrongOf(number, session));
      return true;
    };
    const [samples, begun] = await Promise.all([
      sample(window.probe, atlas, start),
      keepAgents(agents, [workspace.atlasHome, workspace.folder], workspace.env, isOver, settle),
      commit(workspace, start),
    ]);
    const minutes = minutesSince(start);
    worker.process.stdin?.end();
    const acknowledged = (await worker.done()).map((line) => JSON.parse(line) as Acknowledged);
    const lost = await lostOf(acknowledged, atlas, window.probe);
    const trends = trendsOf(samples);
    console.table(trends.map((each) => ({ ...each, flat: minutes < JUDGED_MINUTES ? 'too short' : each.flat })));
    const tasks = new Set(acknowledged.map(({ ref: each }) => refKey(each))).size;
    console.log(
      `${minutes.toFixed(1)} minutes, ${acknowledged.length} changes of ${tasks} tasks acknowledged ` +
        `(${(acknowledged.length / minutes / 60).toFixed(1)} a second), ${lost.length} lost; ` +
        `${begun} sessions, ${wrong.length} told wrongly; load ${os.loadavg()[0]?.toFixed(1) ?? ''}`,
    );
    for (const each of lost.slice(0, 10)) console.log('lost', JSON.stringify(each));
    for (const each of wrong.slice(0, 10)) console.log('wrong:', each);
    const isGood = lost.length === 0 && wrong.length === 0;
    return isGood && (minutes < JUDGED_MINUTES || trends.every(({ flat }) => flat));
  } finally {
    await window.close();
    await changers.close();
    await agents.close();
  }
}

const folder = realpathSync(mkdtempSync(path.join(os.tmpdir(), 'atlas-soak-')));
try {
  if (!(await soak(folder))) process.exitCode = 1;
} finally {
  removeFolder(folder);
}
