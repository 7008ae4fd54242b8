import { execFileSync } from 'node:child_process';
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { BuiltCli } from '../../support/drivers/cli';
import { Desk } from '../../support/drivers/cliDesk';

/* A configuration with a mistake in it must not leave out a task's checks without a word. */

let cli: BuiltCli;

beforeAll(async () => {
  cli = await BuiltCli.open();
}, 60_000);

afterAll(() => {
  cli.dispose();
});

const SOUND = 'hooks:\n  validation:\n    commands: ["true"]\n';

interface Broken {
  readonly name: string;
  readonly make: (desk: Desk) => unknown;
  /** What is said of it, with its place. */
  readonly said: string;
}

const pipe = (file: string): unknown => execFileSync('mkfifo', [file]);

/** Makes the folder of a file in the repository's `.atlas`, and gives its path. */
function place(desk: Desk, name: string): string {
  const file = path.join(desk.folder, '.atlas', name);
  mkdirSync(path.dirname(file), { recursive: true });
  return file;
}

const CONFIG: readonly Broken[] = [
  {
    name: 'broken YAML',
    make: (desk) => desk.write('.atlas/config.yaml', 'hooks:\n  validation: [1\n'),
    said: '.atlas/config.yaml:3:1: ',
  },
  {
    name: 'an unknown key',
    make: (desk) => desk.write('.atlas/config.yaml', 'hooks:\n  validation:\n    comands: ["true"]\n'),
    said: '.atlas/config.yaml:3:5: hooks.validation.comands: not a setting. Did you mean "commands"?',
  },
  {
    name: 'a key outside "hooks:"',
    make: (desk) => desk.write('.atlas/config.yaml', 'validation:\n  commands: ["true"]\n'),
    said: '.atlas/config.yaml:1:1: validation: this has no effect here. Move it below "hooks:".',
  },
  {
    name: 'nothing that counts',
    make: (desk) => desk.write('.atlas/config.yaml', 'checks: ["true"]\n'),
    said: '.atlas/config.yaml:1:1: checks: this file has no settings. Put them below "hooks:".',
  },
  {
    name: 'more than 64 KiB',
    make: (desk) => desk.write('.atlas/config.yaml', `# ${'x'.repeat(65_536)}\n${SOUND}`),
    said: '.atlas/config.yaml:1:1: The file was not read: it has ',
  },
  {
    name: 'a folder in its place',
    make: (desk) => mkdirSync(place(desk, 'config.yaml/x'), { recursive: true }) ?? '',
    said: '.atlas/config.yaml:1:1: This is a folder, not a file.',
  },
  {
    name: 'a pipe in its place',
    make: (desk) => pipe(place(desk, 'config.yaml')),
    said: '.atlas/config.yaml:1:1: This is a pipe, socket or device, not a file.',
  },
  {
    name: 'a link out of the repository in its place',
    make: (desk) => {
      const outside = path.join(cli.home, 'outside.yaml');
      writeFileSync(outside, SOUND);
      symlinkSync(outside, place(desk, 'config.yaml'));
    },
    said: '.atlas/config.yaml:1:1: A symbolic link points outside the repository, to ',
  },
  {
    name: 'a link to nowhere in its place',
    make: (desk) => {
      symlinkSync('nowhere', place(desk, 'config.yaml'));
    },
    said: '.atlas/config.yaml:1:1: This is a broken symbolic link.',
  },
  {
    name: 'bytes that are no text',
    make: (desk) => {
      writeFileSync(place(desk, 'config.yaml'), Buffer.from(SOUND, 'utf16le'));
    },
    said: '.atlas/config.yaml:1:1: ',
  },
  {
    name: "a mistake in the user's own file",
    make: (desk) => {
      desk.settings({ max_checkpoint: 3 });
    },
    said: 'config.yaml:1:11: hooks.max_checkpoint: not a setting. Did you mean "max_checkpoints"?',
  },
];

const TEMPLATES: readonly Broken[] = [
  {
    name: 'a template with an unknown key',
    make: (desk) => desk.write('.atlas/templates/a.yaml', 'id: a\nsteps:\n  - name: b\n    validate: ["true"]\n'),
    said: '.atlas/templates/a.yaml:4:5: steps.0.validate: unknown key. Did you mean "validation"?',
  },
  {
    name: 'a pipe among the templates',
    make: (desk) => pipe(place(desk, 'templates/a.yaml')),
    said: '.atlas/templates/a.yaml:1:1: This is a pipe, socket or device, not a file.',
  },
  {
    name: 'a pipe in place of the templates',
    make: (desk) => pipe(place(desk, 'templates')),
    said: '.atlas/templates:1:1: This is a pipe, socket or device, not a folder.',
  },
  {
    name: 'templates that lie outside the repository',
    make: (desk) => {
      const outside = path.join(cli.home, 'templates');
      mkdirSync(outside, { recursive: true });
      symlinkSync(outside, place(desk, 'templates'));
    },
    said: '.atlas/templates:1:1: A symbolic link points outside the repository, to ',
  },
];

