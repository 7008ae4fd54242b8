import { once } from 'node:events';
import { existsSync, readFileSync, watch, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { HUMAN_EVENTS } from '../../../src/core/transition/states';
import { TOOLS } from '../../../src/cli/mcp/tools';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk, type DeskStep } from '../../support/drivers/cliDesk';
import { isRunning, signalProcess } from '../../support/drivers/commandRuns';
import { McpAgent, NEEDED } from '../../support/drivers/mcpAgent';

/* What the tools of `atlas mcp` do with the inbox, with arguments of any kind, and with a client that changes its mind. */

let cli: BuiltCli;
beforeAll(async () => {
  cli = await BuiltCli.open();
}, 120_000);
afterAll(() => {
  cli.dispose();
});

/** Runs a story with an agent whose host has a server in a desk's folder. */
async function withAgent(
  name: string,
  story: (agent: McpAgent, desk: Desk) => Promise<void>,
  env: Readonly<Record<string, string>> = {},
): Promise<void> {
  const desk = new Desk(cli, name);
  const agent = await McpAgent.open(cli, desk.how({ env }));
  try {
    await story(agent, desk);
  } finally {
    await agent.close();
  }
}

interface Item {
  readonly status: string;
  readonly sender: string;
  readonly response_summary: string | null;
  readonly claimed_by: string | null;
}

async function items(desk: Desk): Promise<Item[]> {
  return (await desk.json('inbox', 'list', '--status', 'all'))['items'] as Item[];
}

/** Resolves once a file is there, and gives what it holds. */
async function written(file: string): Promise<string> {
  const text = (): string => (existsSync(file) ? readFileSync(file, 'utf8') : '');
  return new Promise((resolve) => {
    const watcher = watch(path.dirname(file), () => look());
    const look = (): void => {
      if (!text().endsWith('\n')) return;
      watcher.close();
      resolve(text());
    };
    look();
  });
}

