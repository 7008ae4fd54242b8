import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { RunningAgent } from '../support/agents/agentDesk';
import type { RealAgent } from '../support/agents/install';
import { ObservedDesk } from '../support/agents/observedDesk';
import type { Turn } from '../support/agents/scriptedModel';
import { REAL_AGENTS_HERE } from '../support/agents/agentsHere';

/* What happens to sessions of real agents: forked, compacted, in worktrees, with subagents, several at once, asleep. */

const HANG: Turn = { hang: true };
const LIMIT_MS = 60_000;
/** How long a session takes in real time, in minutes; not in CI. */
const MINUTES = Number(process.env['ATLAS_SESSION_MINUTES'] ?? '0');
const write = (folder: string, name: string): Turn => ({ write: { path: path.join(folder, name), content: name } });

/** How an agent goes on with what a session knows, in a new one. */
const FORK: Readonly<Record<RealAgent, (id: string) => readonly string[]>> = {
  codex: (id) => ['fork', id],
  opencode: (id) => ['--session', id, '--fork'],
  claude: (id) => ['--resume', id, '--fork-session'],
};

describe.each(REAL_AGENTS_HERE)('a session of %s', { timeout: LIMIT_MS }, (agent) => {
  let desk: ObservedDesk;
  const running: RunningAgent[] = [];

  beforeAll(async () => {
    desk = await ObservedDesk.open([agent]);
    await desk.observe(agent, '--transcripts');
  }, 600_000);
  afterEach(async () => {
    for (const { child, ended } of running.splice(0)) {
      child.kill('SIGCONT');
      child.kill('SIGKILL');
      await ended;
    }
  });
  afterAll(async () => {
    await desk.dispose();
  });

  /** Starts it on a script, until the model was asked for a turn. */
  async function startedAt(
    turn: number,
    folder: string,
    request: string,
    turns: readonly Turn[],
    args: readonly string[] = [],
  ): Promise<RunningAgent> {
    desk.model.play(turns);
    const started = more(folder, request, args);
    running.push(started);
    expect(await Promise.race([desk.model.asked(turn), started.ended]), started.printed()).toBeDefined();
    return started;
  }
  const more = (folder: string, request: string, args: readonly string[]): RunningAgent =>
    desk.agents.start(agent, request, { folder, env: { ATLAS_HOME: desk.cli.root }, args });

  it('that is forked goes on as another one, which names only what it changed itself', async () => {
    const folder = desk.repository();
    await desk.start(agent, 'Begin the parser', folder, [write(folder, 'first.ts'), { text: 'Begun.' }]).ended;
    const [first] = await desk.sessions(folder);
    // The fork has the first one's tool result.
    desk.model.play([{ text: '' }, write(folder, 'second.ts'), { text: 'Forked.' }]);
    const forked = more(folder, 'Go another way', FORK[agent](first?.session_id ?? ''));
    await forked.ended;
    expect(forked.child.exitCode, forked.printed()).toBe(0);
    const all = await desk.sessions(folder);
    expect(all).toHaveLength(2);
    const other = all.find(({ session_id: id }) => id !== first?.session_id);
    expect(all.find(({ session_id: id }) => id === first?.session_id)?.request).toBe('Begin the parser');
    const shown = await desk.show(folder, other?.session_id ?? '');
    expect(shown.markdown).toContain('Go another way');
    expect(shown.markdown).toContain('- `second.ts` (added)');
    expect(shown.markdown).not.toContain('- `first.ts` (added)');
  });

  it('in a linked worktree belongs to that, and is handed over there', async () => {
    const folder = desk.repository();
    const linked = `${folder}-linked`;
    desk.git(folder, 'worktree', 'add', '-q', linked);
    const dying = await startedAt(1, linked, 'Work in the other worktree', [write(linked, 'there.ts'), HANG]);
    dying.child.kill('SIGKILL');
    await dying.ended;
    const [session] = await desk.sessions(folder);
    expect(session).toMatchObject({ worktree: linked, state: 'interrupted', files_changed: 1 });
    expect(desk.uncommitted(folder)).toEqual([]);
    desk.model.play([{ text: 'Understood.' }]);
    const resumed = desk.atlas(folder, 'resume', '--with', agent, '--headless', '--', ...unsafe(agent));
    const { body } = await desk.model.asked(0);
    expect((await resumed).code).toBe(0);
    expect(body).toContain('Work in the other worktree');
    expect(body).toContain(linked);
  });

  it('that steps into another worktree for a command isn’t said to have changed what it left', async () => {
    const folder = desk.repository();
    const linked = `${folder}-beside`;
    desk.git(folder, 'worktree', 'add', '-q', linked);
    const turns: Turn[] = [{ run: `cd '${linked}' && echo there > there.txt` }, HANG];
    await startedAt(1, folder, 'Step aside', turns);
    const shown = await desk.shown(folder);
    expect(shown?.session.state).toBe('working');
    expect([folder, linked]).toContain(shown?.session.worktree);
    // Whatever worktree it is in now, only that one's files are said to be changed by it.
    expect(shown?.session.files_changed).toBe(shown?.session.worktree === linked ? 1 : 0);
    expect(shown?.markdown).toContain(`cd '${linked}'`);
  });

  it(
    'is one of five in a folder beside a task: none is the task’s, none in flight for another',
    { timeout: 180_000 },
    async () => {
      const folder = desk.repository();
      expect((await desk.atlas(folder, 'start', 'Own task', '--template', 'task')).code).toBe(0);
      const before = JSON.parse((await desk.atlas(folder, 'status', '--json')).out) as Record<string, unknown>;
      desk.model.play([{ run: 'echo x > "file-$$.txt"' }, HANG]);
      const five = [1, 2, 3, 4, 5].map((number) => more(folder, `Request number ${number}`, []));
      running.push(...five);
      while (desk.model.requests.filter(({ played, turn }) => played && turn === 1).length < 5)
        expect(await Promise.race([desk.model.next(), ...five.map(({ ended }) => ended)])).toBeDefined();
      const sessions = await desk.sessions(folder);
      expect(sessions.map(({ state, task_id: task }) => [state, task])).toEqual(Array(5).fill(['working', null]));
      expect(new Set(sessions.map(({ request }) => request)).size).toBe(5);
      five[2]?.child.kill('SIGKILL');
      await five[2]?.ended;
      const after = await desk.sessions(folder);
      const dead = after.filter(({ state }) => state === 'interrupted');
      expect(dead.map(({ request }) => request)).toEqual(['Request number 3']);
      expect(after.filter(({ state }) => state === 'working')).toHaveLength(4);
      const status = JSON.parse((await desk.atlas(folder, 'status', '--json')).out) as Record<string, unknown>;
      for (const key of ['task', 'health', 'recovery', 'waiting']) expect(status[key], key).toEqual(before[key]);
    },
  );

  const turns = MINUTES * 6;
  it.runIf(turns > 0)(
    `of ${MINUTES} minutes at work is never called interrupted`,
    { timeout: (MINUTES + 5) * 120_000 },
    async () => {
      const folder = desk.repository();
      const long = Array.from({ length: turns }, (_, at): Turn => ({ run: `sleep 10; echo ${at} >> steps.txt` }));
      const started = await startedAt(1, folder, 'Take your time', [...long, HANG]);
      const began = performance.now();
      for (let turn = 2; turn <= turns; turn += 1) {
        expect(await Promise.race([desk.model.asked(turn), started.ended]), started.printed()).toBeDefined();
        expect(
          (await desk.sessions(folder)).map(({ state }) => state),
          `turn ${turn}`,
        ).toEqual(['working']);
      }
      console.log(
        `${agent}: ${turns} tools in ${Math.round((performance.now() - began) / 60_000)} min, always working`,
      );
    },
  );

  it('that sleeps with its laptop in a turn is not interrupted, and ends its turn when that wakes', async () => {
    const folder = desk.repository();
    const sleeping = await startedAt(1, folder, 'Sleep well', [write(folder, 'a.ts'), HANG]);
    sleeping.child.kill('SIGSTOP');
    for (const hours of [0, 1, 12]) {
      const [session] = await desk.sessions(folder, hours);
      expect(session?.state, `${hours} hours`).toBe('working');
    }
    sleeping.child.kill('SIGCONT');
    expect((await desk.sessions(folder, 12))[0]?.state).toBe('working');
  });

  it('gives work to a subagent, which is no session task and ends nothing of it', async () => {
    const folder = desk.repository();
    const args = agent === 'codex' ? ['--enable', 'multi_agent_v2'] : [];
    const turns: Turn[] = [{ delegate: 'Look around' }, write(folder, 'own.ts'), HANG];
    await startedAt(2, folder, 'Ask a subagent', turns, args);
    const sessions = await desk.sessions(folder);
    const own = sessions.find(({ request }) => request === 'Ask a subagent');
    expect(own).toMatchObject({ state: 'working', task_state: 'open', files_changed: 1 });
    for (const other of sessions.filter((each) => each !== own))
      expect(other, JSON.stringify(other)).toMatchObject({ task_state: null, hook_path: null });
  });

  // Claude Code's is in sessions.test.ts; OpenCode compacts without end, since each answer of the model counts the same.
  it.runIf(agent === 'codex')('that compacts in a turn goes on: what was asked first is kept', async () => {
    const folder = desk.repository();
    desk.model.play([{ run: 'echo compacted > a.txt' }, { text: 'All done.' }], 'requests');
    // Each turn of the scripted model counts a thousand tokens.
    const compacting = more(folder, 'Fill the context', ['--config', 'model_auto_compact_token_limit=500']);
    running.push(compacting);
    await compacting.ended;
    expect(compacting.child.exitCode, compacting.printed()).toBe(0);
    const shown = await desk.shown(folder);
    expect(shown?.markdown).toContain('Its context was compacted');
    expect(shown?.session).toMatchObject({ request: 'Fill the context', files_changed: 1 });
    expect(['idle', 'ended']).toContain(shown?.session.state);
  });
});

