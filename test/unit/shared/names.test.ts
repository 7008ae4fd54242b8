import path from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { checkTaskId, checkWorkspaceName, taskIdAt, workspaceNameFrom } from '../../../src/core/shared/ids';
import { StorePaths } from '../../../src/store/paths';

/** Names from which no path may be built, whatever they are meant for. */
const HOSTILE = [
  '',
  '.',
  '..',
  '../x',
  'a/b',
  'a\\b',
  'a\0b',
  'a\n',
  '\na',
  'a b',
  ' a',
  '-rf',
  '_a',
  '.hidden',
  'ä',
  '😀',
  'a:b',
  'a*',
  '~',
  '%2e%2e',
  'con',
  'CON',
  'nul',
  'Aux',
  'prn',
  'com1',
  'com0',
  'Com9',
  'lpt3',
  'LPT9',
  'conin$',
  'a'.repeat(256),
];

describe('names', { timeout: 60_000 }, () => {
  it.each(HOSTILE)('%j is neither a workspace nor a task', (name) => {
    for (const check of [checkWorkspaceName, checkTaskId]) {
      const checked = check(name);
      if (checked.ok) throw new Error('it was accepted');
      expect(checked.error.code).toBe('invalid_name');
      expect(checked.error.hint).toContain('letters');
    }
  });

  it.each(['con.txt', 'nul.', 'a..b', 'a.', 'task.'])('%j is no task', (name) => {
    expect(checkTaskId(name).ok).toBe(false);
  });

  it.each(['a', '0', 'task-20260117-143022', 'task-20260117-143022-2', 'Ab_c-9', 'a'.repeat(255), 'console', 'com10'])(
    '%j is both',
    (name) => {
      expect(checkTaskId(name).ok).toBe(true);
      expect(checkWorkspaceName(name).ok).toBe(true);
    },
  );

  it('let a task have single dots, a workspace none', () => {
    expect(checkTaskId('v1.2.3').ok).toBe(true);
    expect(checkWorkspaceName('v1.2').ok).toBe(false);
  });

  it('keep every path below its folder', () => {
    const paths = new StorePaths('/store');
    fc.assert(
      fc.property(fc.string({ unit: 'binary' }), fc.string({ unit: 'binary' }), (workspace, id) => {
        let file: string;
        try {
          file = paths.hook({ workspace, id });
        } catch {
          return;
        }
        const slashed = file.replaceAll(path.sep, '/');
        expect(slashed).toBe(`/store/workspaces/${workspace}/tasks/${id}/hook.json`);
        expect(slashed).toMatch(/^\/store\/workspaces\/[\w-]+\/tasks\/[\w.-]+\/hook\.json$/u);
      }),
    );
    for (const name of HOSTILE) expect(() => paths.task({ workspace: 'ok', id: name })).toThrow();
    for (const name of HOSTILE) expect(() => paths.marker({ workspace: name, id: 'ok' })).toThrow();
  });

  it('are read back from a marker, and other files are no markers', () => {
    const paths = new StorePaths('/store');
    expect(paths.refOfMarker('ws@task-1')).toEqual({ workspace: 'ws', id: 'task-1' });
    for (const other of ['ws', '@', 'ws@', '@id', 'a@b@c', 'ws@..', '.DS_Store', 'ws@id.']) {
      expect(paths.refOfMarker(other)).toBeUndefined();
    }
  });

  it.each([
    ['parser', 'parser'],
    ['my project', 'my-project'],
    ['.dotfiles', 'dotfiles'],
    ['Café☕', 'Cafe'],
    ['😀', 'workspace'],
    ['con', 'con-workspace'],
    ['a.b', 'a-b'],
    ['../x', 'x'],
  ])('of a workspace are made from folder %j: %s', (folder, name) => {
    expect(workspaceNameFrom(folder)).toBe(name);
  });

  it('made from any folder are valid', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 400 }), (folder) => {
        expect(checkWorkspaceName(workspaceNameFrom(folder)).ok).toBe(true);
        expect(checkWorkspaceName(`${workspaceNameFrom(folder)}-a1b2c3`).ok).toBe(true);
      }),
    );
  });

  it('of tasks tell when they were made, in UTC', () => {
    const at = Date.UTC(2026, 0, 7, 4, 3, 2, 999);
    expect([taskIdAt(at), taskIdAt(at, 1), taskIdAt(at, 2), taskIdAt(at, 11)]).toEqual([
      'task-20260107-040302',
      'task-20260107-040302',
      'task-20260107-040302-2',
      'task-20260107-040302-11',
    ]);
  });
});
