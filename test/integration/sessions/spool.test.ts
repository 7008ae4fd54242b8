import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { observeCommand } from '../../../src/agents/install/observeInstall';
import { MAX_REPORT_BYTES, MAX_SPOOL_BYTES, SessionSpool } from '../../../src/store/sessions/sessionSpool';
import { silentLog, systemPorts } from '../../../src/service/ports';

/* What hosts run to report: by real shells, many at once, in every broken place. */

const SHELLS = ['sh', 'bash', 'zsh', 'fish', 'dash'].filter((shell) => spawnSync(shell, ['-c', 'true']).status === 0);

let base: string;
let spool: SessionSpool;

beforeEach(() => {
  base = realpathSync(mkdtempSync(path.join(os.tmpdir(), "atlas spool it's-")));
  spool = new SessionSpool(systemPorts(path.join(base, 'store'), '0.0.0', silentLog));
  spool.open('atlas');
});
afterEach(() => {
  chmodSync(base, 0o755);
  rmSync(base, { recursive: true, force: true });
});

const command = (event = 'PreToolUse'): string => {
  // A path with a quote can't be named in every shell: homes have none.
  const script = path.join(base.replace("it's", 'its'), 'observe.sh');
  return observeCommand(script, 'claude', event);
};

/** Runs what a host runs, as it does: in a shell, with its JSON on standard input. */
function report(input: string, shell = 'sh', env: NodeJS.ProcessEnv = {}): { code: number | null; said: string } {
  const own = { PATH: process.env['PATH'], HOME: base, ...env };
  const { status, stdout, stderr } = spawnSync(shell, ['-c', `sh "${spool.scriptPath}" claude 2>/dev/null || true`], {
    input,
    env: own,
    encoding: 'utf8',
  });
  return { code: status, said: stdout + stderr };
}

describe('a report', () => {
  it.each(SHELLS)('is written whole by a hook that %s runs, for its owner only', (shell) => {
    const text = JSON.stringify({ session_id: 'one', prompt: `it's "quoted" \\ $HOME \u0000 ü` });
    expect(report(text, shell, { CI: '1', CLAUDE_CODE_ENTRYPOINT: 'sdk-cli' })).toEqual({ code: 0, said: '' });
    const [read] = spool.read();
    expect(read).toMatchObject({ host: 'claude', body: text, head: { ci: '1', run: '', entry: 'sdk-cli' } });
    expect(Math.abs((read?.at ?? 0) - Date.now())).toBeLessThan(60_000);
    if (process.platform !== 'win32') {
      expect(statSync(spool.folder).mode & 0o777).toBe(0o700);
      expect(statSync(path.join(spool.folder, read?.name ?? '')).mode & 0o777).toBe(0o600);
    }
  });

  it.runIf(process.platform === 'linux')(
    "names the host's process and when it began, through any number of shells",
    async () => {
      const inner = `sh "${spool.scriptPath}" codex 2>/dev/null || true`;
      const program = `require('child_process').spawnSync('bash', ['-c', 'sh -c "$INNER"; true'], { input: '{}' })`;
      const host = spawn(process.execPath, ['-e', program], { env: { PATH: process.env['PATH'], INNER: inner } });
      await once(host, 'exit');
      const [read] = spool.read();
      expect(read?.head['pid']).toBe(String(host.pid));
      expect(read?.head['start']).toMatch(/^\d+$/u);
    },
  );

  it('of eight writers at once is never torn', { timeout: 60_000 }, async () => {
    const filler = 'x'.repeat(300 * 1024);
    const writers: ChildProcess[] = [];
    for (let index = 0; index < 24; index += 1) {
      const child = spawn('sh', ['-c', `sh "${spool.scriptPath}" claude 2>/dev/null || true`], {
        stdio: ['pipe', 'ignore', 'ignore'],
      });
      child.stdin.end(JSON.stringify({ session_id: `s${index}`, filler }));
      writers.push(child);
      if (writers.length === 8) await Promise.all(writers.splice(0).map(async (each) => once(each, 'exit')));
    }
    const read = spool.read();
    expect(read).toHaveLength(24);
    for (const { body } of read) expect((JSON.parse(body) as { filler: string }).filler).toBe(filler);
  });

  it('that isn’t whole yet is nobody’s, and goes after a minute', () => {
    report('{"session_id":"one"}');
    const [whole] = spool.read();
    const half = path.join(spool.folder, 'claude.99.0.json');
    const text = readFileSync(path.join(spool.folder, whole?.name ?? ''), 'utf8');
    for (const end of [0, 10, text.length - 5, text.length - 1]) {
      writeFileSync(half, text.slice(0, end));
      expect(spool.read()).toEqual([whole]);
    }
    spool.remove([], Date.now());
    expect(existsSync(half)).toBe(true);
    spool.remove([], Date.now() + 120_000);
    expect(existsSync(half)).toBe(false);
    writeFileSync(half, text);
    expect(spool.read().map(({ body }) => body)).toEqual(['{"session_id":"one"}', '{"session_id":"one"}']);
  });

  it('that is larger than the limit is cut, and hurts nobody', () => {
    expect(report(JSON.stringify({ session_id: 'one', filler: 'y'.repeat(3 * MAX_REPORT_BYTES) }))).toEqual({
      code: 0,
      said: '',
    });
    expect(spool.read()[0]?.body).toHaveLength(MAX_REPORT_BYTES);
  });

  it('is dropped and counted once 16 MB wait, and taken again after a look', { timeout: 120_000 }, () => {
    const large = JSON.stringify({ filler: 'z'.repeat(MAX_REPORT_BYTES) });
    const size = (): number =>
      readdirSync(spool.folder).reduce((sum, name) => sum + statSync(path.join(spool.folder, name)).size, 0);
    let runs = 0;
    while (!existsSync(path.join(spool.folder, 'dropped')) && runs < 60) {
      expect(report(large).code).toBe(0);
      runs += 1;
    }
    expect(runs).toBeLessThan(60);
    expect(size()).toBeLessThanOrEqual(MAX_SPOOL_BYTES + 64 * 1024);
    report(large);
    expect(spool.takeDropped()).toBe(2);
    spool.remove(spool.read(), Date.now());
    report('{}');
    expect(spool.read()).toHaveLength(1);
  });
});

