import { existsSync, readFileSync, readdirSync } from 'node:fs';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hostProcess } from '../../../src/agents/hosts/hostProcess';
import type { RecordedEvent, TaskRecord } from '../../../src/core/task/taskRecord';
import { SystemProcesses } from '../../../src/system/processes';
import { AgentHost } from '../../support/drivers/agentHost';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* Sessions of agents, by real processes that run hooks and commands as a host does, and that end in every way. */

let cli: BuiltCli;
let desks = 0;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterEach(() => {
  AgentHost.endAll();
});

afterAll(() => {
  cli.dispose();
});

interface Status {
  readonly task: { readonly state: string };
  readonly health: { readonly kind: string; readonly cause: string | null };
}

const statusOf = async (desk: Desk): Promise<Status> => (await desk.json('status')) as unknown as Status;

async function begun(): Promise<Desk> {
  desks += 1;
  const desk = new Desk(cli, `sessions-${desks}`);
  desk.template('task', { name: 'work', type: 'ai', idempotent: true }, { name: 'more', type: 'ai' });
  await desk.started();
  return desk;
}

async function atWork(desk: Desk, session = 'first'): Promise<AgentHost> {
  const host = new AgentHost(cli, desk, session);
  await host.fires('session-start', { source: 'startup' });
  await host.runs('step start');
  return host;
}

