import { existsSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { unwrap } from '../../../../src/core/shared/errors';
import { BuiltCli } from '../../../support/drivers/cli';
import { Desk } from '../../../support/drivers/cliDesk';
import { cellsOf, hasTerminals, inTerminal, uncolored } from './cliTerminal';

/* What a person sees in a terminal, and what a program gets that is none. */

const DAY = 24 * 3_600_000;
const ESC = '\u001b';
const WIDE = '日本語の説明 🚀 Cafe\u0301 ünïcödé 한국어 with many more words than fit into one narrow line';
let cli: BuiltCli;
/** A store with something to show everywhere. */
let desk: Desk;

beforeAll(async () => {
  cli = await BuiltCli.open();
  desk = new Desk(cli, 'a-repository-with-a-rather-long-name-that-fills-a-line');
  const old = await desk.running('task', 'Old', 40 * DAY);
  unwrap(await desk.atlas(40 * DAY).send(old, { type: 'fail', by: 'human', reason: 'no' }));
  desk.template(
    'checked',
    { name: 'check_something_with_a_long_name', validation: ['git --version'] },
    { name: 'next' },
  );
  const ref = await desk.running('checked', WIDE);
  desk.write('src/a-folder-with-a-long-name/another-folder/日本語のファイル名.ts', 'x');
  await desk.ok('step', 'note', WIDE, '--file', 'src/a-folder-with-a-long-name/another-folder/日本語のファイル名.ts');
  await desk.ok('checkpoint', WIDE);
  await desk.ok('validate', '--command', `echo ${'long '.repeat(30)}`);
  await desk.ok('step', 'start', '--task', ref.id);
  await desk.ok('checkpoint', 'plain', '--trigger', 'pr_created');
  desk.write('src/a-folder-with-a-long-name/another-folder/日本語のファイル名.ts', 'changed');
}, 60_000);

afterAll(() => {
  cli.dispose();
});

const SHOWN = [
  ['status'],
  ['hook', 'checkpoints'],
  ['receipts', 'list'],
  ['workspace', 'list'],
  ['recover', '--dry-run'],
  ['doctor'],
  ['cleanup', '--hooks', '--dry-run'],
  ['--help'],
  ['step', 'note', '--help'],
  ['hook', 'install', '--help'],
  ['status', '--task', 'task-20200101-000000'],
  ['step', 'complete', 'other'],
  ['nonsense'],
] as const;

describe.runIf(hasTerminals()).concurrent('in a terminal', { timeout: 60_000 }, () => {
  it.each([80, 40].flatMap((columns) => SHOWN.map((args) => [columns, args.join(' '), args] as const)))(
    'of %i columns no line of "%s" is longer',
    async (columns, _name, args) => {
      const { text } = await inTerminal(cli, columns, args, desk.how());
      const lines = uncolored(text).split('\n');
      expect(lines.length).toBeGreaterThan(1);
      for (const line of lines) expect(cellsOf(line), JSON.stringify(line)).toBeLessThanOrEqual(columns);
      for (const line of lines) expect(line, JSON.stringify(line)).toBe(line.trimEnd());
    },
  );

  it('columns stay below their titles, whatever stands in them', async () => {
    const { text } = await inTerminal(cli, 80, ['hook', 'checkpoints'], desk.how());
    const [head = '', ...rows] = uncolored(text).trimEnd().split('\n');
    const at = head.indexOf('DESCRIPTION');
    expect(rows.join()).toContain('日本');
    expect(rows.some((row) => row.includes('…'))).toBe(true);
    for (const row of rows) {
      // As many cells stand before the description as before its title, the last two of them empty.
      const chars = Array.from(row);
      const cut = chars.findIndex((_char, index) => cellsOf(chars.slice(0, index).join('')) === at);
      expect(chars.slice(cut - 2, cut).join(''), row).toBe('  ');
      expect(chars[cut], row).toMatch(/\S/u);
    }
  });

  it('nothing is lost where a value goes on below itself', async () => {
    const { text } = await inTerminal(cli, 40, ['status'], desk.how());
    const whole = uncolored(text).replaceAll(/\s/gu, '');
    expect(whole).toContain(desk.root.replaceAll(/\s/gu, ''));
    const dry = await inTerminal(cli, 40, ['recover', '--dry-run'], desk.how());
    expect(dry.text.replaceAll(/\s/gu, '')).toContain('nothingwaschanged.');
  });

  it('there are colours, but for those who want none', async () => {
    const colored = await inTerminal(cli, 80, ['status'], desk.how());
    expect(colored.text).toContain(`${ESC}[36mRunning`);
    expect(colored.text).toContain(`${ESC}[39m`);
    for (const env of [{ NO_COLOR: '1' }, { TERM: 'dumb' }]) {
      const plain = await inTerminal(cli, 80, ['status'], desk.how({ env }));
      expect(plain.text).toContain('Running');
      expect(plain.text, JSON.stringify(env)).not.toContain(ESC);
    }
    expect((await inTerminal(cli, 80, ['status'], desk.how({ env: { NO_COLOR: '' } }))).text).toContain(ESC);
    expect((await inTerminal(cli, 80, ['status', '--json'], desk.how())).text).not.toContain(ESC);
  });

  it('a width that is not known is taken for 80', async () => {
    const { text } = await inTerminal(cli, 0, ['status'], desk.how());
    expect(Math.max(...uncolored(text).split('\n').map(cellsOf))).toBeGreaterThan(60);
  });

  it.each([
    ['y\n', true],
    ['Yes\n', true],
    ['n\n', false],
    ['\n', false],
    ['yea\n', false],
    ['', false],
  ])('a workspace is destroyed by a yes alone (%j)', async (typed, gone) => {
    const own = new Desk(cli, `destroy${SUFFIX.next}`);
    await own.running();
    const name = path.basename(own.folder);
    const { code, text } = await inTerminal(cli, 80, ['workspace', 'destroy', name], { ...own.how(), typed });
    expect(text).toContain(`Destroy workspace "${name}" with its 1 task, 1 of them open?`);
    expect(existsSync(path.join(own.root, 'workspaces', name))).toBe(!gone);
    expect(code).toBe(gone ? 0 : 1);
    if (!gone) expect(text).toContain('Nothing was destroyed.');
  });
});

const SUFFIX = {
  count: 0,
  get next(): string {
    return String((this.count += 1));
  },
};

describe.runIf(!hasTerminals())('in a terminal', () => {
  it.skip('is not looked at here: there is no `script` of util-linux', () => undefined);
});

describe.concurrent('off a terminal', { timeout: 60_000 }, () => {
  it.each(SHOWN.map((args) => [args.join(' '), args] as const))(
    '"%s" has no colour and nothing is cut',
    async (_name, args) => {
      const env = { FORCE_COLOR: '1', COLUMNS: '40', TERM: 'xterm-256color' };
      const said = await desk.apartWith({ env }, ...args);
      expect(said.out + said.err).not.toContain(ESC);
      expect(said.out).not.toContain('…');
    },
  );

  it('nobody can be asked, so a workspace is destroyed with --yes alone', async () => {
    const own = new Desk(cli, 'unasked');
    await own.running();
    const asked = await own.runWith({ input: 'y\n' }, 'workspace', 'destroy', 'unasked');
    expect(asked).toMatchObject({ code: 2, out: '' });
    expect(asked.err).toContain('There is no terminal to ask in.\nIf you are sure, run it again with --yes.\n');
    expect(existsSync(path.join(own.root, 'workspaces', 'unasked'))).toBe(true);
    await own.ok('workspace', 'destroy', 'unasked', '--yes');
    expect(existsSync(path.join(own.root, 'workspaces', 'unasked'))).toBe(false);
  });
});
