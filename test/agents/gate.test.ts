import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObservedDesk } from '../support/agents/observedDesk';
import type { Turn } from '../support/agents/scriptedModel';
import { REAL_AGENTS_HERE } from '../support/agents/agentsHere';

/*
 * Real agents that say that they are done: kept while no receipt covers what they changed, three times at the same files, and
 * never else. An agent that is kept asks its model again, and what it was told stands in what it asks.
 */

/** How often all kinds of stops are played; a thousand stops in all by `npm run test:gate`. */
const ROUNDS = Number(process.env['ATLAS_GATE_ROUNDS'] ?? '1');
/** How often one agent is kept for failing, missing and outdated receipts. */
const LOOPS = ROUNDS === 1 ? 1 : 8;
const [FIRST, SECOND] = ['test ! -e broken-1', 'test ! -e broken-2'];
const LACK = 'no receipt shows that';
const DONE: Turn = { text: 'All tests pass.' };
const PART = 'Look at the smallest part of it';
/** OpenCode has no hook that could keep it. */
const KEPT_HERE = REAL_AGENTS_HERE.filter((agent) => agent !== 'opencode');

/** What an agent is started with beside its script. */
interface Setting {
  readonly env?: Readonly<Record<string, string>>;
  readonly args?: readonly string[];
  /** Who started the task: an agent is shown no checks, so that nobody allowed them. */
  readonly startedBy?: 'agent';
  /** What config.yaml says. */
  readonly config?: string;
}

const tally = new Map<string, number>();

function count(agent: string, kind: string, outcome: 'kept' | 'let go', times = 1): void {
  const key = `${agent}: ${kind}, ${outcome}`;
  tally.set(key, (tally.get(key) ?? 0) + times);
}

afterAll(() => {
  const lines = [...tally].map(([key, times]) => `${String(times).padStart(5)}  ${key}`);
  const total = [...tally.values()].reduce((sum, times) => sum + times, 0);
  if (total > 0) console.log(`${lines.join('\n')}\n${String(total).padStart(5)}  stops`);
});