const PAIRS = REAL_AGENTS_HERE.flatMap((from) =>
  REAL_AGENTS_HERE.filter((to) => to !== from).map((to) => [from, to] as const),
);

describe.runIf(PAIRS.length > 0)('a killed session', { timeout: LIMIT_MS }, () => {
  let desk: ObservedDesk;

  beforeAll(async () => {
    desk = await ObservedDesk.open(REAL_AGENTS_HERE);
    for (const agent of REAL_AGENTS_HERE) await desk.observe(agent);
  }, 600_000);
  afterAll(async () => {
    await desk.dispose();
  });

  it.each(PAIRS)('of %s is taken over by %s, which is first asked with what is known', async (from, to) => {
    const folder = desk.repository();
    const dying = desk.start(from, 'Rename the lexer', folder, [write(folder, 'lexer.ts'), HANG]);
    expect(await Promise.race([desk.model.asked(1), dying.ended]), dying.printed()).toBeDefined();
    dying.child.kill('SIGKILL');
    await dying.ended;
    desk.model.play([{ text: 'Understood.' }]);
    const began = performance.now();
    const resumed = desk.atlas(folder, 'resume', '--with', to, '--headless', '--', ...unsafe(to));
    const { body } = await desk.model.asked(0);
    console.log(`${from} to ${to}: first request ${Math.round(performance.now() - began)} ms after "atlas resume"`);
    expect((await resumed).code).toBe(0);
    for (const known of ['<atlas-recovery>', 'Rename the lexer', 'lexer.ts', 'What To Do Now'])
      expect(body).toContain(known);
    const sessions = await desk.sessions(folder);
    expect(sessions.map(({ host }) => host).sort()).toEqual([from, to].sort());
    // The work is the other's now: nobody is asked to resume it again.
    expect(sessions.find(({ host }) => host === from)?.task_state).toBe('closed');
  });
});

/** What an agent needs to run without a terminal. */
function unsafe(agent: RealAgent): readonly string[] {
  if (agent !== 'codex') return [];
  const bypass = ['--dangerously-bypass-approvals-and-sandbox', '--dangerously-bypass-hook-trust'];
  return ['--skip-git-repo-check', ...bypass];
}