describe('a hook', () => {
  it.each([
    ['without the folder', () => spool.close()],
    ['without the script', () => rmSync(spool.scriptPath)],
    ['with a script of garbage', () => writeFileSync(spool.scriptPath, '\u0000\u0001 )( done; exit 7\n')],
    [
      'with a file for the folder',
      () => {
        spool.close();
        writeFileSync(spool.folder, '');
      },
    ],
    ['that may not write', () => chmodSync(spool.folder, 0o500)],
    ['without any program on its PATH', () => undefined],
  ])('%s says nothing and exits with 0', (what, breakIt) => {
    breakIt();
    const env = what.includes('PATH') ? { PATH: '/nowhere' } : {};
    const shell = what.includes('PATH') ? '/bin/sh' : 'sh';
    expect(report('{"session_id":"one"}', shell, env)).toEqual({ code: 0, said: '' });
    if (existsSync(spool.folder) && statSync(spool.folder).isDirectory()) chmodSync(spool.folder, 0o700);
  });

  it.each(SHELLS.filter((each) => ['sh', 'bash', 'dash'].includes(each)))(
    'asks before what may throw work away, and before nothing else: a script run by %s',
    (shell) => {
      const asked = path.join(base, 'asked');
      writeFileSync(
        path.join(base, 'atlas'),
        `#!/bin/sh\n[ "$*" = 'lifecycle before-discard --host claude' ] && cat >>'${asked.replaceAll("'", String.raw`'\''`)}'\n`,
      );
      chmodSync(path.join(base, 'atlas'), 0o755);
      const env = { PATH: `${base}:${process.env['PATH'] ?? ''}` };
      const ask = (text: string): string => {
        rmSync(asked, { force: true });
        const input = JSON.stringify({ tool_name: 'Bash', tool_input: { command: text } });
        const { status } = spawnSync(shell, [spool.scriptPath, 'claude', 'tool'], { input, env });
        expect(status).toBe(0);
        const [report] = spool.read();
        expect(report?.body).toBe(input);
        if (report !== undefined) spool.remove([report], Date.now());
        if (existsSync(asked)) expect(readFileSync(asked, 'utf8')).toBe(input);
        return existsSync(asked) ? 'asked' : 'not asked';
      };
      for (const word of ['reset --hard', 'clean -fd', 'checkout -- a', 'restore a', 'switch -f main'])
        expect(ask(`cd a && git -C "b c" ${word}`), word).toBe('asked');
      for (const options of ['-r', '-rf', '-vR', '-fivdIr', '--recursive', '-f a -r'])
        expect(ask(`git log; rm ${options} a`), options).toBe('asked');
      const filler = 'git - rm x '.repeat(40_000);
      expect(ask(`${filler}; git reset --hard`)).toBe('asked');
      for (const text of ['ls', 'git status', 'git log -- src', 'rm -f src/b.ts', 'reset && git log', 'tr -r', filler])
        expect(ask(text), text.slice(0, 30)).toBe('not asked');
    },
  );

  it('is one command that every shell understands', () => {
    expect(command('Stop')).toMatch(/^sh '?\S.*observe\.sh'? claude 2>\/dev\/null \|\| true$/u);
    expect(command()).toContain('claude tool 2>/dev/null');
    expect(command('UserPromptSubmit')).toContain('claude turn 2>/dev/null');
    expect(command('SessionStart')).toContain('claude start 2>/dev/null');
    for (const shell of SHELLS) expect(spawnSync(shell, ['-c', command()], { input: '{}' }).status, shell).toBe(0);
  });
});