describe.skipIf(KEPT_HERE.length === 0).each(KEPT_HERE)('%s, as it stops', (agent) => {
  let desk: ObservedDesk;
  let stores = 0;
  let atlas: string;

  beforeAll(async () => {
    desk = await ObservedDesk.open([agent]);
    atlas = `'${process.execPath}' '${desk.cli.entry}'`;
  });
  afterAll(async () => {
    await desk.dispose();
  });

  /** What a human types meanwhile: nothing says that an agent does. */
  const human = (line: string): string =>
    `env -i PATH="$PATH" HOME="$HOME" ATLAS_HOME="$ATLAS_HOME" ${atlas} ${line} >/dev/null`;

  /** Has the agent work on a step with two checks, by a script that begins once what files are there is noted. */
  async function plays(script: readonly Turn[], setting: Setting = {}, by: 'results' | 'requests' = 'requests') {
    const folder = desk.repository();
    mkdirSync(path.join(folder, '.atlas', 'templates'), { recursive: true });
    const step = { name: 'implement', validation: [FIRST, SECOND], max_attempts: 99 };
    writeFileSync(
      path.join(folder, '.atlas', 'templates', 'checked.yaml'),
      JSON.stringify({ id: 'checked', steps: [step] }),
    );
    stores += 1;
    const store = path.join(desk.cli.home, `store-${stores}`);
    const env = { ATLAS_HOME: store };
    const byAgent = setting.startedBy === 'agent' ? { CLAUDECODE: '1' } : {};
    for (const { line, more } of [
      { line: ['start', 'Sample', '--template', 'checked'], more: byAgent },
      { line: ['lifecycle', 'install', '--host', agent, '--hooks-only', '--yes'], more: {} },
    ]) {
      const said = await desk.cli.runIn({ folder, env: { ...env, ...more } }, ...line);
      expect(said.code, said.err).toBe(0);
    }
    if (setting.config !== undefined) writeFileSync(path.join(store, 'config.yaml'), setting.config);
    const noted = `until ls '${store}'/sessions/*.tree >/dev/null 2>&1; do sleep 0.02; done`;
    const turns: Turn[] = [{ run: `${atlas} step start && ${noted}` }, ...script];
    desk.model.play(turns, by);
    // Codex reads a repository's hooks only where that is trusted.
    const args = [...(agent === 'codex' ? ['--trust'] : []), ...(setting.args ?? [])];
    const running = desk.agents.start(agent, 'Work on the step', { folder, env: { ...env, ...setting.env }, args });
    await running.ended;
    const asked = desk.model.requests.filter(({ played }) => played);
    expect(asked.length, running.printed()).toBeGreaterThan(1);
    return { turns, asked, printed: running.printed };
  }

  /** How often what keeps an agent stands in what it asks its model, the last of several. */
  const times = (body = ''): number => body.split(LACK).length - 1;

  /** Plays a script in which each message but the last is a stop that is kept, and the last one lets it go. */
  async function keptUntilTheEnd(script: readonly Turn[], kinds: readonly string[]): Promise<void> {
    const { turns, asked, printed } = await plays(script);
    let kept = 0;
    for (const [at, turn] of turns.entries()) {
      const isStop = 'text' in turn;
      expect(times(asked[at]?.body), `turn ${at}\n${printed()}`).toBe(kept);
      if (isStop && at < turns.length - 1) kept += 1;
    }
    expect(asked, printed()).toHaveLength(turns.length);
    for (const kind of kinds) count(agent, kind, 'kept');
    expect(kinds).toHaveLength(kept);
  }

  /** Plays a script at whose only message the agent is let go. */
  async function isLetGo(kind: string, script: readonly Turn[], setting: Setting = {}): Promise<void> {
    const { turns, asked, printed } = await plays([...script, DONE], setting);
    expect(asked, `${kind}\n${printed()}`).toHaveLength(turns.length);
    expect(times(asked.at(-1)?.body), kind).toBe(0);
    count(agent, kind, 'let go');
  }

  const CHANGED: Turn = { run: 'echo changed > kept.txt' };

  describe.each(Array.from({ length: ROUNDS }, (_each, at) => at))('round %i', () => {
    it(
      'is kept for missing, failing and outdated receipts, and let go with passing ones',
      { timeout: 600_000 },
      async () => {
        const again = `${human('reject again')} && ${atlas} step start >/dev/null`;
        const loop = (at: number): Turn[] => [
          { run: `echo ${at} > kept.txt` },
          DONE,
          // The first check passes on these files, the second fails.
          { run: `touch broken-2; ${atlas} validate >/dev/null; ${again}` },
          DONE,
          { run: `echo ${at}, other > kept.txt` },
          DONE,
        ];
        const loops = Array.from({ length: LOOPS }, (_each, at) => loop(at)).flat();
        const kinds = Array.from({ length: LOOPS }, (_each, at) => [
          at === 0 ? 'missing' : 'outdated',
          'failing',
          'outdated',
        ]);
        await keptUntilTheEnd([...loops, { run: `rm broken-2; ${atlas} validate` }, DONE], kinds.flat());
        count(agent, 'passing', 'let go');
      },
    );

    it('is kept three times at the same files', { timeout: 120_000 }, async () => {
      const { turns, asked, printed } = await plays([CHANGED, DONE, DONE, DONE, DONE]);
      expect(asked, printed()).toHaveLength(turns.length);
      expect(asked.slice(-4).map(({ body }) => times(body))).toEqual([0, 1, 2, 3]);
      count(agent, 'missing', 'kept', 3);
      count(agent, 'missing, told three times', 'let go');
    });

    it('is let go for anything else', { timeout: 300_000 }, async () => {
      await isLetGo('nothing changed', [{ run: 'true' }]);
      await isLetGo('changed back', [CHANGED, { run: 'echo kept > kept.txt' }]);
      await isLetGo('a question is open', [CHANGED, { run: `${atlas} step ask Which` }]);
      await isLetGo('checks that nobody allowed', [CHANGED], { startedBy: 'agent' });
      await isLetGo('turned off in its environment', [CHANGED], { env: { ATLAS_STOP_GATE: '0' } });
      await isLetGo('turned off by the setting', [CHANGED], { config: 'gate:\n  enabled: false\n' });
      if (agent !== 'claude') return;
      await isLetGo('plan mode', [CHANGED], { args: ['--permission-mode', 'plan'] });
    });

    it.runIf(agent === 'claude')(
      'is let go with work in the background, and kept once that is over',
      { timeout: 120_000 },
      async () => {
        const { turns, asked, printed } = await plays([CHANGED, { run: 'sleep 2', background: true }, DONE]);
        expect(
          asked.slice(turns.length).map(({ body }) => times(body)),
          printed(),
        ).toEqual([0, 1, 2, 3]);
        count(agent, 'work in the background', 'let go');
        count(agent, 'missing', 'kept', 3);
        count(agent, 'missing, told three times', 'let go');
      },
    );

    it.runIf(agent === 'claude')(
      'is let go as a subagent, and kept when that is done',
      { timeout: 120_000 },
      async () => {
        const { asked, printed } = await plays([CHANGED, { delegate: PART }, DONE], {}, 'results');
        // What a subagent is asked begins with its request.
        const ofSubagent = asked.filter(({ turn, body }) => turn === 0 && body.includes(PART));
        expect(ofSubagent.length, printed()).toBeGreaterThan(0);
        expect(ofSubagent.filter(({ body }) => times(body) > 0)).toEqual([]);
        const stops = asked.filter(({ turn }) => turn === 3);
        // While it works, its agent may stop too: something goes on in the background.
        const kept = stops.map(({ body }) => times(body)).filter((told) => told > 0);
        expect(kept, printed()).toEqual([1, 2, 3]);
        count(agent, 'a subagent', 'let go');
        count(agent, 'missing', 'kept', 3);
        count(agent, 'missing, told three times', 'let go');
      },
    );
  });
});
