import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RealAgent } from '../support/agents/install';
import { ObservedDesk, type ShownSession } from '../support/agents/observedDesk';
import type { Turn } from '../support/agents/scriptedModel';
import { REAL_AGENTS_HERE } from '../support/agents/agentsHere';

/* Real agents on a scripted model, killed at random tool calls: what HOOK.md then says has to be true, and all there is. */

/** Kills of each agent, where it isn't said how many: OpenCode takes eight times as long as Codex for one. */
const SHARE: Readonly<Record<RealAgent, number>> = { codex: 44, opencode: 6, claude: 20 };
const KILLS = process.env['ATLAS_SESSION_KILLS'];
const SEED = Number(process.env['ATLAS_SESSION_SEED'] ?? '1');
const TURNS = 6;

/** Numbers that look random and are the same for the same seed. */
function random(seed: number): () => number {
  let state = (seed * 2_654_435_761) >>> 0;
  return () => {
    state = (Math.imul(state ^ (state >>> 15), 2_246_822_519) + 0x9e37_79b9) >>> 0;
    return state / 2 ** 32;
  };
}

interface Step {
  readonly turn: Turn;
  readonly command?: string;
  readonly exit: number;
}

function stepOf(index: number, folder: string, next: () => number): Step {
  const pick = Math.floor(next() * 4);
  // No other session has a command of the same words.
  const name = `${path.basename(folder)}-${index}.txt`;
  if (pick === 0) return { turn: { write: { path: `${folder}/${name}`, content: `${index}` } }, exit: 0 };
  const exit = pick === 1 ? 0 : pick === 2 ? 1 + Math.floor(next() * 100) : 0;
  const where = pick === 3 ? `mkdir -p ignored && echo ${index} > ignored/${name}` : `echo ${index} > ${name}`;
  const command = `${where}; (exit ${exit})`;
  return { turn: { run: command }, command, exit };
}

interface Counts {
  kills: number;
  wrong: string[];
  missing: Map<string, number>;
  /** Facts that the agent had, or the files have, and HOOK.md doesn't. */
  lost: string[];
  slowestMs: number;
}

/** Where agents keep what was said, below the home folder. */
const KEPT: Readonly<Record<RealAgent, string>> = {
  claude: '.claude/projects',
  codex: '.codex/sessions',
  opencode: '.local/share/opencode',
};

/** Whether an agent itself had a text before it died: it may be killed while the model's answer is on its way. */
function isKeptByAgent(agent: RealAgent, home: string, text: string): boolean {
  const folder = path.join(home, ...KEPT[agent].split('/'));
  if (!existsSync(folder)) return false;
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return files.some(({ parentPath, name }) => readFileSync(path.join(parentPath, name), 'utf8').includes(text));
}

