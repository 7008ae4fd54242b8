import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { unwrap } from '../../../src/core/shared/errors';
import type { Desk } from '../../support/drivers/cliDesk';
import { WORKER_TRIALS } from './cliWorkerAnswers';

/** A line that a command is tried with, in a situation of its own. */
export interface Line {
  readonly args: readonly string[];
  readonly exit: number;
  readonly env?: Readonly<Record<string, string>>;
  readonly input?: string;
}

/** How a command is brought to each kind of answer: on a desk of its own, one line after the other. */
export interface Trial {
  /** Arranges what the first line finds. */
  readonly before?: (desk: Desk) => Promise<unknown>;
  readonly lines: readonly Line[];
}

const MINUTE = 60_000;
const DAY = 24 * 60 * MINUTE;
const CHECKED = { name: 'check', validation: ['git --version'] };
const AGENT = { CLAUDECODE: '1' };

const running = async (desk: Desk): Promise<unknown> => desk.running();
const started = async (desk: Desk): Promise<unknown> => desk.started();

/** A task that waits for a human. */
async function waiting(desk: Desk): Promise<void> {
  await desk.running();
  await desk.ok('step', 'ask', 'Which one?');
}

/** A task whose work waits for a human's approval. */
async function reviewed(desk: Desk): Promise<void> {
  desk.template('reviewed', { name: 'look', type: 'human' }, { name: 'next' });
  await desk.running('reviewed');
}

/** A task that has one receipt and is at its second step. */
async function validated(desk: Desk): Promise<void> {
  desk.template('checked', CHECKED, { name: 'next' });
  await desk.running('checked');
  await desk.ok('validate');
}

/** A task whose hook.json something else has edited. */
async function edited(desk: Desk): Promise<void> {
  const ref = unwrap(await desk.atlas().startTask({ title: 'Sample', template: 'task', folder: desk.folder })).ref;
  const file = desk.fileOf(ref, 'hook.json');
  writeFileSync(file, `${readFileSync(file, 'utf8')} `);
}

async function crashed(desk: Desk): Promise<void> {
  await desk.running('task', 'Sample', 20 * MINUTE);
}

async function over(desk: Desk): Promise<void> {
  const ref = await desk.running('task', 'Old', 8 * DAY);
  unwrap(await desk.atlas(8 * DAY).send(ref, { type: 'fail', by: 'human', reason: 'no' }));
}

async function bundled(desk: Desk): Promise<void> {
  await validated(desk);
  await desk.ok('receipts', 'export', '--output', 'bundle.json');
  await desk.ok('receipts', 'export', '--output', 'forged.json');
  const file = path.join(desk.folder, 'forged.json');
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll('git --version', 'git --forged'));
}

/** A commit whose tree has a receipt, with a policy and the own key, and one before it without either. */
async function covered(desk: Desk): Promise<void> {
  desk.template('checked', { name: 'check', validation: ['git --version'] }, { name: 'next' });
  await desk.ok('keys', 'trust', '--name', 'Ana');
  const checks = [{ name: 'git', run: 'git --version' }];
  desk.write('.atlas/config.yaml', JSON.stringify({ verify: { checks } }));
  desk.git('add', '.');
  desk.git('commit', '-q', '-m', 'policy');
  await desk.running('checked');
  await desk.ok('validate');
}

/** The same, with a remote that receipts can be pushed to. */
async function attached(desk: Desk): Promise<void> {
  await covered(desk);
  await desk.ok('receipts', 'attach');
  const remote = `${desk.folder}.git`;
  desk.git('init', '-q', '--bare', remote);
  desk.git('remote', 'add', 'origin', remote);
}

/** The same, with a commit after it that changes what is demanded. */
async function demanded(desk: Desk): Promise<void> {
  await attached(desk);
  desk.git('branch', 'base');
  desk.write('.atlas/config.yaml', '{}');
  desk.git('commit', '-q', '-a', '-m', 'no policy');
}

/** Two checkpoints with their files, and files that were changed after them. */
async function captured(desk: Desk): Promise<void> {
  const ref = await desk.running();
  const atlas = desk.atlas();
  const { files } = await atlas.snapshots();
  for (const text of ['one', 'two', 'three']) {
    desk.write('a.txt', `${text}\n`);
    if (text === 'three') return;
    const made = unwrap(await atlas.checkpoint(ref, text));
    await files.take(ref, [made.hook.checkpoints.at(-1)?.checkpoint_id ?? '']);
  }
}

