import { chmodSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObservedDesk } from '../support/agents/observedDesk';
import type { Turn } from '../support/agents/scriptedModel';
import { SECRETS } from '../support/fixtures/secrets';
import { REAL_AGENTS_HERE } from '../support/agents/agentsHere';

/* Real agents that are observed: handed over, left alone, without a place for reports, and with secrets. */

const HANG: Turn = { hang: true };
/** What Codex needs without a terminal; untrusted hooks would tell nothing of the session that goes on. */
const CODEX_HEADLESS = [
  '--skip-git-repo-check',
  '--dangerously-bypass-approvals-and-sandbox',
  '--dangerously-bypass-hook-trust',
];
const write = (folder: string, name: string): Turn => ({ write: { path: path.join(folder, name), content: name } });

describe.each(REAL_AGENTS_HERE)('sessions of %s', (agent) => {
  let desk: ObservedDesk;

  beforeAll(async () => {
    desk = await ObservedDesk.open([agent]);
    await desk.observe(agent);
  });
  afterAll(async () => {
    await desk.dispose();
  });

  /** Starts it, and kills it once the model was asked for a turn. */
  async function killedAt(turn: number, request: string, folder: string, turns: readonly Turn[]): Promise<void> {
    const running = desk.start(agent, request, folder, turns);
    const asked = await Promise.race([desk.model.asked(turn), running.ended]);
    expect(asked, running.printed()).toBeDefined();
    running.child.kill('SIGKILL');
    await running.ended;
  }

  it('are handed over: the next agent is first asked with what is known', async () => {
    const folder = desk.repository();
    await killedAt(2, 'Rename the lexer', folder, [write(folder, 'lexer.ts'), { run: 'echo tested' }, HANG]);
    desk.model.play([{ text: 'Understood.' }]);
    const unsafe = agent === 'codex' ? CODEX_HEADLESS : [];
    const began = performance.now();
    const resumed = desk.atlas(folder, 'resume', '--with', agent, '--headless', '--', ...unsafe);
    const { body } = await desk.model.asked(0);
    const took = performance.now() - began;
    expect((await resumed).code).toBe(0);
    for (const known of ['<atlas-recovery>', 'Rename the lexer', 'lexer.ts', 'What To Do Now'])
      expect(body).toContain(known);
    console.log(`${agent}: first request to the model ${Math.round(took)} ms after "atlas resume --with ${agent}"`);
    expect((await desk.shown(folder))?.session.state).not.toBe('interrupted');
  });

  it('that were a question only become no task, and nothing is said of them', async () => {
    const folder = desk.repository();
    const running = desk.start(agent, 'What is 1 + 1?', folder, [{ text: '2' }]);
    await running.ended;
    const shown = await desk.shown(folder);
    expect(shown?.session).toMatchObject({ request: 'What is 1 + 1?', task_state: null, files_changed: 0 });
    expect(['idle', 'ended']).toContain(shown?.session.state);
    const said = await desk.atlas(folder, 'lifecycle', 'session-start', '--host', 'claude');
    expect(said.out).not.toContain('What is 1 + 1');
  });

  it('with changes that are committed are closed, and wait where they are not', async () => {
    const folder = desk.repository();
    await desk.start(agent, 'Add a file', folder, [write(folder, 'new.ts'), { text: 'Added.' }]).ended;
    expect((await desk.shown(folder))?.session.task_state).toBe('waiting');
    desk.git(folder, 'add', '.');
    desk.git(folder, 'commit', '-qm', 'by the user');
    expect((await desk.shown(folder))?.session.task_state).toBe('closed');
  });

  it.each([
    ['in CI', { CI: 'true' }],
    ['under "atlas run"', { ATLAS_AGENT: 'codex' }],
  ])('%s become no task', async (_where, env: Readonly<Record<string, string>>) => {
    const folder = desk.repository();
    await desk.start(agent, 'Add a file', folder, [write(folder, 'new.ts')], env).ended;
    expect((await desk.shown(folder))?.session).toMatchObject({ task_state: null, files_changed: 1 });
  });

  it('without a terminal become no task unless the user wants that', async () => {
    const folder = desk.repository();
    desk.configure((text) => text.replace('headless: true', 'headless: false'));
    try {
      await desk.start(agent, 'Add a file', folder, [write(folder, 'new.ts')]).ended;
      const shown = await desk.shown(folder);
      // Codex's hooks don't tell; its rollout does, which nobody allowed to read here.
      if (agent !== 'codex') expect(shown?.session.task_state).toBeNull();
      expect(shown?.session.request).toBe('Add a file');
    } finally {
      desk.configure((text) => text.replace('headless: false', 'headless: true'));
    }
  });

  it('keep no secret once they were looked at: in no file of the store, and in no answer', async () => {
    const folder = desk.repository();
    const all = SECRETS.map(({ text }) => text).join('\n');
    writeFileSync(path.join(folder, 'secrets.txt'), all);
    const turns: Turn[] = [
      {
        run: `true ${SECRETS.filter(({ text }) => !text.includes('\n'))
          .map(({ text }) => `'${text}'`)
          .join(' ')}`,
      },
      { run: 'cat secrets.txt' },
      { write: { path: path.join(folder, '.env'), content: all } },
      { text: `Found: ${all}` },
    ];
    await desk.start(agent, `Use these:\n${all}`, folder, turns).ended;
    const shown = await desk.shown(folder);
    expect(shown?.markdown).toContain('Use these:');
    const stored = [...desk.stored()].filter(([file]) => !file.startsWith('parts'));
    for (const { kind, secret } of SECRETS) {
      expect(shown?.markdown, kind).not.toContain(secret);
      expect(
        stored.filter(([, text]) => text.includes(secret)).map(([file]) => file),
        kind,
      ).toEqual([]);
    }
  });

  it('are no longer observed where tracking is off: what waits is gone, and nothing is written', async () => {
    const folder = desk.repository();
    desk.configure((text) => text.replace('track: true', 'track: false'));
    try {
      await desk.atlas(folder, 'sessions', 'list');
      expect(existsSync(path.join(desk.cli.root, 'observed'))).toBe(false);
      const running = desk.start(agent, 'Unobserved', folder, [write(folder, 'new.ts')]);
      await running.ended;
      expect(running.child.exitCode, running.printed()).toBe(0);
      expect(existsSync(path.join(desk.cli.root, 'observed'))).toBe(false);
      for (const [file, text] of desk.stored()) expect(text, file).not.toContain('Unobserved');
    } finally {
      desk.configure((text) => text.replace('track: false', 'track: true'));
      mkdirSync(path.join(desk.cli.root, 'observed'), { mode: 0o700 });
    }
  });

  it.each([
    [
      'the folder for reports is a file',
      () => {
        const observed = path.join(desk.cli.root, 'observed');
        rmSync(observed, { recursive: true });
        writeFileSync(observed, '');
        return () => {
          rmSync(observed);
          mkdirSync(observed, { mode: 0o700 });
        };
      },
    ],
    [
      'nobody may write there',
      () => {
        const observed = path.join(desk.cli.root, 'observed');
        chmodSync(observed, 0o500);
        return () => chmodSync(observed, 0o700);
      },
    ],
    [
      'the store is gone',
      () => {
        renameSync(desk.cli.root, `${desk.cli.root}.away`);
        return () => {
          rmSync(desk.cli.root, { recursive: true, force: true });
          renameSync(`${desk.cli.root}.away`, desk.cli.root);
        };
      },
    ],
  ] as const)('notice nothing where %s', async (_what, breakIt) => {
    const folder = desk.repository();
    const restore = breakIt();
    try {
      const running = desk.start(agent, 'Add a file', folder, [write(folder, 'new.ts'), { text: 'All done here.' }]);
      await running.ended;
      expect(running.child.exitCode, running.printed()).toBe(0);
      expect(running.printed()).toContain('All done here.');
      expect(running.printed()).not.toMatch(/observe|atlas-task|hook.*(?:failed|error)/iu);
      expect(readFileSync(path.join(folder, 'new.ts'), 'utf8')).toBe('new.ts');
    } finally {
      restore();
    }
  });

  // Only Claude Code asks the model to review a subagent; what Codex says of its compactions is in sessionLife.test.ts.
  it.runIf(agent === 'claude')(
    'that compact are told of it, and no review of a subagent is asked of the model',
    async () => {
      const folder = desk.repository();
      expect((await desk.atlas(folder, 'lifecycle', 'install', '--host', 'claude', '--yes', '--hooks-only')).code).toBe(
        0,
      );
      await desk.start(agent, 'Say hello', folder, [{ text: 'Hello.' }]).ended;
      const id = (await desk.shown(folder))?.session.session_id ?? '';
      desk.model.play([]);
      const how = { folder, env: { ATLAS_HOME: desk.cli.root }, args: ['--resume', id] };
      const compacting = desk.agents.start(agent, '/compact', how);
      await compacting.ended;
      expect(compacting.child.exitCode, compacting.printed()).toBe(0);
      expect(desk.model.requests.length).toBeGreaterThan(0);
      for (const { body } of desk.model.requests) expect(body).not.toContain('SUBAGENT RESULT REVIEW');
      const shown = await desk.shown(folder);
      expect(shown?.session).toMatchObject({ session_id: id, request: 'Say hello' });
      expect(shown?.markdown).toContain('Summary by the scripted model');
    },
  );

  // What Codex runs ends with it.
  it.runIf(agent !== 'codex')(
    'that died name what they left running, and it ends only after somebody said so',
    async () => {
      const folder = desk.repository();
      const loop = `touch up; ${agent === 'claude' ? 'while :; do sleep 1; done' : 'exec sleep 600'}`;
      const running = desk.start(agent, 'Start the server', folder, [write(folder, 'a.ts'), { run: loop }]);
      await Promise.race([desk.model.asked(1), running.ended]);
      // Hosts tell of a command before they start it.
      const isUp = (): boolean => existsSync(path.join(folder, 'up'));
      for (
        let shown = await desk.shown(folder);
        !shown?.markdown.includes(loop) || !isUp();
        shown = await desk.shown(folder)
      )
        expect(running.child.exitCode, running.printed()).toBeNull();
      running.child.kill('SIGKILL');
      await running.ended;
      const shown = await desk.shown(folder);
      expect(shown?.processes).toHaveLength(1);
      expect(shown?.markdown).toContain('still runs');
      const id = shown?.session.session_id ?? '';
      const refused = await desk.atlas(folder, 'resume', '--with', agent, '--headless');
      expect(refused.code).toBe(2);
      expect(refused.err).toContain('left running');
      expect((await desk.atlas(folder, 'sessions', 'end-processes', id)).code).toBe(2);
      const pid = shown?.processes[0]?.pid ?? 0;
      expect(existsSync(`/proc/${pid}`)).toBe(true);
      expect((await desk.atlas(folder, 'sessions', 'end-processes', id, '--yes')).code).toBe(0);
      while ((await desk.shown(folder))?.processes.length !== 0) expect(existsSync(desk.cli.root)).toBe(true);
      expect((await desk.shown(folder))?.processes).toEqual([]);
    },
  );
});
