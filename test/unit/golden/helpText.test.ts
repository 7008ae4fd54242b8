import { expect, it } from 'vitest';
import { COMMANDS } from '../../../src/cli/parse/commands';
import { type CommandSpec, type ProgramTexts, parseCommandLine } from '../../../src/cli/parse/commandLine';
import { WORKER_COMMANDS, asForge } from '../../../src/cli/commands/worker/workerCommands';
import { GOLDEN } from './goldenFiles';

/** The help of one command line, as a pipe gets it. */
function help(program: ProgramTexts['program'], specs: readonly CommandSpec[], name: string): string {
  const words = name === '' ? [] : name.split(' ');
  const parsed = parseCommandLine([...words, '--help'], specs, { version: '0.0.0', columns: 100, program });
  if (!parsed.ok || parsed.value.kind !== 'text') throw new Error(`no help for ${program} ${name}`);
  return `$ ${[program, ...words, '--help'].join(' ')}\n${parsed.value.text.trimEnd()}\n`;
}

/** Every command and every group of commands, with the program itself first. */
function names(specs: readonly CommandSpec[]): string[] {
  const all = specs.flatMap(({ name }) => {
    const words = name.split(' ');
    return words.map((_, index) => words.slice(0, index + 1).join(' '));
  });
  return ['', ...new Set(all)];
}

it('describes every command as reviewed', async () => {
  const forge = WORKER_COMMANDS.map(asForge);
  const pages = [
    ...names(COMMANDS).map((name) => help('atlas', COMMANDS, name)),
    ...names(forge).map((name) => help('forge', forge, name)),
  ];
  await expect(pages.join('\n')).toMatchFileSnapshot(`${GOLDEN}/help.txt`);
});