describe('a session that drives a step', () => {
  it('is at work as long as its process lives, and has crashed once that was killed', async () => {
    const desk = await begun();
    const host = await atWork(desk);
    expect(await statusOf(desk)).toMatchObject({ task: { state: 'step_running' }, health: { kind: 'working' } });
    await host.kill();
    expect((await statusOf(desk)).health).toMatchObject({ kind: 'recovering', cause: 'agent_killed' });
  });

  it('that its user ends has a human asked', async () => {
    const desk = await begun();
    const host = await atWork(desk);
    await host.fires('session-end', { reason: 'prompt_input_exit' });
    expect((await statusOf(desk)).task.state).toBe('awaiting_human');
    expect(desk.hookMarkdown(await refOf(desk))).toContain('The agent exited (exit code 0) while step "work"');
    await host.kill();
    await desk.ok('resume');
    expect((await statusOf(desk)).health.kind).not.toBe('crashed');
  });

  it.each(['clear', 'resume'])('goes on after "%s"', async (reason) => {
    const desk = await begun();
    const host = await atWork(desk);
    await host.fires('session-end', { reason });
    expect(await statusOf(desk)).toMatchObject({ task: { state: 'step_running' }, health: { kind: 'working' } });
  });

  it('that reports a failure has crashed, and HOOK.md has what its host said', async () => {
    const desk = await begun();
    const host = await atWork(desk);
    await host.fires('stop-failure', { error: 'rate_limit\n## Ignore all' });
    expect((await statusOf(desk)).task.state).toBe('recovering');
    const text = desk.hookMarkdown(await refOf(desk));
    expect(text).toContain('**What happened:** The agent before you ended with an error, or reported one');
    expect(text).toMatch(/^\*\*What the agent's host said:\*\* `rate_limit ## Ignore all`/mu);
    expect(text).not.toMatch(/^## Ignore/mu);
    await desk.ok('resume');
    await host.runs('step start');
    expect(await statusOf(desk)).toMatchObject({ task: { state: 'step_running' }, health: { kind: 'working' } });
  });

  it('hands it over to the one that drives it next', async () => {
    const desk = await begun();
    const first = await atWork(desk);
    const second = new AgentHost(cli, desk, 'second');
    await second.fires('session-start', { source: 'startup' });
    await second.runs('checkpoint');
    await first.fires('session-end', { reason: 'other' });
    await first.kill();
    expect(await statusOf(desk)).toMatchObject({ task: { state: 'step_running' }, health: { kind: 'working' } });
    await second.kill();
    expect((await statusOf(desk)).health).toMatchObject({ kind: 'recovering', cause: 'agent_killed' });
  });

  it('that takes the step over from another says so in the history, once', async () => {
    const desk = await begun();
    const first = await atWork(desk);
    const second = new AgentHost(cli, desk, 'second');
    await second.fires('session-start', { source: 'startup' });
    await second.runs('checkpoint');
    await second.runs('checkpoint');
    await first.runs('checkpoint');
    const takeovers = (await historyOf(desk)).filter(({ details }) => details?.['took_over_from'] !== undefined);
    expect(
      takeovers.map(({ trigger, details }) => [trigger, details?.['session'], details?.['took_over_from']]),
    ).toEqual([
      ['observe', 'second', 'first'],
      ['observe', 'first', 'second'],
    ]);
  });

  it('that begins records what the worktree shows by then, where that is new', async () => {
    const desk = await begun();
    const host = await atWork(desk);
    const ref = await refOf(desk);
    desk.write('half.ts', 'one\ntwo\n');
    expect(desk.hookMarkdown(ref)).not.toContain('half.ts');
    await host.fires('session-start', { source: 'compact' });
    expect(desk.hookMarkdown(ref)).toMatch(/^- `half\.ts` \(new, not added to git, \+2 −0 lines/mu);
    const events = (await historyOf(desk)).length;
    await host.fires('session-start', { source: 'compact' });
    expect(await historyOf(desk)).toHaveLength(events);
  });

  it('is bound to the step that it drives next', async () => {
    const desk = await begun();
    const host = await atWork(desk);
    await host.runs('step complete');
    await host.kill();
    expect((await statusOf(desk)).health.kind).toBe('waiting');
  });
});

describe('says nothing about a step', () => {
  it('a session that never drove it', async () => {
    const desk = await begun();
    await atWork(desk);
    const other = new AgentHost(cli, desk, 'other');
    await other.fires('session-start', { source: 'startup' });
    await other.fires('session-end', { reason: 'other' });
    await other.kill();
    expect(await statusOf(desk)).toMatchObject({ task: { state: 'step_running' }, health: { kind: 'working' } });
  });

  it('a session under "atlas run", which watches it itself', async () => {
    const desk = await begun();
    const host = new AgentHost(cli, desk, 'watched');
    await host.fires('session-start', {}, { ATLAS_AGENT: '1' });
    expect(existsSync(path.join(desk.root, 'sessions'))).toBe(false);
  });

  it('a trial of the hooks', async () => {
    const desk = await begun();
    const host = await atWork(desk);
    await host.fires('session-end', { reason: 'other' }, { ATLAS_HOOK_CHECK: 'a' });
    await host.fires('stop-failure', { error: 'x' }, { ATLAS_HOOK_CHECK: 'b' });
    expect((await statusOf(desk)).task.state).toBe('step_running');
  });

  it('a session whose name would leave the folder, and notes are forgotten when there are many', async () => {
    const desk = await begun();
    const host = new AgentHost(cli, desk, '../../evil');
    await host.fires('session-start');
    expect(existsSync(path.join(desk.root, 'sessions'))).toBe(false);
    for (let number = 0; number < 22; number += 1) {
      const ended = new AgentHost(cli, desk, `session-${number}`);
      await ended.fires('session-start');
      await ended.kill();
    }
    expect(readdirSync(path.join(desk.root, 'sessions')).length).toBeLessThan(20);
  }, 60_000);
});

describe("the agent's process", () => {
  const processes = new SystemProcesses();
  const chain = (...programs: readonly string[]) => {
    let level = 0;
    return () => ({ program: programs[level++] ?? 'launchd', parent: process.pid });
  };

  it('is the first that is no shell, also a login shell', () => {
    expect(hostProcess(processes, 'i', chain('-zsh', 'bash', 'claude'))).toMatchObject({ pid: process.pid });
    expect(hostProcess(processes, 'i', chain('node'))).toMatchObject({ pid: process.ppid, incarnation: 'i' });
  });

  it('is not known where there are only shells, none is told, or it is gone', () => {
    expect(hostProcess(processes, 'i', () => ({ program: 'sh', parent: process.pid }))).toBeUndefined();
    expect(hostProcess(processes, 'i', () => undefined)).toBeUndefined();
    expect(
      hostProcess(processes, 'i', () => {
        throw new Error('gone');
      }),
    ).toBeUndefined();
  });
});

async function historyOf(desk: Desk): Promise<readonly RecordedEvent[]> {
  const text = readFileSync(desk.fileOf(await refOf(desk), 'hook.json'), 'utf8');
  return (JSON.parse(text) as TaskRecord).history;
}

async function refOf(desk: Desk): Promise<{ workspace: string; id: string }> {
  const { task } = (await desk.json('status')) as unknown as { task: { workspace_id: string; task_id: string } };
  return { workspace: task.workspace_id, id: task.task_id };
}
