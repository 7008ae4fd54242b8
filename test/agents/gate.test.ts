import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObservedDesk } from '../support/agents/observedDesk';
import type { Turn } from '../support/agents/scriptedModel';
import { REAL_AGENTS_HERE } from './agentsHere';

/* Real agents that say that they are done: kept while no receipt covers what they changed, three times, and never else. */

/** How often each way to stop is played; a thousand times in all by `npm run test:gate`. */
const RUNS = Number(process.env['ATLAS_GATE_RUNS'] ?? '1');
const CHECK = 'test ! -e broken';
/** OpenCode has no hook that could keep it. */
const KEPT_HERE = REAL_AGENTS_HERE.filter((agent) => agent !== 'opencode');

describe.skipIf(KEPT_HERE.length === 0).each(KEPT_HERE)('%s, as it stops', (agent) => {
  let desk: ObservedDesk;
  let stores = 0;

  beforeAll(async () => {
    desk = await ObservedDesk.open([agent]);
  });
  afterAll(async () => {
    await desk.dispose();
  });

  /** Has the agent work on a step with a check; how often it said that it is done, and what it was told the last time. */
  async function stopped(work: readonly string[]): Promise<{ readonly times: number; readonly told: string }> {
    const folder = desk.repository();
    mkdirSync(path.join(folder, '.atlas', 'templates'), { recursive: true });
    writeFileSync(
      path.join(folder, '.atlas', 'templates', 'checked.yaml'),
      JSON.stringify({ id: 'checked', steps: [{ name: 'implement', validation: [CHECK] }] }),
    );
    stores += 1;
    const store = path.join(desk.cli.home, `store-${stores}`);
    const env = { ATLAS_HOME: store };
    const start = ['start', 'Sample', '--template', 'checked'];
    for (const line of [start, ['lifecycle', 'install', '--host', agent, '--hooks-only', '--yes']]) {
      const said = await desk.cli.runIn({ folder, env }, ...line);
      expect(said.code, said.err).toBe(0);
    }
    const atlas = `'${process.execPath}' '${desk.cli.entry}'`;
    const commands = [`${atlas} step start`, waitForTree(store), ...work.map((line) => line.replace('atlas', atlas))];
    const turns: Turn[] = [...commands.map((run) => ({ run })), { text: 'All tests pass.' }];
    desk.model.play(turns);
    // Codex reads a repository's hooks only where that is trusted.
    const args = agent === 'codex' ? ['--trust'] : [];
    const running = desk.agents.start(agent, 'Work on the step', { folder, env, args });
    await running.ended;
    const done = desk.model.requests.filter(({ turn, played }) => played && turn === commands.length);
    expect(done.length, running.printed()).toBeGreaterThan(0);
    return { times: done.length, told: done.at(-1)?.body ?? '' };
  }

  it.each(Array.from({ length: RUNS }, (_each, at) => at))('run %i', { timeout: 120_000 }, async () => {
    const missing = await stopped(['echo changed > kept.txt']);
    expect(missing.times).toBe(4);
    expect(missing.told).toContain('no receipt shows that');
    expect((await stopped(['true'])).times).toBe(1);
    expect((await stopped(['echo changed > kept.txt', 'atlas validate'])).times).toBe(1);
    expect((await stopped(['echo changed > kept.txt', 'atlas step ask Which'])).times).toBe(1);
  });
});

/** A command that goes on once the files that the session begins with are noted, which nobody waits for. */
function waitForTree(store: string): string {
  return `until ls '${store}'/sessions/*.tree >/dev/null 2>&1; do sleep 0.02; done`;
}