/** An inbox with two items. */
async function asked(desk: Desk): Promise<void> {
  for (const content of ['first', 'second']) await desk.ok('inbox', 'add', content, '--trigger', 'email');
}

/** The first of two items is claimed by session a. */
async function claimed(desk: Desk): Promise<void> {
  await asked(desk);
  await desk.ok('inbox', 'next', '--session', 'a');
}

/** A line of words; the last argument may hold spaces. */
function line(exit: number, words: string, last?: string, more: Omit<Line, 'args' | 'exit'> = {}): Line {
  return { args: [...words.split(' '), ...(last === undefined ? [] : [last])], exit, ...more };
}

/** A desk at which two sessions were observed: one that works, and one that has ended. */
async function observed(desk: Desk): Promise<void> {
  const folder = path.join(desk.root, 'observed');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  writeFileSync(path.join(desk.root, 'config.yaml'), 'sessions:\n  track: true\n');
  const report = (name: string, id: string, more: object): void => {
    const body = JSON.stringify({ session_id: id, cwd: desk.folder, ...more });
    writeFileSync(path.join(folder, `claude.${name}.json`), `v1 pid= start= ci= run= entry=\n${body}`);
  };
  report('1', '1111-one', { hook_event_name: 'UserPromptSubmit', prompt: 'Fix it' });
  report('2', '2222-two', { hook_event_name: 'SessionEnd', reason: 'logout' });
  return Promise.resolve();
}