describe.concurrent('the inbox', { timeout: 60_000 }, () => {
  it('gives an item to one agent, who says what came of it', async () => {
    await withAgent('inbox', async (agent, desk) => {
      expect(await agent.done('get_next_task')).toBe('The agent queue is empty.\n');
      await desk.ok('inbox', 'add', 'Was it paid?', '--trigger', 'email', '--session', 'asker-1');
      const text = await agent.done('get_next_task', { lease: '2h' });
      expect(text).toMatch(
        /^Item 1 from trigger:email on email, added \S+\. Complete it with task_complete, task_id 1\./u,
      );
      expect(text).toMatch(/\n\n {2}Was it paid\?\n$/u);
      // The server's process has it: nobody else gets it, and the agent itself gets it again.
      expect(await desk.ok('inbox', 'next', '--session', 'other')).toBe('The agent queue is empty.\n');
      expect(await agent.done('get_next_task')).toContain("You haven't completed item 1 yet");
      expect(await agent.done('task_complete', { task_id: 1, response_summary: '-' })).toBe('Item 1 is done.\n');
      expect(await items(desk)).toMatchObject([{ status: 'done', response_summary: '-' }]);
      expect(existsSync(path.join(desk.root, 'workspaces', 'inbox', '.wake-email-1'))).toBe(true);
    });
  });

  it('knows the session by what its host set, so that its shell may complete the item', async () => {
    const env = { CLAUDE_CODE_SESSION_ID: 'session-1' };
    await withAgent(
      'session',
      async (agent, desk) => {
        await desk.ok('inbox', 'add', 'look');
        expect(await agent.done('get_next_task')).toContain('Item 1 from human');
        expect(await items(desk)).toMatchObject([{ status: 'processing', claimed_by: 'session-1' }]);
        const other = await desk.runWith(
          { env: { CLAUDE_CODE_SESSION_ID: 'session-2' } },
          'inbox',
          'complete',
          '1',
          'x',
        );
        expect(other.err).toContain('another session');
        expect(await desk.runWith({ env }, 'inbox', 'complete', '1', 'done')).toMatchObject({ code: 0 });
      },
      env,
    );
  });

  it('takes an item back from an agent whose server is gone', async () => {
    const desk = new Desk(cli, 'gone');
    await desk.ok('inbox', 'add', 'look');
    const first = await McpAgent.open(cli, desk.how());
    await first.done('get_next_task');
    await first.close();
    await withOther(desk, async (other) => {
      expect(await other.done('get_next_task')).toContain('Item 1 from human');
    });
  });

  it("refuses to complete another's item, or what there isn't", async () => {
    await withAgent('others', async (agent, desk) => {
      await desk.ok('inbox', 'add', 'look');
      expect(await agent.refused('task_complete', NEEDED['task_complete'])).toContain('illegal_transition');
      expect(await agent.refused('task_complete', { task_id: 9, response_summary: 'x' })).toContain('not_found');
      await withOther(desk, async (other) => {
        await other.done('get_next_task');
        expect(await agent.refused('task_complete', NEEDED['task_complete'])).toContain('stale_caller');
        await other.done('task_complete', NEEDED['task_complete']);
      });
    });
  });

  it("never takes what an agent asks for as a human's wish", async () => {
    await withAgent('asked', async (agent, desk) => {
      expect(await agent.done('inbox_add', { content: 'one', channel: 'chat' })).toMatch(/^Added item 1 /u);
      expect(await agent.refused('inbox_add', { content: 'x', sender: 'human' })).toContain('sender');
      expect(await agent.refused('inbox_add', { content: ' ' })).toContain('usage');
      expect(await agent.refused('inbox_add', { content: 'x', workspace: '../..' })).toContain('invalid_name');
      expect(await items(desk)).toMatchObject([{ sender: 'agent:test-agent', status: 'pending' }]);
    });
    for (const name of ['human', 'trigger:email', '\u202enamuh\n']) {
      const desk = new Desk(cli, `named ${name.length}`);
      const agent = await McpAgent.open(cli, desk.how(), name);
      await agent.done('inbox_add', { content: 'look' });
      await agent.close();
      const [item] = await items(desk);
      expect(item?.sender, name).toMatch(/^agent:[a-z:]+$/u);
    }
  });
});

async function withOther(desk: Desk, use: (other: McpAgent) => Promise<void>): Promise<void> {
  const other = await McpAgent.open(cli, desk.how());
  try {
    await use(other);
  } finally {
    await other.close();
  }
}

