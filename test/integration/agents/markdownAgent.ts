/*
 * An agent with no memory: a program that knows nothing of Atlas but what HOOK.md and the `atlas` command tell it. It
 * follows "What To Do Now" item by item, running the commands as they stand there through a shell, and does the work
 * itself with files and git. It dies right after each kind of tool call in each step, once. As a host of its own it
 * fires lifecycle hooks; in a hurry it starts each next step with the command that ends the one before.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';

/** How an agent's session ends; the harness reads it from the exit code. */
const EXIT = { done: 0, waiting: 10, lost: 11 };
const LOG = process.env['AGENT_LOG'] ?? 'agent.log';
/** Where it says of which tool calls it died. */
const DEATHS = `${LOG}.deaths`;
const SESSION = process.env['CLAUDE_CODE_SESSION_ID'];
const isHurried = process.env['AGENT_HURRIES'] === '1';
const WORK = 'work.txt';

interface Section {
  readonly heading: string;
  readonly items: readonly string[];
}

function log(line: string): void {
  appendFileSync(LOG, `${line}\n`);
}

function shell(command: string, input = ''): string {
  log(`$ ${command}`);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { input, encoding: 'utf8' });
  if (status === 0) return stdout;
  log(`  exit ${status}: ${stderr}`);
  process.exit(EXIT.lost);
}

function git(...args: readonly string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim();
}

function sectionOf(markdown: string): Section {
  const text = markdown.split('\n## What To Do Now\n')[1]?.split('\n### ❌')[0] ?? '';
  const heading = /^### (.+)$/mu.exec(text)?.[1] ?? '';
  return { heading, items: text.split('\n').filter((line) => /^\d+\. /u.test(line)) };
}

/** The commands of an item, as they stand there in backticks. */
function commandsOf(item: string): string[] {
  return [...item.matchAll(/`(atlas [^`]+)`/gu)].map((match) => match[1] ?? '');
}

function stepOf(markdown: string): string {
  return /^\*\*Step:\*\* `([^`]+)`/mu.exec(markdown)?.[1] ?? '';
}

/** Dies after a tool call in a step, where it didn't before: of this many kinds of calls at one. */
const EVERY = Number(process.env['KILL_EVERY'] ?? '0');

function dieAfter(step: string, call: string): void {
  mkdirSync(DEATHS, { recursive: true });
  const mark = `${DEATHS}/${step} ${call.replaceAll(/\W+/gu, '-')}`;
  if (EVERY === 0 || existsSync(mark)) return;
  const places = Number(existsSync(`${DEATHS}.count`) ? readFileSync(`${DEATHS}.count`, 'utf8') : '0') + 1;
  writeFileSync(`${DEATHS}.count`, String(places));
  writeFileSync(mark, '');
  if (places % EVERY !== 0) return;
  log(`! dies in ${step} after ${call}`);
  if (process.env['KILL_PARENT'] === '1') process.kill(process.ppid, 'SIGKILL');
  process.kill(process.pid, 'SIGKILL');
}

/** A tool call: what an agent's host does for it, one after the other. */
function tool<T>(step: string, call: string, act: () => T): T {
  const done = act();
  dieAfter(step, call);
  return done;
}

/** Runs a command of `atlas` as it stands in HOOK.md. */
function atlas(step: string, command: string): void {
  const hurried = isHurried && / (complete|validate) /u.test(command) ? `${command} --start-next` : command;
  tool(step, /^atlas (step )?\w+/u.exec(command)?.[0] ?? command, () => shell(hurried));
}

/** What an item asks for, and whether the step is over after it. */
const HABITS: readonly { readonly when: RegExp; readonly act: (step: string, command: string) => boolean }[] = [
  { when: /^\d+\. Run `atlas step start/u, act: (step, command) => (atlas(step, command), false) },
  {
    when: /record it: `atlas checkpoint/u,
    act: (step, command) => {
      tool(step, 'write half', () => {
        if (!existsSync(WORK) || !readFileSync(WORK, 'utf8').includes(`${step}:`)) appendFileSync(WORK, `${step}:`);
      });
      tool(step, 'write the rest', () => {
        if (!readFileSync(WORK, 'utf8').includes(`${step}: done\n`)) appendFileSync(WORK, ' done\n');
      });
      atlas(step, command.replace('<what is done>', `${step} works`).replace('<what you do next>', `end ${step}`));
      return false;
    },
  },
  {
    when: /commit them with a message/u,
    act: (step) => {
      if (tool(step, 'git status', () => git('status', '--porcelain')) === '') return false;
      tool(step, 'git add', () => git('add', WORK));
      if (git('diff', '--cached', '--name-only') === '') return false;
      tool(step, 'git commit', () => git('commit', '-q', '-m', `${step}: the work`));
      return false;
    },
  },
  {
    when: /push the branch as it is/u,
    act: (step) => {
      tool(step, 'git push', () => git('push', '-q', '-u', 'origin', 'HEAD'));
      return false;
    },
  },
  {
    when: /--trigger pr_created/u,
    act: (step, command) => (atlas(step, command.replace('<its address>', 'https://example.com/pull/1')), false),
  },
  { when: /wait until they have ended/u, act: (step) => (tool(step, 'gh pr checks', () => undefined), false) },
  {
    when: /^\d+\. (When complete|When every check passed)/u,
    act: (step, command) => (atlas(step, command), true),
  },
  {
    when: /declares no commands/u,
    act: (step, command) => (atlas(step, command.replace('<command>', `test -f ${WORK}`)), true),
  },
  {
    when: /^\d+\. Run `atlas (recover|validate|step complete|status)/u,
    act: (step, command) => (atlas(step, command), true),
  },
];

function follow({ items }: Section, step: string): void {
  for (const item of items) {
    const habit = HABITS.find(({ when }) => when.test(item));
    if (habit === undefined) continue;
    if (habit.act(step, commandsOf(item)[0] ?? '')) return;
  }
}

/** What it is told when it begins: by its host's hook, or by looking itself. */
function toldFirst(): string {
  if (SESSION === undefined) return shell('atlas hook synopsis').trim();
  const input = JSON.stringify({ session_id: SESSION, cwd: process.cwd(), source: 'startup' });
  return /^\[ATLAS RECOVERY\].*$/mu.exec(shell('atlas lifecycle session-start --host claude', input))?.[0] ?? '';
}

const synopsis = toldFirst();
if (synopsis === '') process.exit(EXIT.done);
const path = /READ `?(.+?)`? BEFORE PROCEEDING/u.exec(synopsis)?.[1] ?? '';
for (let turn = 0; turn < 100; turn += 1) {
  const markdown = readFileSync(path, 'utf8');
  const section = sectionOf(markdown);
  log(`# ${section.heading}`);
  if (/^## Current State: `(completed|failed|abandoned)`/mu.test(markdown)) process.exit(EXIT.done);
  if (/WAIT|STOP/u.test(section.heading)) process.exit(EXIT.waiting);
  follow(section, stepOf(markdown));
}
process.exit(EXIT.lost);