/** For every command: success, refusal where it has one, wrong usage. A command without an entry fails the test. */
export const TRIALS: Readonly<Record<string, Trial>> = {
  start: { lines: [line(0, 'start', 'fix it'), line(2, 'start'), line(3, 'start x --template nonsense')] },
  status: {
    before: validated,
    lines: [line(0, 'status'), line(3, 'status --task task-20200101-000000'), line(2, 'status x')],
  },
  'hook status': { before: crashed, lines: [line(0, 'hook status'), line(2, 'hook status --nonsense')] },
  'step start': {
    before: started,
    lines: [line(0, 'step start'), line(4, 'step start'), line(2, 'step start --attempt x')],
  },
  'step note': {
    before: running,
    lines: [line(0, 'step note x --file a.ts'), line(4, 'step note x --attempt 2'), line(2, 'step note x y')],
  },
  'step output': {
    before: running,
    lines: [line(0, 'step output -', undefined, { input: 'done' }), line(4, 'step output'), line(2, 'step output a b')],
  },
  'step complete': {
    before: running,
    lines: [line(4, 'step complete other'), line(0, 'step complete'), line(2, 'step complete --attempt 0')],
  },
  'step ask': {
    before: running,
    lines: [line(0, 'step ask', 'which one?'), line(4, 'step ask x'), line(2, 'step ask')],
  },
  'step fail': {
    before: running,
    lines: [line(0, 'step fail', 'it is gone'), line(4, 'step fail x'), line(2, 'step fail')],
  },
  validate: {
    before: running,
    lines: [
      line(2, 'validate'),
      line(1, 'validate --command', 'git nonsense'),
      line(4, 'validate --command x --attempt 9'),
    ],
  },
  approve: {
    before: reviewed,
    lines: [
      line(4, 'approve', undefined, { env: AGENT }),
      line(0, 'approve'),
      line(4, 'approve'),
      line(2, 'approve x'),
    ],
  },
  answer: {
    before: waiting,
    lines: [line(2, 'answer'), line(0, 'answer PostgreSQL'), line(4, 'answer SQLite')],
  },
  reject: {
    before: waiting,
    lines: [
      line(4, 'reject no', undefined, { env: AGENT }),
      line(0, 'reject', 'not so'),
      line(4, 'reject'),
      line(2, 'reject x y'),
    ],
  },
  fail: {
    before: running,
    lines: [line(2, 'fail'), line(4, 'fail no', undefined, { env: AGENT }), line(0, 'fail no'), line(3, 'fail no')],
  },
  acknowledge: {
    before: edited,
    lines: [
      line(4, 'acknowledge', undefined, { env: AGENT }),
      line(0, 'acknowledge'),
      line(3, 'acknowledge'),
      line(2, 'acknowledge x'),
    ],
  },
  abandon: {
    before: running,
    lines: [
      line(4, 'abandon', undefined, { env: AGENT }),
      line(0, 'abandon'),
      line(3, 'abandon'),
      line(2, 'abandon x y'),
    ],
  },
  resume: {
    before: crashed,
    lines: [
      line(0, 'resume'),
      line(0, 'resume'),
      line(2, 'resume x'),
      line(2, 'resume --with nobody'),
      line(3, 'resume --with codex --session nowhere'),
      line(3, 'resume --with codex', undefined, { env: { PATH: '/nowhere' } }),
    ],
  },
  'sessions list': {
    before: observed,
    lines: [line(0, 'sessions list'), line(0, 'sessions list --all'), line(2, 'sessions list x')],
  },
  'sessions show': {
    before: observed,
    lines: [line(0, 'sessions show 1111'), line(3, 'sessions show nowhere'), line(2, 'sessions show')],
  },
  'sessions forget': {
    before: observed,
    lines: [
      line(4, 'sessions forget 1111', undefined, { env: AGENT }),
      line(2, 'sessions forget 1111'),
      line(0, 'sessions forget 1111 --yes'),
      line(3, 'sessions forget 1111 --yes'),
      line(2, 'sessions forget'),
      line(0, 'sessions forget --all --yes'),
    ],
  },
  'sessions end-processes': {
    before: observed,
    lines: [
      line(4, 'sessions end-processes 1111'),
      line(0, 'sessions end-processes 2222'),
      line(4, 'sessions end-processes 2222', undefined, { env: AGENT }),
      line(2, 'sessions end-processes'),
    ],
  },
  'sessions use-template': {
    before: observed,
    lines: [
      line(0, 'sessions use-template 1111 patch'),
      line(3, 'sessions use-template 1111 nonsense'),
      line(2, 'sessions use-template 1111'),
    ],
  },
  'sessions refresh': { before: observed, lines: [line(0, 'sessions refresh'), line(2, 'sessions refresh x')] },
  recover: {
    before: crashed,
    lines: [
      line(0, 'recover --dry-run'),
      line(4, 'recover --action skip_step', undefined, { env: AGENT }),
      line(0, 'recover'),
      line(2, 'recover --action nonsense'),
    ],
  },
  checkpoint: {
    before: running,
    lines: [
      line(0, 'checkpoint x'),
      line(0, 'checkpoint --auto x --task task-20200101-000000'),
      line(3, 'checkpoint x --workspace nonsense'),
      line(2, 'checkpoint --trigger nonsense'),
    ],
  },
  'checkpoint list': {
    before: captured,
    lines: [
      line(0, 'checkpoint list'),
      line(3, 'checkpoint list --task task-20200101-000000'),
      line(2, 'checkpoint list x'),
    ],
  },
  'checkpoint show': {
    before: captured,
    lines: [
      line(0, 'checkpoint show CHECKPOINT'),
      line(0, 'checkpoint show CHECKPOINT a.txt'),
      line(0, 'checkpoint show CHECKPOINT a.txt --output copy.txt'),
      line(1, 'checkpoint show CHECKPOINT a.txt --output copy.txt'),
      line(3, 'checkpoint show CHECKPOINT none.txt'),
      line(1, 'checkpoint show CHECKPOINT ../outside'),
      line(3, 'checkpoint show ckpt-0fffffff'),
      line(2, 'checkpoint show'),
    ],
  },
  'checkpoint diff': {
    before: captured,
    lines: [
      line(0, 'checkpoint diff'),
      line(0, 'checkpoint diff CHECKPOINT CHECKPOINT2 --name-only'),
      line(0, 'checkpoint diff CHECKPOINT a.txt --stat'),
      line(0, 'checkpoint diff --stat --pathspec-file-nul -', undefined, { input: 'a.txt\0' }),
      line(3, 'checkpoint diff ckpt-0fffffff'),
      line(2, 'checkpoint diff --nonsense'),
    ],
  },
  'checkpoint restore': {
    before: captured,
    lines: [
      line(0, 'checkpoint restore CHECKPOINT --dry-run'),
      line(4, 'checkpoint restore CHECKPOINT --yes', undefined, { env: AGENT }),
      line(2, 'checkpoint restore CHECKPOINT'),
      line(3, 'checkpoint restore CHECKPOINT none.txt --yes'),
      line(0, 'checkpoint restore CHECKPOINT a.txt --yes'),
      line(3, 'checkpoint restore ckpt-0fffffff --yes'),
    ],
  },
  'checkpoint undo-restore': {
    before: async (desk) => {
      await captured(desk);
      const [last = ''] = (await desk.ok('checkpoint', 'list')).match(/^ckpt-\w+/gmu) ?? [];
      await desk.ok('checkpoint', 'restore', last, '--yes');
    },
    lines: [
      line(0, 'checkpoint undo-restore --dry-run'),
      line(4, 'checkpoint undo-restore --yes', undefined, { env: AGENT }),
      line(0, 'checkpoint undo-restore --yes'),
      line(2, 'checkpoint undo-restore x'),
    ],
  },
  'checkpoint capture': {
    before: running,
    lines: [
      line(0, 'checkpoint capture'),
      line(0, 'checkpoint capture --point start_step'),
      line(2, 'checkpoint capture --point x'),
    ],
  },
  run: {
    before: running,
    lines: [line(3, 'run -- no-such-agent'), line(5, 'run -- sh -c', 'echo out; exit 5'), line(2, 'run')],
  },
  'hook checkpoints': { before: validated, lines: [line(0, 'hook checkpoints'), line(2, 'hook checkpoints x')] },
  'hook show': { before: running, lines: [line(0, 'hook show'), line(2, 'hook show x')] },
  'hook regenerate': { before: running, lines: [line(0, 'hook regenerate'), line(2, 'hook regenerate x')] },
  'hook export': {
    before: validated,
    lines: [line(0, 'hook export --format json'), line(2, 'hook export --format xml')],
  },
  'hook verify-receipt': {
    before: validated,
    lines: [
      line(0, 'hook verify-receipt', 'RECEIPT'),
      line(3, 'hook verify-receipt rcpt-0'),
      line(2, 'hook verify-receipt'),
    ],
  },
  'hook synopsis': {
    before: running,
    lines: [line(0, 'hook synopsis'), line(0, 'hook synopsis --task task-20200101-000000'), line(2, 'hook synopsis x')],
  },
  'hook install': { lines: [line(0, 'hook install'), line(0, 'hook install --force'), line(2, 'hook install x')] },
  'hook uninstall': { lines: [line(0, 'hook uninstall'), line(2, 'hook uninstall x')] },
  'spool drain': { lines: [line(0, 'spool drain'), line(2, 'spool')] },
  'receipts list': { before: validated, lines: [line(0, 'receipts list'), line(2, 'receipts list x')] },
  'receipts export': {
    before: validated,
    lines: [
      line(0, 'receipts export'),
      line(0, 'receipts export --output r.json'),
      line(1, 'receipts export --output r.json'),
      line(2, 'receipts export x'),
    ],
  },
  'receipts verify': {
    before: bundled,
    lines: [
      line(0, 'receipts verify bundle.json'),
      line(5, 'receipts verify forged.json'),
      line(3, 'receipts verify nowhere.json'),
      line(2, 'receipts verify'),
    ],
  },
  'receipts attach': {
    before: covered,
    lines: [
      line(0, 'receipts attach'),
      line(0, 'receipts attach HEAD'),
      line(3, 'receipts attach HEAD~1'),
      line(3, 'receipts attach nonsense'),
      line(2, 'receipts attach a b'),
    ],
  },
  'receipts push': {
    before: attached,
    lines: [
      line(2, 'receipts push'),
      line(0, 'receipts push --yes'),
      line(0, 'receipts push origin'),
      line(3, 'receipts push nowhere'),
    ],
  },
  'receipts fetch': {
    before: attached,
    lines: [line(0, 'receipts fetch'), line(3, 'receipts fetch nowhere'), line(2, 'receipts fetch a b')],
  },
  'keys trust': {
    lines: [line(0, 'keys trust --name Ana'), line(0, 'keys trust'), line(2, 'keys trust --kind nonsense')],
  },
  verify: {
    before: demanded,
    lines: [
      line(0, 'verify base --base base'),
      line(5, 'verify base~1 --base base'),
      line(7, 'verify HEAD --base base'),
      line(6, 'verify HEAD --base HEAD'),
      line(3, 'verify nonsense --base base'),
      line(2, 'verify'),
    ],
  },
  'inbox add': {
    lines: [
      line(0, 'inbox add', 'look into it'),
      line(0, 'inbox add - --trigger email', undefined, { input: 'from elsewhere\n' }),
      line(2, 'inbox add', ' '),
      line(2, 'inbox add'),
      line(2, 'inbox add x --session --workspace'),
      line(3, 'inbox add x --workspace nonsense'),
    ],
  },
  'inbox list': {
    before: asked,
    lines: [
      line(0, 'inbox list'),
      line(0, 'inbox list --status all'),
      line(2, 'inbox list --status lost'),
      line(3, 'inbox list --workspace nonsense'),
    ],
  },
  'inbox next': {
    before: asked,
    lines: [
      line(0, 'inbox next --session a'),
      line(0, 'inbox next --session a'),
      line(0, 'inbox next --session b --lease 2h'),
      line(2, 'inbox next --lease soon'),
      line(2, 'inbox next --session', 'a b'),
      line(3, 'inbox next --workspace nonsense'),
    ],
  },
  'inbox complete': {
    before: claimed,
    lines: [
      line(4, 'inbox complete 2', 'too early'),
      line(4, 'inbox complete 1 x --session b'),
      line(0, 'inbox complete 1 - --session a', undefined, { input: 'done' }),
      line(0, 'inbox complete 1 x --session a'),
      line(3, 'inbox complete 9 x'),
      line(2, 'inbox complete one x'),
    ],
  },
  'inbox cancel': {
    before: asked,
    lines: [
      line(0, 'inbox cancel 1', 'asked twice'),
      line(0, 'inbox cancel 1'),
      line(3, 'inbox cancel 9'),
      line(2, 'inbox cancel 0'),
      line(2, 'inbox cancel'),
    ],
  },
  cleanup: {
    before: over,
    lines: [
      line(0, 'cleanup --hooks --retention 7d --dry-run'),
      line(0, 'cleanup --hooks --retention 7d'),
      line(2, 'cleanup'),
    ],
  },
  'workspace list': { before: running, lines: [line(0, 'workspace list'), line(2, 'workspace list x')] },
  'workspace destroy': {
    before: running,
    lines: [
      line(4, 'workspace destroy WORKSPACE', undefined, { env: AGENT }),
      line(2, 'workspace destroy WORKSPACE'),
      line(0, 'workspace destroy WORKSPACE --yes'),
      line(3, 'workspace destroy WORKSPACE --yes'),
    ],
  },
  doctor: { before: running, lines: [line(0, 'doctor'), line(0, 'doctor --fix'), line(2, 'doctor x')] },
  mcp: { lines: [line(0, 'mcp', undefined, { input: '' }), line(2, 'mcp x')] },
  'lifecycle session-start': {
    before: running,
    lines: [
      line(0, 'lifecycle session-start'),
      line(0, 'lifecycle session-start --host gemini', undefined, { input: '{"source":"startup"}' }),
      line(1, 'lifecycle session-start --host emacs'),
    ],
  },
  'lifecycle stop': { before: running, lines: [line(0, 'lifecycle stop'), line(1, 'lifecycle stop x')] },
  'lifecycle pre-compact': {
    before: running,
    lines: [line(0, 'lifecycle pre-compact'), line(1, 'lifecycle pre-compact x')],
  },
  'lifecycle subagent-stop': { lines: [line(0, 'lifecycle subagent-stop'), line(1, 'lifecycle subagent-stop x')] },
  'lifecycle session-end': { lines: [line(0, 'lifecycle session-end'), line(1, 'lifecycle session-end x')] },
  'lifecycle stop-failure': { lines: [line(0, 'lifecycle stop-failure'), line(1, 'lifecycle stop-failure x')] },
  'lifecycle turn-start': { lines: [line(0, 'lifecycle turn-start'), line(1, 'lifecycle turn-start x')] },
  'lifecycle before-discard': { lines: [line(0, 'lifecycle before-discard'), line(1, 'lifecycle before-discard x')] },
  'lifecycle install': {
    lines: [
      line(0, 'lifecycle install --host claude --section --dry-run'),
      line(0, 'lifecycle install --host claude --section --yes'),
      line(1, 'lifecycle install --host claude --host codex'),
      line(1, 'lifecycle install'),
    ],
  },
  'lifecycle uninstall': {
    lines: [line(0, 'lifecycle uninstall --host cursor --yes'), line(1, 'lifecycle uninstall --host x')],
  },
  'lifecycle doctor': { lines: [line(0, 'lifecycle doctor'), line(1, 'lifecycle doctor x')] },
  'lifecycle status': { lines: [line(0, 'lifecycle status'), line(1, 'lifecycle status x')] },
  ...WORKER_TRIALS,
  completion: { lines: [line(0, 'completion bash'), line(2, 'completion tcsh')] },
};
