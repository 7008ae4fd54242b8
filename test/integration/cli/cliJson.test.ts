import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { schemaFiles } from '../../../scripts/schemaFiles.mts';
import { COMMANDS } from '../../../src/cli/parse/commands';
import { ANSWERS } from '../../../src/cli/commands/schemas';
import { unwrap } from '../../../src/core/shared/errors';
import { BuiltCli, type Said } from '../../support/drivers/cli';
import { TRIALS } from './cliAnswers';
import { Desk } from '../../support/drivers/cliDesk';

/* What `--json` prints: one document, as the published schema says, whatever comes of the command. */

let cli: BuiltCli;
/** The whole schema, and those of single documents. */
let anyOf: ValidateFunction;
const definitions = new Map<string, ValidateFunction>();

beforeAll(async () => {
  cli = await BuiltCli.open();
  const schema = schemaFiles().get('cli.schema.json') as { definitions: Record<string, unknown> };
  // As it is shipped: strict, and through its text.
  const ajv = new Ajv({ strict: true, allErrors: true });
  ajv.addSchema(JSON.parse(JSON.stringify(schema)) as object, 'cli');
  anyOf = ajv.compile({ $ref: 'cli' });
  for (const name of Object.keys(schema.definitions))
    definitions.set(name, ajv.compile({ $ref: `cli#/definitions/${encodeURIComponent(name)}` }));
}, 60_000);

afterAll(() => {
  cli.dispose();
});

interface Document {
  readonly success: boolean;
  readonly command: string;
  readonly error?: { readonly code: string };
}

/** A command's lines on a desk that is arranged for it, each with an option; what comes of them is judged. */
async function tried(
  name: string,
  option: string,
  judge: (said: Said, label: string, words: readonly string[]) => void,
): Promise<void> {
  const { before, lines } = TRIALS[name] ?? { lines: [] };
  const desk = new Desk(cli, `${option.replaceAll('-', '')} ${name}`.replaceAll(' ', '-'));
  await before?.(desk);
  const receipts = lines.some(({ args }) => args.includes('RECEIPT')) ? await desk.ok('receipts', 'list') : '';
  const isOfFiles = lines.some(({ args }) => args.includes('CHECKPOINT'));
  const checkpoints = isOfFiles ? [...(await desk.ok('checkpoint', 'list')).matchAll(/^ckpt-\w+/gmu)] : [];
  for (const [index, { args, exit, env = {}, input }] of lines.entries()) {
    const words = args.map((word) => {
      if (word === 'CHECKPOINT') return checkpoints[0]?.[0] ?? '';
      if (word === 'CHECKPOINT2') return checkpoints[1]?.[0] ?? '';
      if (word === 'RECEIPT') return receiptOf(desk, receipts);
      return word === 'WORKSPACE' ? path.basename(desk.folder) : word;
    });
    const at = words.indexOf('--');
    const asked = at === -1 ? [...words, option] : [...words.slice(0, at), option, ...words.slice(at)];
    const label = `atlas ${asked.join(' ')}`;
    const how = { env, ...(input === undefined ? {} : { input }) };
    // What is said is the command's doing, whatever process runs it; the first document of each is looked at from outside.
    const isApart = option !== '-q' && index === 0;
    const said = await (isApart ? desk.apartWith(how, ...asked) : desk.runWith(how, ...asked));
    expect(said.code, `${label}\n${said.out}${said.err}`).toBe(exit);
    judge(said, label, words);
  }
}

/** One document and nothing else, as the schema says. */
function documentOf({ out, err, code }: Said, label: string, command: string): Document {
  expect(err, label).toBe('');
  const document = JSON.parse(out) as Document;
  expect(out, label).toBe(`${out.trimEnd()}\n`);
  // eslint-disable-next-line no-control-regex -- that is what must not be there
  expect(out, label).not.toMatch(/[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u202a-\u202e]/u);
  // An answer has a definition of its own; an error is one, unless the command came to its end and found a failure.
  const answered = 'notes' in document;
  const validate = definitions.get(answered ? command : 'error');
  expect(validate?.(document), `${label}: ${JSON.stringify(validate?.errors)}`).toBe(true);
  expect(anyOf(document), label).toBe(true);
  expect(document.command, label).toBe(command);
  if (command !== 'run') expect(document.success, label).toBe(code === 0);
  expect(document.success, label).toBe(document.error === undefined);
  return document;
}

function receiptOf(desk: Desk, out: string): string {
  return /rcpt-[0-9a-f]+/u.exec(out)?.[0] ?? `no receipt in ${desk.folder}`;
}

describe('the published schema', () => {
  it('has every command of the table, and no other', () => {
    const names = COMMANDS.map(({ name }) => name).sort();
    expect(Object.keys(ANSWERS).sort()).toEqual(names);
    expect(Object.keys(TRIALS).sort()).toEqual(names);
    for (const name of [...names, 'error']) expect(definitions.has(name), name).toBe(true);
  });

  it('is not true of anything', () => {
    const error = { success: false, command: 'status', error: { code: 'usage', message: 'x' } };
    expect(anyOf(error)).toBe(true);
    for (const wrong of [
      {},
      { ...error, more: 1 },
      { ...error, error: { code: 'usage' } },
      { ...error, success: true },
    ])
      expect(anyOf(wrong), JSON.stringify(wrong)).toBe(false);
  });
});

