import { existsSync, readFileSync, readdirSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { BuiltCli, type Said } from '../../support/drivers/cli';

/* Whoever edits config.yaml while an agent works loses nothing of what it reports: an editor empties the file first. */

const clis: BuiltCli[] = [];
let cli: BuiltCli;
let folder: string;
let settings: string;
let waiting: string;
/** What config.yaml says while sessions are observed. */
let sound: string;

beforeEach(async () => {
  cli = await BuiltCli.open();
  clis.push(cli);
  folder = cli.repository('repo');
  settings = path.join(cli.root, 'config.yaml');
  waiting = path.join(cli.root, 'observed');
  expect((await atlas('lifecycle', 'install', '--host', 'claude', '--yes')).code).toBe(0);
  sound = readFileSync(settings, 'utf8');
  const input = { hook_event_name: 'SessionStart', session_id: 'one', cwd: folder, source: 'startup' };
  writeFileSync(path.join(waiting, 'claude.1.0.json'), `v1\n${JSON.stringify(input)}`);
}, 60_000);
afterAll(() => {
  for (const each of clis) each.dispose();
});

const atlas = async (...args: readonly string[]): Promise<Said> => cli.runIn({ folder }, ...args);

/** The ids of the sessions that are known. */
async function known(): Promise<string[]> {
  const { out } = await atlas('sessions', 'list', '--all', '--json');
  return (JSON.parse(out) as { sessions: { session_id: string }[] }).sessions.map((session) => session.session_id);
}

/** Writes config.yaml; minutes ago, or just now. */
function save(text: string, when: 'long ago' | 'now'): void {
  writeFileSync(settings, text);
  const at = new Date(Date.now() - 600_000);
  if (when === 'long ago') utimesSync(settings, at, at);
}

describe('what agents reported', () => {
  it.each([
    ['is emptied to be saved', () => save('', 'now')],
    ['has been moved away to be saved', () => rmSync(settings)],
    ['is broken', () => save('sessions:\n  track: [\n', 'long ago')],
    ['says neither yes nor no', () => save('sessions:\n  track: yse\n', 'long ago')],
    [
      'names a host that nobody knows',
      () => save('sessions:\n  track: true\n  read_transcripts: [claud]\n', 'long ago'),
    ],
  ])('waits while config.yaml %s', async (_how, spoil) => {
    spoil();
    expect(await known()).toEqual([]);
    expect(readdirSync(waiting)).toEqual(['claude.1.0.json']);
    save(sound, 'now');
    expect(await known()).toEqual(['one']);
    expect(readdirSync(waiting)).toEqual([]);
  });

  it.each([
    ['has long been empty', () => save('', 'long ago')],
    [
      'has long been gone',
      () => {
        rmSync(settings);
        const at = new Date(Date.now() - 600_000);
        utimesSync(cli.root, at, at);
      },
    ],
    ['says that nothing is observed', () => save('sessions:\n  track: false\n', 'now')],
  ])(
    'is deleted once config.yaml %s, and the next ones are kept when sessions are observed again',
    async (_how, end) => {
      end();
      expect(await known()).toEqual([]);
      expect(existsSync(waiting)).toBe(false);
      save(sound, 'now');
      expect(await known()).toEqual([]);
      expect(existsSync(waiting)).toBe(true);
    },
  );

  it('is said to be unread, and what to do', async () => {
    save('sessions:\n  track: [\n', 'long ago');
    const { err } = await atlas('sessions', 'list');
    expect(err).toContain('Correct config.yaml to see what was reported since: its settings could not be read.');
    expect(err).not.toContain('are not observed');
  });
});
