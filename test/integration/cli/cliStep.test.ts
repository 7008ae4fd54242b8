import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/parse/commands';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* A step from its start to its end: what it came to, what is there, and what git has to show. */

const MINUTE = 60_000;
let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

function historyOf(desk: Desk, ref: Parameters<Desk['fileOf']>[0]): { trigger: string; details?: object }[] {
  const hook = JSON.parse(readFileSync(desk.fileOf(ref, 'hook.json'), 'utf8')) as { history: [] };
  return hook.history;
}

describe.concurrent('a git step', { timeout: 120_000 }, () => {
  it('ends once its commit is there, and not before', async () => {
    const desk = new Desk(cli, 'committing');
    desk.template('t', { name: 'git_commit' }, { name: 'after' });
    desk.write('a.txt', 'one\n');
    // The repository's first commit may be of the second in which the step starts.
    desk.git('reflog', 'expire', '--expire=all', '--all');
    const ref = await desk.running('t');
    const early = await desk.run('step', 'complete', 'git_commit', '--attempt', '1');
    expect(early).toMatchObject({ code: 4, out: '' });
    expect(early.err).toContain('Git shows no commit since this attempt started.');
    expect(early.err).toContain('--nothing-to-do "<why>"');
    expect(await desk.state()).toBe('step_running');
    desk.git('add', 'a.txt');
    desk.git('commit', '-q', '-m', 'the work');
    await desk.ok('step', 'complete', 'git_commit', '--attempt', '1');
    expect(desk.hookMarkdown(ref)).toContain('| 1. git_commit | ✅ Completed |');
  });

  it('ends too where the steps before it committed everything', async () => {
    const desk = new Desk(cli, 'committed before');
    desk.template('t', { name: 'work' }, { name: 'git_commit' }, { name: 'after' });
    desk.git('reflog', 'expire', '--expire=all', '--all');
    await desk.running('t', 'Sample', 2 * MINUTE);
    desk.write('.gitignore', '.atlas\n');
    desk.write('a.txt', 'one\n');
    desk.git('add', '.');
    // git counts whole seconds: a commit of this one would be of the next step's attempt too.
    const env = cli.environment({ GIT_COMMITTER_DATE: new Date(Date.now() - MINUTE).toISOString() });
    execFileSync('git', ['commit', '-q', '-m', 'the work'], { cwd: desk.folder, env });
    await desk.ok('step', 'complete', '--start-next');
    desk.write('a.txt', 'two\n');
    expect((await desk.run('step', 'complete')).code).toBe(4);
    desk.git('checkout', '-q', 'a.txt');
    await desk.ok('step', 'complete');
  });

  it('ends without a result only with a reason, which stays', async () => {
    const desk = new Desk(cli, 'nothing to push');
    desk.template('t', { name: 'git_push' }, { name: 'git_pr' }, { name: 'after' });
    const ref = await desk.running('t');
    const noRemote = 'The repository has no remote: unless somebody adds one, `git_push` and `git_pr` end with';
    expect(desk.hookMarkdown(ref), 'said from the start').toContain(noRemote);
    expect((await desk.run('step', 'complete')).err).toContain('Git shows no upstream branch');
    expect((await desk.run('step', 'complete', '--nothing-to-do', ' ')).code).toBe(4);
    await desk.ok('step', 'complete', '--nothing-to-do', 'there is no remote', '--start-next');
    expect(desk.hookMarkdown(ref)).toContain('➖ Nothing to do: there is no remote');
    expect((await desk.run('step', 'complete')).err).toContain('No pull request for this branch is known.');
    await desk.ok('checkpoint', 'https://example.com/pull/1', '--trigger', 'pr_created');
    await desk.ok('step', 'complete', '--start-next');
    expect((await desk.run('step', 'complete', '--nothing-to-do', 'no')).err).toContain('Only a step of type git');
    const reasons = historyOf(desk, ref).flatMap(({ details = {} }) => Object.entries(details));
    expect(reasons).toContainEqual(['nothing_to_do', 'there is no remote']);
  });

  it('ends once the upstream has the newest commit', async () => {
    const desk = new Desk(cli, 'pushing');
    desk.template('t', { name: 'git_push' }, { name: 'after' });
    desk.git('init', '-q', '--bare', '../pushing.git');
    desk.git('remote', 'add', 'origin', '../pushing.git');
    await desk.running('t');
    expect((await desk.run('step', 'complete')).code).toBe(4);
    desk.git('push', '-q', '-u', 'origin', 'HEAD');
    await desk.ok('step', 'complete');
  });
});

