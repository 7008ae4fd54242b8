import { appendFileSync, existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ObservedDesk, type ShownSession } from '../support/agents/observedDesk';
import type { Turn } from '../support/agents/scriptedModel';
import { TerminalProgram } from '../support/agents/terminal';
import { REAL_AGENTS_HERE } from '../support/agents/agentsHere';

/* A real Codex in a terminal, where it asks its user: what is told of a session that nobody kills. */

describe.runIf(REAL_AGENTS_HERE.includes('codex') && process.platform === 'linux')('a session in a terminal', () => {
  let desk: ObservedDesk;

  beforeAll(async () => {
    desk = await ObservedDesk.open(['codex']);
    await desk.observe('codex', '--transcripts');
  });
  afterAll(async () => {
    await desk.dispose();
  });

  function start(folder: string, request: string, turns: readonly Turn[]): TerminalProgram {
    const trusted = `\n[projects."${folder}"]\ntrust_level = "trusted"\n`;
    appendFileSync(path.join(desk.cli.home, '.codex', 'config.toml'), trusted);
    desk.model.play(turns);
    const flags = ['--dangerously-bypass-hook-trust', '--ask-for-approval', 'on-request', '--sandbox', 'read-only'];
    const env = desk.agents.environment({ ATLAS_HOME: desk.cli.root });
    return TerminalProgram.start([desk.agents.program('codex'), ...flags, request], { cwd: folder, env });
  }

  /** Looks until the session does something; the test's limit ends what never does. */
  async function shownAs(folder: string, state: string): Promise<ShownSession> {
    for (;;) {
      const shown = await desk.shown(folder);
      if (shown?.session.state === state) return shown;
    }
  }

  it('waits for a permission; refused by Esc it is idle, and nothing says that the command ran', async () => {
    const folder = desk.repository();
    const terminal = start(folder, 'Touch the file', [{ run: 'touch asked.txt', escalated: true }]);
    try {
      await terminal.shows('Would you like to run the following command?');
      const waiting = await shownAs(folder, 'waiting_permission');
      expect(waiting.markdown).toMatch(/^`\w+` was asked for; it may not have run/mu);
      terminal.type('\u001b');
      const idle = await shownAs(folder, 'idle');
      expect(idle.markdown).not.toContain('Under Way');
      expect(idle.markdown).toMatch(/- `touch asked\.txt`: was asked for; it may not have run/u);
      expect(existsSync(path.join(folder, 'asked.txt'))).toBe(false);
      expect(idle.session).toMatchObject({ task_state: null, files_changed: 0 });
    } finally {
      await terminal.kill();
    }
  });

  it('that was allowed says that the command ran', async () => {
    const folder = desk.repository();
    const terminal = start(folder, 'Touch the file', [{ run: 'touch asked.txt', escalated: true }, { text: 'Done.' }]);
    try {
      await terminal.shows('Would you like to run the following command?');
      await shownAs(folder, 'waiting_permission');
      terminal.type('y');
      const idle = await shownAs(folder, 'idle');
      expect(idle.markdown).toMatch(/- `touch asked\.txt`: exit code 0/u);
      expect(idle.session).toMatchObject({ task_state: 'open', files_changed: 1 });
    } finally {
      await terminal.kill();
    }
  });

  it('that is idle overnight, also while the laptop sleeps, is neither quiet nor interrupted', async () => {
    const folder = desk.repository();
    const terminal = start(folder, 'Say hello', [{ text: 'Hello.' }]);
    try {
      await shownAs(folder, 'idle');
      process.kill(terminal.pid, 'SIGSTOP');
      for (const hours of [1, 8, 30]) expect((await desk.shown(folder, hours))?.session.state).toBe('idle');
      process.kill(terminal.pid, 'SIGCONT');
      expect((await desk.shown(folder, 30))?.session).toMatchObject({ state: 'idle', task_state: null });
      // Whoever closes its terminal now interrupts nothing.
      await terminal.kill();
      expect((await desk.shown(folder))?.session.state).toBe('ended');
    } finally {
      await terminal.kill();
    }
  });
});
