import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RealAgent } from '../support/agents/install';
import { ObservedDesk, type ShownSession } from '../support/agents/observedDesk';
import type { Turn } from '../support/agents/scriptedModel';
import { TerminalProgram } from '../support/agents/terminal';
import { REAL_AGENTS_HERE } from '../support/agents/agentsHere';

/* Real agents in a terminal, where they ask their user: what is told of a session that nobody kills. */

interface InTerminal {
  /** Lets it work in a folder, and ask before it runs a command. */
  readonly allow: (home: string, folder: string) => void;
  readonly flags: (request: string) => readonly string[];
  /** What it shows when it asks. */
  readonly asks: string;
}

function editJson(file: string, edit: (known: Record<string, unknown>) => Record<string, unknown>): void {
  writeFileSync(file, JSON.stringify(edit(JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>)));
}

const IN_TERMINAL: Readonly<Record<RealAgent, InTerminal>> = {
  codex: {
    allow: (home, folder) => {
      const trusted = `\n[projects."${folder}"]\ntrust_level = "trusted"\n`;
      appendFileSync(path.join(home, '.codex', 'config.toml'), trusted);
    },
    flags: (request) => [
      '--dangerously-bypass-hook-trust',
      ...['--ask-for-approval', 'on-request', '--sandbox', 'read-only', request],
    ],
    asks: 'Would you like to run the following command?',
  },
  claude: {
    allow: (home, folder) => {
      const trusted = { [folder]: { hasTrustDialogAccepted: true, hasCompletedProjectOnboarding: true } };
      const key = { approved: ['x'], rejected: [] };
      editJson(path.join(home, '.claude.json'), (known) => ({
        ...known,
        ...{ theme: 'dark', customApiKeyResponses: key, projects: trusted },
      }));
    },
    flags: (request) => ['--permission-mode', 'default', request],
    asks: 'Do you want to proceed?',
  },
  opencode: {
    allow: (home) => {
      const file = path.join(home, '.config', 'opencode', 'opencode.json');
      editJson(file, (known) => ({ ...known, permission: { bash: 'ask' } }));
    },
    flags: (request) => ['--prompt', request],
    asks: 'Permission required',
  },
};

/** OpenCode draws for half a minute before it asks on a busy machine: it is started in a terminal where it is asked for by name. */
const HERE = REAL_AGENTS_HERE.filter((agent) => agent === 'codex' || process.env['ATLAS_REAL_AGENTS'] !== undefined);

describe.runIf(process.platform === 'linux').each(HERE)('a session of %s in a terminal', (agent) => {
  let desk: ObservedDesk;

  beforeAll(async () => {
    desk = await ObservedDesk.open([agent]);
    await desk.observe(agent, '--transcripts');
  });
  afterAll(async () => {
    await desk.dispose();
  });

  function start(folder: string, request: string, turns: readonly Turn[]): TerminalProgram {
    const { allow, flags } = IN_TERMINAL[agent];
    allow(desk.cli.home, folder);
    desk.model.play(turns);
    const env = desk.agents.environment({ ATLAS_HOME: desk.cli.root });
    return TerminalProgram.start([desk.agents.program(agent), ...flags(request)], { cwd: folder, env });
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
      await terminal.shows(IN_TERMINAL[agent].asks);
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

  it.runIf(agent === 'codex')('that was allowed says that the command ran', async () => {
    const folder = desk.repository();
    const terminal = start(folder, 'Touch the file', [{ run: 'touch asked.txt', escalated: true }, { text: 'Done.' }]);
    try {
      await terminal.shows(IN_TERMINAL[agent].asks);
      await shownAs(folder, 'waiting_permission');
      terminal.type('y');
      const idle = await shownAs(folder, 'idle');
      expect(idle.markdown).toMatch(/- `touch asked\.txt`: exit code 0/u);
      expect(idle.session).toMatchObject({ task_state: 'open', files_changed: 1 });
    } finally {
      await terminal.kill();
    }
  });

  it.runIf(agent === 'codex')(
    'that is idle overnight, also while the laptop sleeps, is neither quiet nor interrupted',
    async () => {
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
    },
  );
});
