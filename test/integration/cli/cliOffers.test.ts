import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* Checks that a repository has are offered where a task declares none, and never run unasked. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

/** A repository with checks that leave a file behind where they run. */
function withChecks(name: string): Desk {
  const desk = new Desk(cli, name);
  desk.write('package.json', JSON.stringify({ scripts: { lint: 'touch ran' } }));
  desk.write('Makefile', 'test:\n\ttouch ran\n');
  const task = { label: "the owner's test", type: 'shell', command: 'touch ran', group: 'test' };
  desk.write('.vscode/tasks.json', `// of the editor\n${JSON.stringify({ tasks: [task] })}`);
  return desk;
}

const OFFERED = [
  'Checks found in this repository:',
  `  atlas validate --command 'npm run lint' (package.json script "lint")`,
  `  atlas validate --command 'make test' (Makefile target "test")`,
  `  atlas validate --command 'touch ran' (.vscode/tasks.json task "the owner's test")`,
].join('\n');
const CHECKS = [{ command: 'npm run lint' }, { command: 'make test' }, { command: 'touch ran' }];
const NAMED = 'Found in this repository: npm run lint, make test and touch ran.';

describe('the checks of a repository', () => {
  it('are offered by start, step start, --start-next, validate and doctor, and none is run', async () => {
    const desk = withChecks('offered');
    desk.template('t', { name: 'work' }, { name: 'validate', type: 'validation' }, { name: 'after' });
    const started = await desk.run('start', 'Sample', '-t', 't');
    expect(started.err).toContain(`This task declares no checks. ${NAMED}`);
    expect(await desk.ok('step', 'start')).not.toContain('Checks found');
    expect(await desk.ok('step', 'complete', '--start-next')).toContain(OFFERED);
    const refused = await desk.run('validate');
    expect(refused).toMatchObject({ code: 2 });
    expect(refused.err).toContain(OFFERED);
    expect((await desk.ok('doctor')).replaceAll(/\s+/gu, ' ')).toContain(`No checks are declared. ${NAMED}`);

    const again = withChecks('offered at the first step');
    again.template('t', { name: 'validate', type: 'validation' });
    await again.started('t');
    expect(await again.json('step', 'start')).toMatchObject({ offered_checks: CHECKS });
    for (const each of [desk, again]) expect(existsSync(path.join(each.folder, 'ran'))).toBe(false);
  });

  it('are not offered where checks are declared', async () => {
    const desk = withChecks('declared');
    desk.write('.atlas/config.yaml', 'hooks:\n  validation:\n    commands: ["true"]\n');
    desk.template('t', { name: 'validate', type: 'validation' });
    expect((await desk.run('start', 'Sample', '-t', 't')).err).not.toContain('Found in this repository');
    expect(await desk.ok('step', 'start')).not.toContain('Checks found');
    expect(await desk.ok('doctor')).not.toContain('Found in this repository');
  });
});

describe('the templates that can be chosen', () => {
  const GO = ['go-optimize', 'goroutine-leak'];
  const offered = async (desk: Desk): Promise<string[]> => {
    const { err } = await desk.run('start', 'Sample', '--template', 'none');
    return /Choose one of (.*)\./u.exec(err)?.[1]?.split(/, | or /u) ?? [];
  };

  it.each([
    ['of a repository without Go', [], true],
    ['of a Go module', ['go.mod'], false],
    ['of Go without a module', ['main.go'], false],
    ['of a Go module in a folder', ['service/go.mod'], false],
    ['of a repository with Go in its dependencies only', ['node_modules/go.mod', 'a/b/c.ts'], true],
  ])('%s: those for other languages come last', async (name, files, last) => {
    const desk = new Desk(cli, name);
    for (const file of files) desk.write(file, '');
    desk.template('own', { name: 'work' });
    const ids = await offered(desk);
    expect(ids).toHaveLength(13);
    expect(ids[0]).toBe('own');
    expect(ids.slice(-2).join()).toBe(last ? GO.join() : 'config-hunter,test-creator');
    // What doesn't fit can be chosen all the same.
    expect((await desk.run('start', 'Sample', '--template', 'go-optimize')).code).toBe(0);
  });
});
