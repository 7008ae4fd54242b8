import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { COMMANDS } from '../../../../src/cli/parse/commands';
import { BuiltCli } from '../../../support/drivers/cli';
import { type Shell, hasShell, offered } from './cliShells';

/* `atlas completion`, in the shells themselves. */

const SHELLS: readonly Shell[] = ['bash', 'zsh', 'fish'];
let cli: BuiltCli;
let folder: string;
const scripts = new Map<Shell, string>();

beforeAll(async () => {
  cli = await BuiltCli.open();
  folder = path.join(cli.home, 'files');
  mkdirSync(folder);
  for (const name of ['bundle one.json', 'b*.json', '$(touch hacked).json']) writeFileSync(path.join(folder, name), '');
  for (const shell of SHELLS) {
    const { code, out } = await cli.run('completion', shell);
    expect(code).toBe(0);
    const file = path.join(cli.home, `atlas.${shell}`);
    writeFileSync(file, out);
    scripts.set(shell, out);
  }
}, 60_000);

afterAll(() => {
  // Nothing that was completed was run.
  expect(readdirSync(folder).sort()).toEqual(['$(touch hacked).json', 'b*.json', 'bundle one.json']);
  cli.dispose();
});

const shown = COMMANDS.filter(({ hidden }) => hidden !== true);

/** What can follow some words, as the table of commands says it. */
function next(...before: readonly string[]): string[] {
  const found = shown.flatMap(({ name }) => {
    const words = name.split(' ');
    return before.every((word, index) => words[index] === word) ? [words[before.length] ?? ''] : [];
  });
  return [...new Set(found)].filter((word) => word !== '').sort();
}

for (const shell of SHELLS) {
  const installed = hasShell(shell);
  describe.runIf(installed)(shell, () => {
    const offer = (...words: readonly string[]): string[] =>
      offered(shell, path.join(cli.home, `atlas.${shell}`), ['atlas', ...words], folder);

    it('offers the first word, and the second', () => {
      const first = offer('').filter((word) => !word.startsWith('-'));
      expect(first.sort()).toEqual(next());
      expect(offer('sta').sort()).toEqual(['start', 'status']);
      for (const group of ['hook', 'step', 'receipts', 'workspace', 'spool']) {
        const second = offer(group, '').filter((word) => !word.startsWith('-'));
        expect(second.sort(), group).toEqual(next(group));
      }
      expect(offer('hook', 'ver')).toEqual(['verify-receipt']);
      expect(offer('nonsense', 'ver')).toEqual([]);
    });

    it('offers the options of each command, and what they can be', { timeout: 120_000 }, () => {
      // fish offers an option when its first dashes are typed; so do the others, but for them each starts with one.
      for (const { name, options = [] } of shown) {
        const words = offer(...name.split(' '), '--');
        const long = options.map(({ flags }) => /--[a-z-]+/u.exec(flags)?.[0] ?? '');
        expect([...new Set(words)].sort(), name).toEqual([...long, '--help', '--json', '--quiet'].sort());
      }
      const triggers = ['git_commit', 'git_push', 'manual', 'pr_created'];
      expect(offer('checkpoint', '--trigger', '').sort()).toEqual(triggers);
      expect(offer('checkpoint', '--auto', '--trigger', 'git').sort()).toEqual(['git_commit', 'git_push']);
      expect(
        offer('completion', '')
          .filter((word) => !word.startsWith('-'))
          .sort(),
      ).toEqual(['bash', 'fish', 'zsh']);
    });

    it("knows an option's value from a command", () => {
      expect(offer('step', 'note', '--working-on', 'hook', '--att')).toEqual(['--attempt']);
      expect(offer('start', '--template', '')).toEqual([]);
      expect(offer('status', '--task', 'sta')).toEqual([]);
    });

    it('offers files, whatever they are called, where a file is asked for', () => {
      for (const words of [
        ['receipts', 'verify', 'b'],
        ['receipts', 'verify', '--keys', 'b'],
        ['step', 'start', '--prompt-file', 'b'],
      ]) {
        const files = offer(...words).map((word) => word.replaceAll('\\', ''));
        expect(files.sort(), words.join(' ')).toEqual(shell === 'zsh' ? ['<files>'] : ['b*.json', 'bundle one.json']);
      }
      expect(offer('status', 'b')).toEqual([]);
    });

    it('runs nothing that is typed', () => {
      for (const word of ['$(touch hacked)', '`touch hacked`', '$HOME', ';touch hacked', '*', 'a b']) {
        const typed = shell === 'fish' ? `"${word.replaceAll('$', '\\$')}"` : word;
        offer(typed, '');
        offer('receipts', 'verify', typed);
        offer('status', '--task', typed, '');
        offer('run', '--', typed);
      }
      expect(readdirSync(folder)).toHaveLength(3);
    });
  });
  // A machine without the shell can't say whether its script is right.
  describe.runIf(!installed)(shell, () => {
    it.skip(`is not looked at here: ${shell} is not installed`, () => undefined);
  });
}

describe('the scripts', () => {
  it.each(SHELLS)('for %s evaluate nothing, start no program, and know every command', (shell) => {
    const script = scripts.get(shell) ?? '';
    expect(script).not.toMatch(/\beval\b/u);
    const code = script.split('\n').filter((line) => !line.startsWith('#'));
    // The command is named where completion is bound to it, and never called.
    for (const line of code) expect(line).not.toMatch(/(\$\(|`|[|;&]\s*)atlas\b/u);
    for (const { name } of shown) expect(script, name).toContain(`'${name}'`);
    for (const { name, hidden } of COMMANDS) if (hidden === true) expect(script).not.toContain(`'${name}'`);
  });

  it('print alike, however often', async () => {
    expect((await cli.run('completion', 'bash')).out).toBe(scripts.get('bash'));
    expect((await cli.runIn({ env: { SHELL: '/bin/zsh' } }, 'completion', 'bash')).out).toBe(scripts.get('bash'));
  });
});