describe('a configuration with', () => {
  it.each([...CONFIG, ...TEMPLATES])(
    '$name: no task is started, unless a human ignores it',
    async ({ name, make, said }) => {
      const desk = new Desk(cli, `refused ${name.replaceAll(/\W+/gu, '_')}`);
      make(desk);
      const refused = await desk.run('start', 'Sample');
      expect(refused).toMatchObject({ code: 1, out: '' });
      expect(refused.err).toContain('atlas: The task was not started. ');
      expect(refused.err).toContain(said);
      expect(refused.err).toContain('--ignore-config');
      const json = await desk.runWith({}, 'start', 'Sample', '--json');
      expect(json).toMatchObject({ code: 1, err: '' });
      expect(JSON.parse(json.out)).toMatchObject({ success: false, error: { code: 'invalid_config' } });
      expect((await desk.run('status')).code).toBe(3);

      const ignored = await desk.run('start', 'Sample', '--ignore-config', '--quiet');
      expect(ignored).toMatchObject({ code: 0, out: '' });
      expect(ignored.err).toMatch(/^atlas: Ignored: [^\n]+\n$/u);
      expect(ignored.err).toContain(said);

      const doctor = await desk.run('doctor');
      expect(doctor.code).toBe(1);
      expect(doctor.out.replaceAll(/\s+/gu, '')).toContain(
        said.replace(/^[^:]*:\d+:\d+: /u, '').replaceAll(/\s+/gu, ''),
      );
    },
  );

  it.each([
    ['its own id', 'release', 'rollout.yaml', 'id: release\nsteps:\n  - name: b\n    validate: ["true"]\n', '4:5'],
    ['its file', 'rollout', 'rollout.yaml', 'id: [\n', '2:1'],
    ['an alias', 'ship', 'rollout.yml', 'id: release\naliases: [ship, out]\nsteps: []\n', '3:1'],
    ['an id in broken YAML', 'release', 'rollout.yaml', 'id: release\nsteps: [\n', '3:1'],
  ])(
    'a mistake in the template that is asked for by %s: it is named with its place',
    async (by, name, file, text, at) => {
      const desk = new Desk(cli, `asked for by ${by}`);
      // Those of other files would fill the list before it.
      for (let index = 0; index < 12; index += 1) desk.write(`.atlas/templates/a${index}.yaml`, 'id: 1\n');
      desk.write(`.atlas/templates/${file}`, text);
      const said = `.atlas/templates/${file}:${at}: `;
      expect((await desk.run('start', 'Sample', '--template', name)).err).toContain(`\n  ${said}`);
      const ignored = await desk.run('start', 'Sample', '--template', name, '--ignore-config');
      expect(ignored).toMatchObject({ code: 1, out: '' });
      expect(ignored.err).toContain(`atlas: Template "${name}" has a mistake: ${said}`);
      expect((await desk.run('start', 'Sample', '--template', 'other', '--ignore-config')).err).toContain(
        'There is no template "other".',
      );
      expect((await desk.run('status')).code).toBe(3);
    },
  );

  it('a mistake: an agent can neither start a task nor ignore it', async () => {
    const desk = new Desk(cli, 'by an agent');
    desk.write('.atlas/config.yaml', 'comands: ["true"]\n');
    const env = { CLAUDECODE: '1' };
    const refused = await desk.runWith({ env }, 'start', 'Sample');
    expect(refused.code).toBe(1);
    expect(refused.err).toContain('hooks.validation.commands');
    expect(refused.err).not.toContain('--ignore-config');
    expect((await desk.runWith({ env }, 'start', 'Sample', '--ignore-config')).code).toBe(4);
  });

  it('a mistake: every command says so in one line, beside its answer', async () => {
    const desk = new Desk(cli, 'every command');
    await desk.started();
    desk.write('.atlas/config.yaml', 'comands: ["true"]\nhooks: {foo: 1}\n');
    const line =
      'atlas: Ignored: .atlas/config.yaml:1:1: comands: not a setting. Did you mean "hooks.validation.commands"? For 1 more problem, run: atlas doctor\n';
    for (const args of [
      ['status'],
      ['receipts', 'list'],
      ['step', 'start'],
      ['hook', 'synopsis'],
      ['inbox', 'list'],
      ['worker', 'list'],
      ['approve'],
    ]) {
      for (const flags of [[], ['--json'], ['--quiet']]) {
        const said = await desk.run(...args, ...flags);
        expect(said.err.split(line), [...args, ...flags].join(' ')).toHaveLength(2);
        if (flags[0] === '--json' && said.code === 0)
          expect(JSON.parse(said.out)).toMatchObject({ notes: expect.arrayContaining([line.slice(7, -1)]) as unknown });
      }
    }
    for (const event of ['session-start', 'pre-compact', 'stop']) {
      const said = await desk.runWith(
        { input: JSON.stringify({ cwd: desk.folder }) },
        'lifecycle',
        event,
        '--host',
        'claude',
      );
      expect(said.err.split(line), event).toHaveLength(2);
      expect(said.code, event).toBe(0);
    }
    for (const args of [['--help'], ['--version'], ['completion', 'bash']])
      expect((await desk.run(...args)).err).toBe('');
  });

  it('nothing wrong is not mentioned, and a link inside the repository counts', async () => {
    const desk = new Desk(cli, 'sound');
    desk.write('shared.yaml', SOUND);
    symlinkSync('../shared.yaml', place(desk, 'config.yaml'));
    // Nothing but what the human allows by it.
    const allowed = 'atlas: Agents may run these checks of the task:\n  true\n';
    expect(await desk.run('start', 'Sample', '--quiet')).toEqual({ code: 0, out: '', err: allowed });
    expect((await desk.run('status')).err).toBe('');
    expect(JSON.stringify(await desk.json('hook', 'export'))).toContain('"validation":["true"]');
    rmSync(path.join(desk.folder, '.atlas'), { recursive: true });
  });
});