describe.concurrent('a call', { timeout: 60_000 }, () => {
  it('with wrong arguments is refused by every tool, which says which are wrong', async () => {
    await withAgent('wrong', async (agent, desk) => {
      await desk.ok('start', 'Fix it', '--template', 'task');
      for (const { name, input } of TOOLS) {
        const good = NEEDED[name] ?? {};
        expect(await agent.refused(name, { ...good, nonsense: 1 }), name).toContain('nonsense');
        expect(await agent.refused(name, { ...good, workspace: { a: 1 } }), name).toContain('workspace');
        for (const key of Object.keys(input.shape)) {
          const wrong = key === 'attempt' || key === 'task_id' ? 1.5 : Number.MAX_SAFE_INTEGER;
          expect(await agent.refused(name, { ...good, [key]: wrong }), `${name} ${key}`).toContain(key);
        }
        for (const key of Object.keys(good)) {
          const { [key]: _left, ...rest } = good;
          expect(await agent.refused(name, rest), `${name} without ${key}`).toContain(key);
        }
      }
      expect(await desk.state()).toBe('step_pending');
      expect(await items(desk)).toEqual([]);
    });
  });

  it('never approves, rejects, abandons or overrules, whatever it says', async () => {
    await withAgent('human', async (agent, desk) => {
      desk.template('reviewed', { name: 'look', type: 'human' }, { name: 'next' });
      await desk.ok('start', 'Look', '--template', 'reviewed');
      await agent.done('atlas_start_step');
      const state = await desk.state();
      expect(state).toBe('awaiting_human');
      const names = ['approve', 'reject', 'resume', 'abandon', 'fail', 'destroy', 'cancel'];
      for (const name of names.flatMap((each) => [each, `atlas_${each}`, `human_${each}`, `inbox_${each}`])) {
        expect(await agent.refused(name), name).toContain(name);
      }
      const smuggled = [
        ...[{ approve: true }, { action: 'skip_step' }, { force: true }, { yes: true }, { human: true }],
        ...[{ step: '--approve' }, { step: 'look', attempt: 1 }, { task: 'x; atlas approve' }, { caller: 'human' }],
        JSON.parse('{"__proto__":{"action":"skip_step","command":["atlas approve"]}}') as object,
      ];
      for (const { name } of TOOLS) {
        if (name === 'atlas_ask_human' || name === 'inbox_add') continue;
        for (const more of smuggled) await agent.use(name, { ...NEEDED[name], ...more });
        await agent.use(name, NEEDED[name]);
      }
      const raw = async (method: string, params: Record<string, unknown>): Promise<unknown> =>
        agent.client.request({ method, params }, { parse: (value: unknown) => value } as never);
      for (const method of ['atlas/approve', 'approve', 'prompts/get', 'sampling/createMessage', 'tasks/cancel']) {
        await expect(raw(method, { name: 'approve' }), method).rejects.toThrow();
      }
      expect(await desk.state()).toBe(state);
      const said = JSON.stringify(await desk.json('hook', 'export'));
      expect(said).toContain('human_required');
      for (const event of HUMAN_EVENTS) expect(said, event).not.toContain(`"${event}"`);
    });
  });

  it('whose answer is long says where the rest is', async () => {
    await withAgent('long', async (agent, desk) => {
      const long = `${'😀'.repeat(30_000)}end`;
      await desk.runWith({ input: long }, 'inbox', 'add', '-');
      const item = await agent.done('get_next_task');
      expect(item.length).toBeGreaterThan(8900);
      expect(item.length).toBeLessThanOrEqual(9000);
      expect(item).toMatch(/^Item 1 .+ Complete it with task_complete, task_id 1\./u);
      expect(item).not.toMatch(/\p{Surrogate}/u);
      const [, command] =
        /Run "atlas (inbox list --status processing --json)" in a shell to see all of it\.\]\n$/u.exec(item) ?? [];
      expect(await desk.ok(...(command ?? '').split(' '))).toContain('😀end');

      await desk.ok('start', 'Fix it', '--template', 'task');
      await agent.done('atlas_start_step', { prompt: 'a line of the prompt\n'.repeat(2000) });
      for (let n = 0; n < 60; n += 1) await agent.done('atlas_checkpoint', { description: `${n} ${'x'.repeat(190)}` });
      const hook = await agent.done('atlas_read_hook');
      expect(hook.length).toBeLessThanOrEqual(9000);
      const [, file = ''] = /\n\n\[Truncated\. HOOK\.md has all of it: (.+)\]\n$/u.exec(hook) ?? [];
      // What is in the worktree was looked at once more for the answer, maybe a second later.
      const timeless = (text: string): string => text.replaceAll(/\(as of [^)]+\)/gu, '(as of now)');
      const whole = timeless(readFileSync(file, 'utf8'));
      expect(whole.startsWith(timeless(hook.slice(0, hook.lastIndexOf('\n\n[Truncated'))))).toBe(true);
      expect(whole.length).toBeGreaterThan(9000);
    });
  });
});