describe.concurrent('--json of', { timeout: 120_000 }, () => {
  it.each(COMMANDS.map(({ name }) => name))('%s', async (name) => {
    const seen = new Set<number | null>();
    await tried(name, '--json', (said, label, words) => {
      // What an agent says on its standard output goes beside the document.
      const own = name === 'run' && said.err === 'out\n' ? { ...said, err: '' } : said;
      // A group of commands is no command, so its own error names none.
      documentOf(own, label, words.join(' ').startsWith(name) ? name : '');
      seen.add(said.code);
    });
    expect(seen.has(0) || ['validate', 'run'].includes(name), name).toBe(true);
    // A host takes 2 for an order to its agent to go on.
    expect(seen.has(name.startsWith('lifecycle ') ? 1 : 2), name).toBe(true);
  });

  it('a validation that passed, and a run whose agent ended well', async () => {
    const desk = new Desk(cli, 'passed');
    desk.template('checked', { name: 'check', validation: ['echo printed; git --version'] }, { name: 'next' });
    const ref = await desk.running('checked');
    // What is allowed already is not shown again.
    await desk.atlas().allowCommands(unwrap(desk.atlas().catalog.read(ref)));
    const said = await desk.run('validate', '--json');
    expect(documentOf(said, 'validate', 'validate')).toMatchObject({ passed: true, success: true });
    const run = await desk.run('run', '--json', '--', 'git', '--version');
    expect(run.err).toMatch(/^git version/u);
    expect(documentOf({ ...run, err: '' }, 'run', 'run')).toMatchObject({ exit_code: 0, meant: 'nothing_open' });
  });

  it('a line that names no command', async () => {
    const desk = new Desk(cli, 'none');
    for (const args of [['--json'], ['--json', '--help'], ['--json', '--version']]) {
      const said = await desk.run(...args);
      expect(said, args.join(' ')).toMatchObject({ code: 0, err: '' });
      expect(JSON.parse(said.out)).toMatchObject({ success: true, command: '' });
    }
    for (const args of [
      ['nonsense', '--json'],
      ['--json', 'nonsense'],
      ['--json', '-x'],
      ['hook', '--json'],
    ]) {
      const said = await desk.run(...args);
      expect(said.code, args.join(' ')).toBe(2);
      documentOf(said, args.join(' '), '');
    }
    const before = await desk.run('--json', 'status');
    expect(before.code).toBe(3);
    documentOf(before, '--json status', 'status');
  });

  it('a store in trouble', async () => {
    const desk = new Desk(cli, 'trouble');
    const ref = await desk.running();
    const file = desk.fileOf(ref, 'hook.json');
    const hook = JSON.parse(readFileSync(file, 'utf8')) as object;
    writeFileSync(file, JSON.stringify({ ...hook, schema_version: '99.0' }));
    expect(documentOf(await desk.run('status', '--json'), 'status', 'status').success).toBe(true);
    const refused = await desk.run('step', 'note', 'x', '--json');
    expect(documentOf(refused, 'step note', 'step note').error?.code).toBe('too_new');
    const doctor = await desk.run('doctor', '--json');
    expect(doctor.code).toBe(1);
    expect(documentOf(doctor, 'doctor', 'doctor')).toMatchObject({ problems: 1 });
    const list = await desk.run('workspace', 'list', '--json');
    expect(documentOf(list, 'workspace list', 'workspace list').success).toBe(true);
  });
});

/** What is asked for with these is what they say; of what the others change, nothing is said. */
const ANSWERING = new Set(
  ['status', 'hook status', 'hook show', 'hook checkpoints', 'hook export', 'hook synopsis', 'hook verify-receipt']
    .concat([
      'receipts list',
      'receipts verify',
      'receipts export',
      'inbox list',
      'inbox next',
      'workspace list',
      'sessions list',
      'sessions show',
    ])
    .concat(['verify', 'lifecycle status', 'lifecycle doctor', 'lifecycle session-start', 'lifecycle stop', 'doctor'])
    .concat(['lifecycle pre-compact', 'lifecycle subagent-stop', 'completion', 'worker claim', 'worker recover'])
    .concat(['worker list', 'worker status', 'worker show', 'worker ready', 'worker repair', 'worker convoy status'])
    .concat(['worker task list', 'worker task show', 'checkpoint list', 'checkpoint show', 'checkpoint diff']),
);

describe.concurrent('--quiet of', { timeout: 120_000 }, () => {
  it.each(COMMANDS.map(({ name }) => name))('%s', async (name) => {
    let answered = false;
    await tried(name, '-q', ({ code, out, err }, label, words) => {
      // A refusal is said, and so is a check that failed; another program says itself why it did.
      if (code !== 0 && !words.includes('--')) expect(out + err, label).not.toBe('');
      if (code !== 0) return;
      expect(err, label).toBe('');
      // A dry run shows what it was asked for.
      if (!ANSWERING.has(name) && !words.includes('--dry-run')) expect(out, label).toBe('');
      answered ||= out !== '';
    });
    if (ANSWERING.has(name)) expect(answered, name).toBe(true);
  });
});
