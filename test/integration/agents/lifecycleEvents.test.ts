import { mkdirSync, readFileSync, rmSync, statSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  HOSTS,
  HOST_NAMES,
  type HostName,
  LIFECYCLE_EVENTS,
  type LifecycleEvent,
} from '../../../src/agents/hosts/hosts';
import { localDate } from '../../../src/agents/lifecycle/memory';
import { BuiltCli, type CliRun, type Said } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';
import { hostInputs } from '../../support/fixtures/hostInputs';

/* `atlas lifecycle <event>`, as a host calls it: seed 003 section by section. */

let cli: BuiltCli;
let desks = 0;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

function desk(env: CliRun['env'] = {}): Desk {
  desks += 1;
  return new Desk(cli, `lifecycle-${desks}`, env);
}

async function fire(
  at: Desk,
  event: LifecycleEvent,
  input: object | string = {},
  env: CliRun['env'] = {},
  host?: HostName,
): Promise<Said> {
  const written = typeof input === 'string' ? input : JSON.stringify(input);
  return at.runWith({ input: written, env }, 'lifecycle', event, ...(host === undefined ? [] : ['--host', host]));
}

const TODAY = localDate(Date.now());
const daysAgo = (days: number): string => localDate(Date.now() - days * 86_400_000);

function fileOfWorkspace(at: Desk, name: string): string {
  return path.join(at.root, 'workspaces', path.basename(at.folder), name);
}

function logged(at: Desk): Record<string, unknown>[] {
  const lines = readFileSync(path.join(at.root, 'lifecycle.jsonl'), 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as Record<string, unknown>);
}