/** Which facts of a HOOK.md are wrong, and which are missing, by what really happened. */
function judge(
  shown: ShownSession | undefined,
  truth: {
    steps: readonly Step[];
    results: number;
    asked: number;
    before: readonly string[];
    changed: readonly string[];
    request: string;
    isOver: boolean;
    /** Whether the agent had a text, by its own files. */
    knew: (text: string) => boolean;
  },
  counts: Counts,
): void {
  const miss = (why: string): void => void counts.missing.set(why, (counts.missing.get(why) ?? 0) + 1);
  const lose = (what: string, text: string): void => {
    miss(what);
    counts.lost.push(`kill ${counts.kills}: ${what}: ${text}\n${shown?.markdown ?? 'no session'}`);
  };
  const missed = (what: string, text: string): void =>
    truth.knew(text) ? lose(what, text) : miss(`${what}: the agent didn't have it yet`);
  if (shown === undefined) {
    missed('no session', truth.request);
    return;
  }
  const { session, markdown } = shown;
  if (session.request === null) missed('request', truth.request);
  else if (session.request !== truth.request) counts.wrong.push(`request: ${session.request}`);
  const state = truth.isOver ? ['idle', 'ended', 'interrupted'] : ['interrupted', 'ended'];
  if (!state.includes(session.state)) counts.wrong.push(`state: ${session.state}`);
  const listed = [...markdown.matchAll(/^- `([^`]+)` \((?:added|modified|deleted)\)$/gmu)]
    .map(([, file = '']) => file)
    .sort();
  for (const file of listed) if (!truth.changed.includes(file)) counts.wrong.push(`changed: ${file}`);
  for (const file of truth.before) if (!listed.includes(file)) lose('changed file not named', file);
  for (const [, command = '', code] of markdown.matchAll(/^- `(.+)`: exit code (\d+)/gmu)) {
    const step = truth.steps.find((each) => each.command === command);
    if (step !== undefined && step.exit !== Number(code)) counts.wrong.push(`exit code ${code} of ${command}`);
  }
  const under = /### Under Way When It Stopped\n\n`\w+` was asked for and no end[^\n]*\n\n```text\n([^`]*)\n```/u.exec(
    markdown,
  )?.[1];
  const done = truth.steps.slice(0, truth.results).map(({ command }) => command);
  if (under !== undefined && done.includes(under)) counts.wrong.push(`under way, but it had ended: ${under}`);
  const current = truth.steps[truth.results]?.command;
  if (
    current !== undefined &&
    truth.asked > truth.results &&
    session.state === 'interrupted' &&
    !markdown.includes(current)
  )
    missed('last tool', current);
}

describe.each(REAL_AGENTS_HERE)('%s, killed at random tool calls', (agent: RealAgent) => {
  let desk: ObservedDesk;
  const counts: Counts = { kills: 0, wrong: [], missing: new Map(), lost: [], slowestMs: 0 };

  beforeAll(async () => {
    desk = await ObservedDesk.open([agent]);
    await desk.observe(agent, '--transcripts');
  }, 600_000);
  afterAll(async () => {
    const missing = [...counts.missing].map(([why, times]) => `${why}: ${times}`).join('; ');
    console.log(
      `${agent}: ${counts.kills} kills, wrong ${counts.wrong.length}, slowest look ${Math.round(counts.slowestMs)} ms; missing: ${missing || 'nothing'}`,
    );
    await desk.dispose();
  });

  const kills = KILLS === undefined ? SHARE[agent] : Number(KILLS);
  it(`leaves a HOOK.md without a wrong fact (${kills} kills)`, { timeout: kills * 60_000 }, async () => {
    const next = random(SEED);
    for (let kill = 0; kill < kills; kill += 1) {
      const folder = desk.repository();
      const steps = Array.from({ length: TURNS }, (_, index) => stepOf(index, folder, next));
      const request = `Fix number ${kill} of the ${agent} parser`;
      const running = desk.start(
        agent,
        request,
        folder,
        steps.map(({ turn }) => turn),
      );
      const at = Math.floor(next() * (TURNS + 1));
      const asked = await Promise.race([desk.model.asked(at), running.ended]);
      expect(asked, running.printed()).toBeDefined();
      await pause(Math.floor(next() * 120));
      running.child.kill('SIGKILL');
      await running.ended;
      const results = Math.max(0, ...desk.model.requests.filter(({ played }) => played).map(({ turn }) => turn));
      // Shells of tools live on after a kill: what they write while it is looked may be named or not.
      const before = desk.uncommitted(folder);
      const began = performance.now();
      const shown = await desk.shown(folder);
      counts.slowestMs = Math.max(counts.slowestMs, (performance.now() - began) / 2);
      counts.kills += 1;
      judge(
        shown,
        {
          steps,
          results,
          asked: results + 1,
          before,
          changed: desk.uncommitted(folder),
          request,
          isOver: results >= TURNS,
          knew: (text) => isKeptByAgent(agent, desk.cli.home, text),
        },
        counts,
      );
    }
    expect(counts.wrong).toEqual([]);
    expect(counts.lost).toEqual([]);
  });
});
