import { mkdirSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as z from 'zod/mini';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import { NO_LIMIT } from '../../../src/core/config/unreadConfig';
import { configSchema } from '../../../src/core/config/readConfig';
import { SETTING_NAMES } from '../../../src/core/config/configKeys';
import { unwrap } from '../../../src/core/shared/errors';
import { BUILTIN_TEMPLATES } from '../../../src/core/task/templates/templates';
import { type TestStore, makeStore, nodeError, tapped } from '../../support/fixtures/store';
import { NodeFileSystem } from '../../../src/system/files/nodeFileSystem';

interface JsonSchema {
  readonly properties?: Readonly<Record<string, JsonSchema>>;
}

let store: TestStore;
beforeEach(() => {
  store = makeStore();
  mkdirSync(store.root, { recursive: true });
});
afterEach(() => {
  store.dispose();
});

function settings(text: string): void {
  writeFileSync(path.join(store.root, 'config.yaml'), text);
}

function changedLongAgo(file: string): void {
  const at = new Date(Date.now() - 600_000);
  utimesSync(file, at, at);
}

function project(file: string, text: string): void {
  const target = path.join(store.folder, '.atlas', file);
  mkdirSync(path.dirname(target), { recursive: true });
  writeFileSync(target, text);
}

const load = async (): Promise<{ issues: string[]; maxCheckpoints: number; commands: readonly string[] }> => {
  const { config, issues } = await store.atlas.configs.forWorktree(store.folder);
  return {
    maxCheckpoints: config.maxCheckpoints,
    commands: config.validation.commands,
    issues: issues.map(
      ({ file, position, message }) =>
        `${path.basename(path.dirname(file))}:${position.line}:${position.column} ${message}`,
    ),
  };
};

describe('config.yaml', () => {
  it('may be missing, empty, or about something else', async () => {
    changedLongAgo(store.root);
    expect((await store.atlas.configs.forWorktree(store.folder)).config).toEqual(DEFAULT_CONFIG);
    for (const text of ['', '# only a comment\n', 'other: 1\n', 'hooks:\n']) {
      settings(text);
      changedLongAgo(path.join(store.root, 'config.yaml'));
      expect(await load()).toMatchObject({ maxCheckpoints: 50, issues: [] });
    }
  });

  it('that is empty or gone only now limits nothing: an editor is saving it', async () => {
    settings('');
    expect(await load()).toEqual({ maxCheckpoints: NO_LIMIT, commands: [], issues: [] });
    rmSync(path.join(store.root, 'config.yaml'));
    expect(await load()).toEqual({ maxCheckpoints: NO_LIMIT, commands: [], issues: [] });
  });

  it.each([
    ['hooks:\n  comands: [x]\n', '2:3 hooks.comands: not a setting. Did you mean "hooks.validation.commands"?'],
    [
      'hooks:\n  validation:\n    comands: [x]\n',
      '3:5 hooks.validation.comands: not a setting. Did you mean "commands"?',
    ],
    ['hooks:\n  maxCheckpoints: 3\n', '2:3 hooks.maxCheckpoints: not a setting. Did you mean "max_checkpoints"?'],
    [
      'hooks:\n  retention: {done: 1d}\n',
      '2:15 hooks.retention.done: not a setting. Known here: completed, failed, abandoned.',
    ],
    ['comands: [x]\n', '1:1 comands: not a setting. Did you mean "hooks.validation.commands"?'],
    ['a: 1\nvalidation:\n  commands: [x]\n', '2:1 validation: this has no effect here. Move it below "hooks:".'],
    ['hook:\n  max_checkpoints: 3\n', '1:1 hook: not a setting. Did you mean "hooks"?'],
    [
      'hooks.max_checkpoints: 3\n',
      '1:1 hooks.max_checkpoints: this has no effect. Write each name on a line of its own, below the one before it.',
    ],
    ['atlas:\n  hooks: {}\n', '2:3 atlas.hooks: this has no effect here. Move "hooks:" to the top of the file.'],
  ])('with a key that has no effect is reported with what was meant (%j)', async (text, issue) => {
    settings(text);
    expect((await load()).issues).toEqual([`home:${issue}`]);
  });

  it('knows every key that a value may have, and no other', () => {
    const namesOf = (schema: JsonSchema): unknown =>
      schema.properties === undefined
        ? undefined
        : Object.fromEntries(Object.entries(schema.properties).map(([name, below]) => [name, namesOf(below)]));
    expect(SETTING_NAMES).toEqual(namesOf(z.toJSONSchema(configSchema) as JsonSchema));
  });

  it.each(['hooks', '- hooks\n', '5', 'hooks:max_checkpoints:5'])(
    'that holds no fields (%j) is reported, and not taken for an empty one',
    async (text) => {
      settings(text);
      expect(await load()).toMatchObject({ maxCheckpoints: NO_LIMIT, issues: [expect.stringContaining(':1:1 ')] });
    },
  );

  it('with keys that are no texts warns nobody behind its back', async () => {
    const warned: Error[] = [];
    const listen = (warning: Error): unknown => warned.push(warning);
    process.on('warning', listen);
    settings('hooks: {[a, b]: 1}\n');
    await load();
    await new Promise((resolve) => setImmediate(resolve));
    process.off('warning', listen);
    expect(warned).toEqual([]);
  });

  it('is read again when it changed', async () => {
    settings('hooks:\n  max_checkpoints: 5\n');
    expect((await load()).maxCheckpoints).toBe(5);
    settings('hooks:\n  max_checkpoints: 61\n');
    expect((await load()).maxCheckpoints).toBe(61);
  });

  it('names line and column of each bad value, and the others hold', async () => {
    settings(
      '# mine\nhooks:\n  max_checkpoints: 7\n  stale_threshold: soon\n  validation:\n    commands:\n      - npm test\n      - 5\n',
    );
    const { issues, maxCheckpoints, commands } = await load();
    expect(maxCheckpoints).toBe(7);
    expect(commands).toEqual([]);
    expect(issues).toEqual([
      expect.stringMatching(/^home:4:3 hooks\.stale_threshold: write a duration/u),
      expect.stringMatching(/^home:8:9 hooks\.validation\.commands\.1: /u),
    ]);
  });

  it.each([
    ['a syntax error', 'hooks:\n  a: [1\n  b: 2\n', /^home:[23]:\d+ /u],
    ['a tab', 'hooks:\n\tmax_checkpoints: 5\n', /^home:2:1 /u],
    ['a key twice', 'hooks:\n  max_checkpoints: 5\n  max_checkpoints: 6\n', /^home:3:3 /u],
    [
      'a bomb of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nhooks: {x: [*c,*c,*c,*c,*c]}\n`,
      /^home:1:1 The file is not valid YAML/u,
    ],
    ['a list for settings', 'hooks: [1]\n', /^home:1:1 hooks: must be a table/u],
  ])('with %s is reported, and limits nothing', async (_name, text, issue) => {
    settings(text);
    const { issues, maxCheckpoints } = await load();
    expect(maxCheckpoints).toBe(NO_LIMIT);
    expect(issues).toEqual([expect.stringMatching(issue)]);
  });

  it('far too large, or not to be read, is reported too', async () => {
    settings(`# ${'x'.repeat(1024 * 1024)}\n`);
    expect((await load()).issues).toEqual([expect.stringContaining('The file was not read')]);
    settings('hooks: {}\n');
    const files = tapped(new NodeFileSystem(), (operation, args) => {
      if (operation === 'read' && String(args[0]).endsWith('config.yaml')) throw nodeError('EACCES');
    });
    const { issues } = await store.other({ files }).configs.forWorktree(undefined);
    expect(issues).toMatchObject([{ message: expect.stringContaining('EACCES') as string }]);
  });

  it('of a repository sets its commands; a file in place of its folder is no settings', async () => {
    settings('hooks:\n  max_checkpoints: 5\n  validation:\n    commands: [mine]\n');
    project('config.yaml', 'hooks:\n  max_checkpoints: 1\n  validation:\n    commands: [theirs]\n    timeout: x\n');
    const loaded = await load();
    expect(loaded).toMatchObject({ maxCheckpoints: 5, commands: ['theirs'] });
    expect(loaded.issues).toEqual([
      expect.stringMatching(/^\.atlas:2:3 hooks\.max_checkpoints: this has no effect in a repository/u),
      expect.stringMatching(/^\.atlas:5:5 hooks\.validation\.timeout: this has no effect in a repository/u),
    ]);
    const folder = path.join(store.folder, 'other');
    mkdirSync(folder);
    writeFileSync(path.join(folder, '.atlas'), 'a file');
    expect((await store.atlas.configs.forWorktree(folder)).issues).toEqual([]);
    expect((await store.atlas.configs.templates(folder)).templates).toHaveLength(BUILTIN_TEMPLATES.length);
  });
});

describe("a project's templates", () => {
  const good = 'id: mine\naliases: [m]\nsteps:\n  - name: build\n    validation: [make]\n';
  const loadTemplates = async (): Promise<{ own: string[]; issues: string[] }> => {
    const { templates, issues } = await store.atlas.configs.templates(store.folder);
    return {
      own: templates.filter((template) => template.source === 'project').map((template) => template.id),
      issues: issues.map(({ file, position, message }) => `${path.basename(file)}:${position.line} ${message}`),
    };
  };

  it('are found beside the built-in ones, and a task has their steps', async () => {
    project('templates/a.yaml', good);
    expect(await loadTemplates()).toEqual({ own: ['mine'], issues: [] });
    const started = unwrap(await store.atlas.startTask({ title: 'x', template: 'm', folder: store.folder }));
    expect(started.task).toMatchObject({ template_id: 'mine', steps: [{ name: 'build', validation: ['make'] }] });
  });

  it.each([
    ['a syntax error', 'id: [\n', /^bad\.yml:\d /u],
    [
      'an unknown type',
      'id: bad\nsteps:\n  - name: a\n  - name: b\n    type: robot\n',
      /^bad\.yml:5 steps\.1\.type: /u,
    ],
    [
      'a step twice',
      'id: bad\nsteps:\n  - name: a\n  - name: b\n  - name: a\n',
      /^bad\.yml:5 steps: "a" is used twice/u,
    ],
    ['no steps', 'id: bad\n', /^bad\.yml:1 steps: /u],
    ['nothing in it', '', /^bad\.yml:1 /u],
    [
      'a bad command',
      'id: bad\nsteps:\n  - name: a\n    validation:\n      - ok\n      - ""\n',
      /^bad\.yml:6 steps\.0\.validation\.1: a command must not be empty/u,
    ],
  ])('with %s name their line and hide no others', async (_name, text, issue) => {
    project('templates/a.yaml', good);
    project('templates/bad.yml', text);
    project('templates/notes.txt', 'no template');
    project('templates/z.yaml', good.replace('mine', 'last'));
    expect(await loadTemplates()).toEqual({ own: ['mine', 'last'], issues: [expect.stringMatching(issue)] });
  });

  it('that are there twice, folders or links are reported', async () => {
    project('templates/a.yaml', good);
    project('templates/b.yaml', good);
    mkdirSync(path.join(store.folder, '.atlas/templates/c.yaml'));
    symlinkSync('/etc/hostname', path.join(store.folder, '.atlas/templates/d.yaml'));
    const { own, issues } = await loadTemplates();
    expect(own).toEqual(['mine']);
    expect(issues).toEqual([
      'c.yaml:1 This is a folder, not a file.',
      expect.stringMatching(/^d\.yaml:1 A symbolic link points outside the repository, to /u),
      expect.stringContaining('"mine" is defined twice'),
    ]);
  });
});

describe('workspaces', () => {
  const folder = (name: string): string => {
    const made = path.join(store.folder, name);
    mkdirSync(made, { recursive: true });
    return made;
  };

  it('of the same name belong to one folder each', () => {
    const [first, second] = [folder('a/same'), folder('b/same')];
    expect(unwrap(store.atlas.workspaces.ensure(first, 'main'))).toBe('same');
    const other = unwrap(store.atlas.workspaces.ensure(second, undefined));
    expect(other).toMatch(/^same-[0-9a-f]{6}$/u);
    expect(unwrap(store.atlas.workspaces.ensure(second, undefined))).toBe(other);
    expect(store.atlas.workspaces.find(first)).toBe('same');
    expect(unwrap(store.atlas.workspaces.read('same'))).toMatchObject({
      name: 'same',
      repo_path: first,
      branch: 'main',
      status: 'active',
    });
    expect(store.atlas.workspaces.find(folder('c/same'))).toBeUndefined();
  });

  it('are made of a folder without a repository too', async () => {
    const started = unwrap(await store.atlas.startTask({ title: 'x', template: 'bug', folder: folder('plain') }));
    expect(started.ref.workspace).toBe('plain');
    expect((await store.atlas.locate(folder('plain'))).workspace).toBe('plain');
  });

  it('whose record is damaged keep their tasks, and belong to nobody meanwhile', async () => {
    const ref = await store.running();
    writeFileSync(path.join(store.atlas.ports.paths.workspace(ref.workspace), 'workspace.json'), '{');
    expect(store.atlas.workspaces.read(ref.workspace)).toMatchObject({ ok: false, error: { code: 'damaged' } });
    expect(unwrap(store.atlas.store.read(ref)).hook.state).toBe('step_running');
    expect(unwrap(store.other().workspaces.ensure(store.folder, undefined))).toMatch(/^work-[0-9a-f]{6}$/u);
  });

  it('without a record, as a death leaves them, are taken up', () => {
    mkdirSync(path.join(store.atlas.ports.paths.workspaces, 'left'), { recursive: true });
    writeFileSync(path.join(store.atlas.ports.paths.workspaces, 'left', 'workspace.json.abcd.tmp'), '{');
    expect(unwrap(store.atlas.workspaces.ensure(folder('left'), undefined))).toBe('left');
  });
});