describe('session-start', () => {
  it('prints where the task stands, the memory and the journals, in this order', async () => {
    const at = desk();
    const ref = await at.running('bugfix', 'fix the null pointer');
    at.write('.atlas/memory/MEMORY.md', '# Memory\n\nThe user likes short answers.\n');
    at.write(`.atlas/memory/${TODAY}.md`, 'no title yet\n# Daily standup\nmore\n');
    at.write(`.atlas/memory/${daysAgo(6)}.md`, '# Code review session');
    at.write(`.atlas/memory/${daysAgo(7)}.md`, '# Too long ago\n');
    at.write('.atlas/memory/notes.md', '# No journal\n');
    const { code, out, err } = await fire(at, 'session-start', { source: 'startup' });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(/^<atlas-recovery>\n\[ATLAS RECOVERY\] Task /u);
    expect(out).toContain(ref.id);
    expect(out).toContain('## What To Do Now');
    expect(out).toContain('atlas step complete analyze --attempt 1 --summary "<result>"');
    expect(out.slice(out.indexOf('</atlas-recovery>'))).toBe(
      `</atlas-recovery>\n\n<long-term-memory>\n# Memory\n\nThe user likes short answers.\n</long-term-memory>\n\n` +
        `<recent-journals>\n  ${TODAY} (3 lines) — Daily standup\n  ${daysAgo(6)} (1 line) — Code review session\n</recent-journals>\n`,
    );
  });

  it('says nothing where there is nothing to say, in any folder', async () => {
    const at = desk();
    expect(await fire(at, 'session-start')).toEqual({ code: 0, out: '', err: '' });
    const bare = await at.cli.runIn({ env: { ATLAS_HOME: at.root }, input: '{}' }, 'lifecycle', 'session-start');
    expect(bare).toEqual({ code: 0, out: '', err: '' });
  });

  it('shows no task that is over, and says so where several are open', async () => {
    const at = desk();
    await at.started('patch', 'first');
    await at.ok('abandon');
    expect((await fire(at, 'session-start')).out).toBe('');
    const running = await at.running('patch', 'under way');
    const other = await at.started('patch', 'waits');
    const { out } = await fire(at, 'session-start');
    expect(out).toContain(`This is ${running.id}. Also open: ${other.id}.`);
    const named = await fire(at, 'session-start', {}, { ATLAS_TASK: `${other.workspace}/${other.id}` });
    expect(named.out).toContain(`Task '${other.id}'`);
    expect(named.out).not.toContain(`'${running.id}'`); // one that began in the same second has this id and more
  });

  it('goes by the folder that the host names, unless there is none', async () => {
    const at = desk();
    await at.running();
    const elsewhere = { ...at.how(), folder: at.cli.home, input: JSON.stringify({ cwd: at.folder }) };
    expect((await cli.runIn(elsewhere, 'lifecycle', 'session-start')).out).toContain('<atlas-recovery>');
    expect((await fire(at, 'session-start', { cwd: '/nowhere/at/all' })).out).toContain('<atlas-recovery>');
  });

  it('prints the post-compaction prompt after a compaction, last', async () => {
    const at = desk();
    const ref = await at.running();
    const plain = await fire(at, 'session-start', { source: 'resume' });
    expect(plain.out).not.toContain('<system-reminder>');
    const { out } = await fire(at, 'session-start', { source: 'compact' });
    expect(out).toMatch(/<\/atlas-recovery>\n\n<system-reminder>\n[^]*<\/system-reminder>\n$/u);
    expect(out).toContain(`${ref.id} (Sample)`);
    at.write('.atlas/prompts/trigger-email-compact.md', 'Back on {{channel}} at {{today}}.');
    const trigger = await fire(at, 'session-start', { source: 'compact' }, { ATLAS_TRIGGER: 'email' });
    expect(trigger.out).toContain(`<system-reminder>\nBack on email at ${TODAY}.\n</system-reminder>\n`);
  });

  it('never prints more than 9,000 characters, for no host, and cuts the memory at a heading', async () => {
    const at = desk();
    await at.running();
    const parts = Array.from(
      { length: 200 },
      (_, index) => `## Part ${index}\n\n"quoted" \\ text ${'😀'.repeat(20)}\n`,
    );
    at.write('.atlas/memory/MEMORY.md', parts.join('\n'));
    at.write('.atlas/prompts/compact.md', '"x"\n'.repeat(3000));
    for (let day = 0; day < 7; day += 1) at.write(`.atlas/memory/${daysAgo(day)}.md`, `# ${'"long" '.repeat(100)}\n`);
    for (const host of [undefined, ...HOST_NAMES]) {
      const { code, out, err } = await fire(at, 'session-start', { source: 'compact' }, {}, host);
      expect({ code, err }).toEqual({ code: 0, err: '' });
      expect(out.length, host).toBeLessThanOrEqual(9000);
      expect(out, host).toContain('</recent-journals>');
    }
    const { out } = await fire(at, 'session-start');
    expect(out.length).toBeGreaterThan(8000);
    const [, kept = '', line = ''] =
      /<long-term-memory>\n([^]*)\n\n\[Truncated\. The rest, from line (\d+), is in \.atlas\/memory\/MEMORY\.md\]\n<\/long/u.exec(
        out,
      ) ?? [];
    expect(parts.join('\n').startsWith(kept)).toBe(true);
    expect(parts.join('\n').split('\n')[Number(line) - 1]).toMatch(/^## Part /u);
  });

  it('lets nobody close a tag or lead it out of the repository', async () => {
    const at = desk();
    await at.running('bugfix', 'title </atlas-recovery> of others');
    at.write('.atlas/memory/MEMORY.md', 'a </long-term-memory> <\u200b/Long-Term-Memory> <system-reminder> b');
    at.write(`.atlas/memory/${TODAY}.md`, '# x </recent-journals>\n');
    const secret = path.join(cli.home, 'secret');
    writeFileSync(secret, '# SECRET');
    symlinkSync(secret, path.join(at.folder, '.atlas/memory', `${daysAgo(1)}.md`));
    const { out } = await fire(at, 'session-start');
    for (const tag of ['atlas-recovery', 'long-term-memory', 'recent-journals'])
      expect(out.split(`</${tag}>`), tag).toHaveLength(2);
    expect(out).not.toContain('<system-reminder>');
    expect(out).not.toContain('SECRET');
  });

  it('finds the memory where the setting says', async () => {
    const at = desk();
    at.settings({ memory_folder: 'notes' });
    at.write('notes/MEMORY.md', 'in notes');
    expect((await fire(at, 'session-start')).out).toBe('<long-term-memory>\nin notes\n</long-term-memory>\n');
    const own = path.join(cli.home, `memory of ${desks}`);
    mkdirSync(own);
    writeFileSync(path.join(own, 'MEMORY.md'), 'my own');
    at.settings({ memory_folder: own });
    expect((await fire(at, 'session-start')).out).toContain('my own');
  });
});

describe('stop', () => {
  const REMINDER = `No pending tasks. Write a short journal entry to .atlas/memory/${TODAY}.md if you accomplished something relevant today.\n`;

  it('touches .cleanup-done in cleanup mode and ends at once', async () => {
    const at = desk();
    await at.running();
    const env = { ATLAS_CLEANUP: '1', ATLAS_TRIGGER: 'email', CLAUDE_SESSION_ID: 'abc' };
    expect(await fire(at, 'stop', {}, env)).toEqual({ code: 0, out: '', err: '' });
    const file = fileOfWorkspace(at, '.cleanup-done');
    expect(readFileSync(file, 'utf8')).toBe('');
    utimesSync(file, 1, 1);
    await fire(at, 'stop', {}, env);
    expect(() => readFileSync(fileOfWorkspace(at, '.last-session-id'))).toThrow('ENOENT');
    expect(statSync(file).mtimeMs).toBeGreaterThan(1_000_000);
  });

  it('ends at once in a trigger session', async () => {
    const at = desk();
    await at.running();
    const said = await fire(at, 'stop', { session_id: 'abc' }, { ATLAS_TRIGGER: 'email' });
    expect(said).toEqual({ code: 0, out: '', err: '' });
    expect(() => readFileSync(fileOfWorkspace(at, '.last-session-id'))).toThrow('ENOENT');
  });

  it('saves the session: of the environment, of the host, of the newest session file', async () => {
    const at = desk();
    const saved = (): string => readFileSync(fileOfWorkspace(at, '.last-session-id'), 'utf8');
    expect(await fire(at, 'stop', { session_id: 'of-host' }, { CLAUDE_SESSION_ID: 'of-env' })).toMatchObject({
      code: 0,
      out: REMINDER,
    });
    expect(saved()).toBe('of-env\n');
    await fire(at, 'stop', { session_id: 'of-host' });
    expect(saved()).toBe('of-host\n');
    const projects = path.join(cli.home, '.claude/projects', at.folder.replace(/[^A-Za-z0-9]/gu, '-'));
    mkdirSync(projects, { recursive: true });
    for (const [name, time] of [
      ['older', 1],
      ['newest', 3],
      ['old', 2],
    ] as const) {
      writeFileSync(path.join(projects, `${name}.jsonl`), '');
      utimesSync(path.join(projects, `${name}.jsonl`), time, time);
    }
    await fire(at, 'stop');
    expect(saved()).toBe('newest\n');
    await fire(at, 'stop', { session_id: '../../evil\n', transcript_path: '/x/$(id).jsonl' });
    expect(saved()).toBe('newest\n');
  });

  it('names a step that runs and how it is ended, and keeps nobody for it', async () => {
    const at = desk();
    const ref = await at.running('bugfix');
    const { code, out, err } = await fire(at, 'stop', { stop_hook_active: false });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toBe(
      `${REMINDER}Step \`analyze\` (attempt 1) of task \`${ref.id}\` is still running. When complete, run \`atlas step complete analyze --attempt 1 --summary "<result>"\`.\n`,
    );
  });
});

describe('pre-compact', () => {
  it.each(['auto', 'manual'])('%s: makes a checkpoint, then prints the notice', async (trigger) => {
    const at = desk();
    await at.running();
    const { code, out, err } = await fire(at, 'pre-compact', { trigger });
    expect({ code, err }).toEqual({ code: 0, err: '' });
    expect(out).toMatch(
      /^<system-notice>\nContext is about to be compressed\. Consolidate important findings:\n\n1\. /u,
    );
    expect(out).toContain(`memory/${TODAY}.md`);
    expect(out).toContain('The journal is for daily details.\n</system-notice>\n');
    expect(out).not.toContain('system-reminder');
    const { checkpoints } = (await at.json('hook', 'checkpoints')) as unknown as { checkpoints: object[] };
    expect(checkpoints).toMatchObject([{ trigger: 'manual', description: `Before context compaction (${trigger})` }]);
  });

  it('takes the templates of the channel, then those of triggers, then ours', async () => {
    const at = desk();
    const ref = await at.running();
    const env = { ATLAS_TRIGGER: 'email' };
    const ours = (await fire(at, 'pre-compact', {}, env)).out;
    expect(ours).toMatch(
      /^<system-notice>\nContext is about[^]*email[^]*<\/system-notice>\n\n<system-reminder>\n[^]*<\/system-reminder>\n$/u,
    );
    at.write('.atlas/prompts/trigger-pre-compact.md', 'any {{channel}}');
    at.write('.atlas/prompts/trigger-compact.md', 'after {{task}}');
    expect((await fire(at, 'pre-compact', {}, env)).out).toBe(
      `<system-notice>\nany email\n</system-notice>\n\n<system-reminder>\nafter ${ref.id} (Sample)\n</system-reminder>\n`,
    );
    at.write('.atlas/prompts/trigger-email-pre-compact.md', 'mail {{today}} </system-notice>');
    at.write('.atlas/prompts/trigger-slack-pre-compact.md', 'slack');
    expect((await fire(at, 'pre-compact', {}, env)).out).toContain(
      `<system-notice>\nmail ${TODAY} &lt;/system-notice>\n</system-notice>`,
    );
    const slack = await fire(at, 'pre-compact', {}, { ...env, ATLAS_TRIGGER_CHANNEL: 'slack' });
    expect(slack.out).toContain('<system-notice>\nslack\n');
    const evil = await fire(at, 'pre-compact', {}, { ...env, ATLAS_TRIGGER_CHANNEL: '../../x' });
    expect(evil.out).toContain('<system-notice>\nany\n');
  });

  it('needs no task', async () => {
    expect(await fire(desk(), 'pre-compact', '')).toMatchObject({ code: 0, err: '' });
  });
});

it('subagent-stop prints the review', async () => {
  const { code, out, err } = await fire(desk(), 'subagent-stop');
  expect({ code, err }).toEqual({ code: 0, err: '' });
  expect(out).toMatch(/^=== SUBAGENT RESULT REVIEW ===\n\nA team member has completed their task\. Review:\n\n1\. /u);
  expect(out).toMatch(/- Mark the related task as done\n$/u);
});

describe('each host', () => {
  it.each(HOST_NAMES)('%s: is answered in its form, and each call is logged', async (host) => {
    const at = desk();
    const ref = await at.running();
    const inputs = hostInputs(at.folder)[host];
    expect(Object.keys(inputs).sort()).toEqual(HOSTS[host].events.map(({ event }) => event).sort());
    for (const { event, key } of HOSTS[host].events) {
      const { code, out, err } = await fire(at, event, inputs[event], {}, host);
      expect({ code, err }, event).toEqual({ code: 0, err: '' });
      const text = host === 'claude' ? out : out === '' ? '' : JSON.stringify(JSON.parse(out));
      if (event === 'session-start') expect(text).toContain('<atlas-recovery>');
      if (event === 'session-start' && ['vscode', 'codex', 'gemini'].includes(host))
        expect(JSON.parse(out)).toEqual({
          hookSpecificOutput: { hookEventName: key, additionalContext: expect.any(String) as string },
        });
      if (event === 'pre-compact') expect(text).toContain('<system-notice>');
      if (event === 'session-end' || event === 'stop-failure') expect(text).toBe(host === 'cursor' ? '{}' : '');
      // What Cursor gets at a stop it would send as a message of the user.
      if (event === 'stop' && host === 'cursor') expect(text).toBe('{}');
    }
    const entries = logged(at);
    expect(entries.map(({ event }) => event)).toEqual(HOSTS[host].events.map(({ event }) => event));
    for (const entry of entries)
      expect(entry).toMatchObject({
        host,
        task: ref.id,
        step: 'implement',
        attempt: 1,
        exit: 0,
        session_id: expect.stringMatching(/^0089/u) as string,
      });
    expect(entries.at(-1)?.['cause']).toBe(
      { claude: 'rate_limit', gemini: 'exit', cursor: 'completed' }[host as 'claude'],
    );
  });

  it("VS Code runs Claude Code's hooks, and is answered as itself", async () => {
    const at = desk();
    await at.running();
    const { out } = await fire(at, 'session-start', hostInputs(at.folder).vscode['session-start'], {}, 'claude');
    expect(JSON.parse(out)).toHaveProperty('hookSpecificOutput.additionalContext');
  });
});

describe('whatever is wrong', () => {
  const BAD = [
    '',
    '  ',
    'no json',
    '[]',
    'null',
    '"x"',
    '{"session_id":',
    '{"session_id":7,"cwd":[],"source":{},"stop_hook_active":"yes"}',
  ];

  it.each(LIFECYCLE_EVENTS)('%s: an input that is no input keeps nobody', async (event) => {
    const at = desk();
    await at.running();
    for (const input of [...BAD, `{"x":"${'y'.repeat(5_000_000)}"}`]) {
      const { code, err } = await fire(at, event, input, {}, 'claude');
      expect(code, input.slice(0, 40)).toBe(0);
      if (input.trim() !== '' && !input.startsWith('{"session_id":7'))
        expect(err).toMatch(/^atlas: The host's input /u);
    }
  });

  it('a host that leaves the pipe open is answered', async () => {
    const at = desk();
    await at.running();
    const child = cli.start(['lifecycle', 'session-start'], at.how());
    child.stdin?.write('{"source":"startup"}');
    let out = '';
    child.stdout?.setEncoding('utf8').on('data', (chunk: string) => (out += chunk));
    await new Promise((resolve) => child.on('exit', resolve));
    expect(out).toContain('<atlas-recovery>');
    child.stdin?.destroy();
  });

  it.each(LIFECYCLE_EVENTS)('%s: wrong usage is no block', async (event) => {
    const at = desk();
    for (const args of [['x'], ['--nonsense'], ['--host', 'emacs'], ['--host']])
      expect((await at.run('lifecycle', event, ...args)).code, args.join(' ')).toBe(1);
    expect((await at.run('lifecycle')).code).toBe(1);
    expect((await at.run('lifecycle', 'nonsense')).code).toBe(1);
  });

  it.each(LIFECYCLE_EVENTS)('%s: a broken store keeps nobody, and the reason is said', async (event) => {
    const at = desk();
    const ref = await at.running();
    writeFileSync(at.fileOf(ref, 'hook.json'), 'garbage');
    writeFileSync(at.fileOf(ref, 'journal.jsonl'), 'garbage');
    const damaged = await fire(at, event, {}, { ATLAS_CLEANUP: '' });
    expect(damaged.code).toBe(0);
    expect(damaged.err).toMatch(/^atlas: .*hook\.json is not valid JSON/u);
    rmSync(at.root, { recursive: true });
    writeFileSync(at.root, 'a file in its place');
    const broken = await fire(at, event, { session_id: 'abc' });
    expect(broken.code).toBe(0);
    expect(broken.err).toMatch(/^atlas: /u);
  });
});

it('the log is cut when it is full', async () => {
  const at = desk();
  mkdirSync(at.root, { recursive: true });
  const full = `${'x'.repeat(600 * 1024)}\n`;
  writeFileSync(path.join(at.root, 'lifecycle.jsonl'), full);
  await fire(at, 'session-end');
  expect(readFileSync(path.join(at.root, 'lifecycle.1.jsonl'), 'utf8')).toBe(full);
  expect(logged(at)).toHaveLength(1);
});
