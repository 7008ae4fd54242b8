import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { unwrap } from '../../../src/core/shared/errors';
import { askGit, runGit, runGitHub, startGit } from '../../../src/git/read/gitCommand';
import { locateRepository } from '../../../src/git/read/locate';
import { workingTreeOf } from '../../../src/git/read/workingTree';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';
import { systemIds } from '../../../src/system/systemPorts';
import { WorkerGit } from '../../../src/workers/git/workerGit';

let base: string;
let folder: string;

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
}

/** A program that shows by a file that it was started. */
function program(file: string): { readonly path: string; readonly trace: string } {
  const trace = path.join(base, 'trace');
  writeFileSync(file, `#!/bin/sh\necho started >> '${trace}'\n`);
  chmodSync(file, 0o755);
  return { path: file, trace };
}

beforeEach(() => {
  base = realpathSync(mkdtempSync(path.join(tmpdir(), 'atlas-git-')));
  folder = path.join(base, 'repository');
  mkdirSync(folder);
  git('init', '--quiet', '-b', 'main');
  git('-c', 'user.name=A', '-c', 'user.email=a@b.invalid', 'commit', '--quiet', '--allow-empty', '-m', 'first');
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(base, { recursive: true, force: true });
});

describe('git', () => {
  it('answers with its exit code and what it printed', async () => {
    expect(unwrap(await runGit(folder, ['rev-parse', '--abbrev-ref', 'HEAD']))).toMatchObject({
      code: 0,
      stdout: 'main\n',
    });
    const refused = unwrap(await runGit(folder, ['rev-parse', '--verify', 'none']));
    expect(refused.code).toBe(128);
    expect(refused.stderr).toContain('fatal: ');
    expect(await askGit(folder, ['rev-parse', '--verify', 'none'])).toBeUndefined();
    const told = await new WorkerGit(locateRepository(folder) ?? expect.fail()).run(['rev-parse', '--verify', 'none']);
    expect(told).toMatchObject({ ok: false, error: { code: 'git_failed' } });
    expect(told.ok ? '' : told.error.message).toMatch(/^git rev-parse failed: fatal: /u);
  });

  it('reads its input as text, or a byte a character', async () => {
    const [text, bytes] = ['é\n', '\u00ff\u0000\u00e9'];
    const args = ['hash-object', '--stdin', '-w'];
    const ids = [
      unwrap(await runGit(folder, args, { input: text })).stdout.trim(),
      unwrap(await runGit(folder, args, { input: bytes, bytes: true })).stdout.trim(),
    ];
    expect(await askGit(folder, ['cat-file', 'blob', ids[0] ?? ''])).toBe(text);
    expect(await askGit(folder, ['cat-file', 'blob', ids[1] ?? ''], { bytes: true })).toBe(bytes);
  });

  it('fails in words where it is not there, and where it takes too long', async () => {
    const slow = await runGit(folder, ['-c', 'alias.wait=!sleep 5', 'wait'], { timeoutMs: 100 });
    expect(slow.ok ? '' : slow.error.message).toBe('git wait failed: It took longer than 0.1 s.');
    vi.stubEnv('PATH', base);
    const failed = await Promise.all([runGit(folder, ['status']), runGitHub(folder, ['pr', 'view'])]);
    expect(failed.map((each) => (each.ok ? '' : each.error.message))).toEqual([
      'git status failed: The program or its folder was not found.',
      'gh pr failed: The program or its folder was not found.',
    ]);
  });

  it('is not said to have printed nothing where it ended in time, and we were held up', async () => {
    writeFileSync(path.join(folder, 'file'), 'content\n');
    const asked = runGit(folder, ['status', '--porcelain'], { timeoutMs: 300 });
    // Nothing of its end is seen before the limit is.
    execFileSync('sleep', ['1']);
    expect(unwrap(await asked).stdout).toBe('?? file\n');
  });

  it("is told nothing of a caller's own repository, index or author", async () => {
    const theirs = path.join(base, 'theirs');
    git('init', '--quiet', theirs);
    vi.stubEnv('GIT_DIR', path.join(theirs, '.git'));
    vi.stubEnv('GIT_WORK_TREE', theirs);
    vi.stubEnv('GIT_INDEX_FILE', path.join(base, 'index'));
    vi.stubEnv('GIT_AUTHOR_NAME', 'Somebody');
    expect(await askGit(folder, ['rev-parse', '--show-toplevel'])).toBe(`${folder}\n`);
    const child = startGit(folder, ['rev-parse', '--show-toplevel'], {});
    const said: string[] = [];
    child.stdout.on('data', (chunk: Buffer) => said.push(chunk.toString('utf8')));
    child.stdin.end();
    await new Promise((resolve) => child.once('close', resolve));
    expect(said.join('')).toBe(`${folder}\n`);
  });

  it('takes no repository for another that it lies in', async () => {
    const inner = path.join(folder, 'inner');
    mkdirSync(inner);
    expect(await askGit(inner, ['rev-parse', '--git-dir'])).toBeUndefined();
  });

  it("starts none of a repository's own programs", async () => {
    const { path: monitor, trace } = program(path.join(base, 'monitor'));
    program(path.join(folder, '.git', 'hooks', 'post-index-change'));
    git('config', 'core.fsmonitor', monitor);
    writeFileSync(path.join(folder, 'file'), 'content\n');
    rmSync(trace, { force: true });
    expect(await askGit(folder, ['status', '--porcelain'])).toBe('?? file\n');
    const repository = locateRepository(folder) ?? expect.fail();
    expect(
      (await workingTreeOf({ files: new NodeFileSystem(), ids: systemIds }, repository, path.join(base, 'scratch'))).ok,
    ).toBe(true);
    expect(existsSync(trace)).toBe(false);
    // Git would have started it, had it been asked by anybody else.
    git('-c', 'core.fsmonitor=false', 'update-index', '--add', 'file');
    expect(existsSync(trace)).toBe(true);
  });
});