describe.concurrent('the result of a step', { timeout: 120_000 }, () => {
  it('takes one command, which can start the next, and is shown whole', async () => {
    const desk = new Desk(cli, 'results');
    desk.template('t', { name: 'analyze' }, { name: 'fix', validation: ['git --version'] }, { name: 'after' });
    const ref = await desk.running('t');
    const summary = `It is the parser.\n\n${'Each line drops its last byte. '.repeat(300)}end`;
    desk.write('summary.md', summary);
    const said = await desk.ok('step', 'complete', 'analyze', '--summary-file', 'summary.md', '--start-next');
    expect(said).toContain('Step "analyze" completed.\nStep "fix" is running.');
    expect(said).toContain('### ▶️ BEGIN: Work on the `fix` step');
    await desk.ok('validate', '--summary', 'Fixed in parse().', '--start-next');
    expect(await desk.json('status')).toMatchObject({ task: { state: 'step_running', step: { name: 'after' } } });
    const markdown = desk.hookMarkdown(ref);
    expect(markdown).toContain(`\`\`\`text\n${summary}\n\`\`\``);
    expect(markdown).toContain('```text\nFixed in parse().\n```');
  });

  it('is refused where it would be cut, and nothing has changed', async () => {
    const desk = new Desk(cli, 'too long');
    await desk.running();
    const before = desk.digest();
    const long = await desk.runWith({ input: 'x'.repeat(20_001) }, 'step', 'complete', '--summary-file', '-');
    expect(long).toMatchObject({ code: 2, out: '' });
    expect(long.err).toContain('The summary has 20,001 characters. At most 20,000 are kept.');
    expect((await desk.run('step', 'complete', '--summary', 'a', '--summary-file', 'b')).code).toBe(2);
    expect(desk.digest()).toBe(before);
  });
});