/** A validation that would run for minutes: it says its process, and goes on. */
function endless(desk: Desk): { step: DeskStep; marker: string } {
  const marker = path.join(desk.folder, 'marker');
  const script = `require('fs').writeFileSync(${JSON.stringify(marker)}, process.pid + '\\n'); setTimeout(() => {}, 600000)`;
  const file = path.join(desk.folder, 'endless.cjs');
  writeFileSync(file, script);
  return { step: { name: 'check', validation: [`"${process.execPath}" "${file}"`] }, marker };
}

async function allowed(desk: Desk): Promise<string> {
  const { step, marker } = endless(desk);
  desk.template('endless', step, { name: 'next' });
  // A human starts it, by which its commands are allowed.
  await desk.ok('start', 'Check', '--template', 'endless');
  return marker;
}

describe.concurrent('a validation that runs', { timeout: 60_000 }, () => {
  it('is ended with its command when the client cancels the call, and the journal says so', async () => {
    await withAgent('cancelled', async (agent, desk) => {
      const marker = await allowed(desk);
      await agent.done('atlas_start_step');
      const cancel = new AbortController();
      const options = { signal: cancel.signal, timeout: 2 ** 31 - 1 };
      const call = agent.client.callTool({ name: 'atlas_validate', arguments: {} }, undefined, options);
      const ended = expect(call).rejects.toThrow(/no longer wanted/u);
      const pid = Number(await written(marker));
      expect(isRunning(pid)).toBe(true);
      cancel.abort(new Error('no longer wanted'));
      await ended;
      // The same server goes on, and says what came of it once the command is gone.
      const after = await stateAfter(agent, desk);
      expect(isRunning(pid)).toBe(false);
      expect(after).toMatchObject({ state: 'awaiting_human', attempt: 1 });
      const hook = await desk.json('hook', 'export');
      expect(JSON.stringify(hook)).toMatch(/was cancelled after/u);
      expect(JSON.stringify(hook)).not.toContain('crash_detected');
      expect(await desk.ok('receipts', 'list')).toMatch(/rcpt-[0-9a-f]+ .*valid/u);
      const doctor = await desk.json('doctor');
      expect(doctor).toMatchObject({ success: true, problems: 0 });
    });
  });

  it('is ended too when the client is gone, which is only to be heard by the end of what it says', async () => {
    const desk = new Desk(cli, 'left');
    const marker = await allowed(desk);
    await desk.ok('step', 'start');
    const server = cli.start(['mcp'], desk.how());
    const say = (message: object): void =>
      void server.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
    const clientInfo = { name: 'test', version: '1' };
    say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    say({ method: 'notifications/initialized' });
    say({ id: 2, method: 'tools/call', params: { name: 'atlas_validate', arguments: {} } });
    const pid = Number(await written(marker));
    server.stdin?.end();
    expect(await once(server, 'exit')).toEqual([0, null]);
    expect(isRunning(pid)).toBe(false);
    expect(JSON.stringify(await desk.json('hook', 'export'))).toMatch(/was cancelled after/u);
    expect(await desk.state()).toBe('awaiting_human');
  });

  it('is ended too when the server is told to end', async () => {
    await withAgent('told', async (agent, desk) => {
      const marker = await allowed(desk);
      await agent.done('atlas_start_step');
      const ended = expect(agent.client.callTool({ name: 'atlas_validate', arguments: {} })).rejects.toThrow(/closed/u);
      const pid = Number(await written(marker));
      signalProcess(agent.pid, 'SIGTERM');
      await ended;
      expect(isRunning(pid)).toBe(false);
      expect(JSON.stringify(await desk.json('hook', 'export'))).toMatch(/was cancelled after/u);
    });
  });
});

/** Where the task stands once nobody validates it any more. */
async function stateAfter(agent: McpAgent, desk: Desk): Promise<{ state: string; attempt: number }> {
  for (;;) {
    const { task } = (await desk.json('status')) as unknown as {
      task: { state: string; step: { attempt: number } };
    };
    if (task.state !== 'step_validating') return { state: task.state, attempt: task.step.attempt };
    await agent.done('atlas_status');
  }
}