describe.concurrent('what is there since the last checkpoint', { timeout: 120_000 }, () => {
  it('is in HOOK.md when an interruption is found, and no commit or edit is an alarm', async () => {
    const desk = new Desk(cli, 'left behind');
    desk.write('a.txt', 'one\ntwo\n');
    desk.git('add', '.');
    desk.git('commit', '-q', '-m', 'before');
    const ref = await desk.running('task', 'Sample', 60 * MINUTE);
    desk.write('a.txt', 'one\n2\n3\n');
    desk.git('commit', '-qam', 'parse() is *fixed*');
    desk.write('a.txt', 'one\n2\n3\nhalf');
    desk.write('new/file.txt', 'a\nb\n');
    desk.write('image.bin', 'a\0b');
    await desk.ok('status');
    const markdown = desk.hookMarkdown(ref);
    const files = markdown.slice(markdown.indexOf('### Uncommitted Work'), markdown.indexOf('### Last Checkpoint'));
    expect(files).toContain('**3 uncommitted files, last changed first:**');
    expect(files).toMatch(/^- `a\.txt` \(modified, \+1 −0 lines, last changed \d{4}-.+Z\)$/mu);
    expect(files).toMatch(/^- `new\/file\.txt` \(new, not added to git, \+2 −0 lines, last changed /mu);
    expect(files).toMatch(/^- `image\.bin` \(new, not added to git, last changed /mu);
    expect(files).toContain('`git diff HEAD`');
    expect(markdown).not.toContain('None are recorded');
    await desk.ok('resume');
    if ((await desk.state()) === 'step_pending') await desk.ok('step', 'start');
    await desk.ok('checkpoint', 'one', '--next', 'two');
    expect(desk.hookMarkdown(ref)).toContain('### Since the Last Checkpoint');
    expect(desk.hookMarkdown(ref)).not.toContain('⚠️ Commit');
  });

  it('is shown as it is now by hook show, which writes nothing', async () => {
    const desk = new Desk(cli, 'shown now');
    const ref = await desk.running();
    await desk.ok('checkpoint', 'one');
    desk.write('later.txt', 'a\n');
    const before = desk.digest();
    expect(desk.hookMarkdown(ref)).not.toContain('later.txt');
    expect(await desk.ok('hook', 'show')).toMatch(/^- `later\.txt` \(new, not added to git, \+1 −0 lines, /mu);
    expect(desk.digest()).toBe(before);
    const outside = await desk.run('step', 'note', 'x', '--file', '../outside.txt');
    expect(outside.err).toContain('"../outside.txt" is not a file of the task\'s repository.');
    expect(outside.code).not.toBe(0);
    expect(desk.digest()).toBe(before);
  });

  it('names the commits since, and a commit of the checkpoint that is gone', async () => {
    const desk = new Desk(cli, 'commits since');
    const ref = await desk.running();
    desk.git('commit', '-q', '--allow-empty', '-m', 'kept');
    await desk.ok('checkpoint', 'one');
    desk.git('commit', '-q', '--allow-empty', '-m', 'parse() is *fixed*');
    await desk.ok('step', 'fail', 'no');
    await desk.ok('reject', 'again');
    await desk.ok('step', 'start');
    const named = desk.hookMarkdown(ref);
    expect(named).toContain('**1 commit, newest first:**');
    expect(named).toMatch(/^- `[0-9a-f]{12}` parse\(\) is \\\*fixed\\\* \(/mu);
    expect(named).toContain('Nothing is uncommitted.');
    expect(named).not.toContain('> ⚠️ Commit');
    desk.git('reset', '-q', '--hard', 'HEAD~2');
    desk.git('checkout', '-q', '-b', 'elsewhere');
    await desk.ok('step', 'fail', 'no');
    await desk.ok('reject', 'again');
    await desk.ok('step', 'start');
    expect(desk.hookMarkdown(ref)).toMatch(/^> ⚠️ Commit `[0-9a-f]{12}` of the last checkpoint is missing/mu);
    expect(desk.hookMarkdown(ref)).toContain('\nThe worktree is on `elsewhere`. The last checkpoint was on `main`.');
  });
});

describe.concurrent('a step that is not the current one', { timeout: 60_000 }, () => {
  const taking = COMMANDS.filter(({ options = [] }) => options.some(({ flags }) => flags.startsWith('--step ')));

  it('can be named to every command that drives a step', () => {
    expect(taking.map(({ name }) => name).sort()).toEqual(
      ['answer', 'approve', 'checkpoint', 'reject', 'step ask', 'step complete', 'step fail', 'step note']
        .concat(['step output', 'step start', 'validate'])
        .sort(),
    );
  });

  it.each(taking)('is refused by $name in the same words', async ({ name, operands = [] }) => {
    const desk = new Desk(cli, `step of ${name}`);
    await desk.running();
    const given = operands.flatMap(({ usage }) => (usage.startsWith('<') ? ['x'] : []));
    const ways = [[...given, '--step', 'other']];
    if (operands.some(({ usage }) => usage === '[name]')) ways.push(['other'], ['other', '--step', 'other']);
    for (const way of ways) {
      const said = await desk.run(...name.split(' '), ...way);
      expect(said, way.join(' ')).toMatchObject({ code: 4, out: '' });
      expect(said.err).toContain('atlas: You expected step "other", but the current step is "implement".');
      expect(said.err).toContain('Read HOOK.md again');
    }
    if (ways.length > 1) {
      const twice = await desk.run(...name.split(' '), 'implement', '--step', 'other');
      expect(twice).toMatchObject({ code: 2, out: '' });
    }
    const now = desk.atlas().catalog.openTasks();
    expect(now.map(({ hook }) => hook.state)).toEqual(['step_running']);
  });
});
