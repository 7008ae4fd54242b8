/*
 * An agent with no memory: a program that knows nothing of Atlas but what HOOK.md and the `atlas` command tell it. It
 * follows "What To Do Now" item by item, running the commands as they stand there through a shell, and does the work
 * itself with files and git. With KILL_IN it dies in the middle of that step, once.
 */
import { execFileSync, spawnSync } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, writeFileSync } from 'node:fs';

/** How an agent's session ends; the harness reads it from the exit code. */
const EXIT = { done: 0, waiting: 10, lost: 11 };
const LOG = process.env['AGENT_LOG'] ?? 'agent.log';
const WORK = 'work.txt';

interface Section {
  readonly heading: string;
  readonly items: readonly string[];
}

function log(line: string): void {
  appendFileSync(LOG, `${line}\n`);
}

function shell(command: string): string {
  log(`$ ${command}`);
  const { status, stdout, stderr } = spawnSync('sh', ['-c', command], { encoding: 'utf8' });
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

/** Dies if this is where it is told to, and did not before. */
function dieIn(step: string, point: string): void {
  const mark = `${LOG}.died-in-${step}`;
  if (process.env['KILL_IN'] !== step || existsSync(mark)) return;
  writeFileSync(mark, '');
  log(`! dies in ${step} ${point}`);
  if (process.env['KILL_PARENT'] === '1') process.kill(process.ppid, 'SIGKILL');
  process.kill(process.pid, 'SIGKILL');
}

/** What an item asks for, and whether the step is over after it. */
const HABITS: readonly { readonly when: RegExp; readonly act: (step: string, command: string) => boolean }[] = [
  { when: /^\d+\. Run `atlas step start/u, act: (_step, command) => (shell(command), false) },
  {
    when: /record it: `atlas checkpoint/u,
    act: (step, command) => {
      if (!existsSync(WORK) || !readFileSync(WORK, 'utf8').includes(`${step}\n`)) appendFileSync(WORK, `${step}\n`);
      shell(command.replace('<what is done>', `${step} works`).replace('<what you do next>', `end ${step}`));
      dieIn(step, 'after its checkpoint');
      return false;
    },
  },
  {
    when: /commit them with a message/u,
    act: (step) => {
      if (git('status', '--porcelain') !== '') {
        git('add', WORK);
        git('commit', '-q', '-m', `${step}: the work`);
      }
      dieIn(step, 'after its commit');
      return false;
    },
  },
  {
    when: /push the branch as it is/u,
    act: (step) => {
      git('push', '-q', '-u', 'origin', 'HEAD');
      dieIn(step, 'after its push');
      return false;
    },
  },
  {
    when: /--trigger pr_created/u,
    act: (step, command) => {
      shell(command.replace('<its address>', 'https://example.com/pull/1'));
      dieIn(step, 'after its pull request');
      return false;
    },
  },
  { when: /wait until they have ended/u, act: (step) => (dieIn(step, 'while it waits'), false) },
  {
    when: /^\d+\. (When complete|When every check passed)/u,
    act: (step, command) => (dieIn(step, 'before its end'), shell(command), true),
  },
  {
    when: /declares no commands/u,
    act: (step, command) => {
      dieIn(step, 'before its checks');
      shell(command.replace('<command>', `test -f ${WORK}`));
      return true;
    },
  },
  {
    when: /^\d+\. Run `atlas (recover|validate|step complete|status)/u,
    act: (_step, command) => (shell(command), true),
  },
];

function follow({ items }: Section, step: string): void {
  for (const item of items) {
    const habit = HABITS.find(({ when }) => when.test(item));
    if (habit === undefined) continue;
    if (habit.act(step, commandsOf(item)[0] ?? '')) return;
  }
}

const synopsis = shell('atlas hook synopsis').trim();
if (synopsis === '') process.exit(EXIT.done);
const path = /READ `?(.+?)`? BEFORE PROCEEDING/u.exec(synopsis)?.[1] ?? '';
for (let turn = 0; turn < 100; turn += 1) {
  const markdown = readFileSync(path, 'utf8');
  const section = sectionOf(markdown);
  log(`# ${section.heading}`);
  if (/^## Current State: `(completed|failed|abandoned)`/mu.test(markdown)) process.exit(EXIT.done);
  if (/WAIT/u.test(section.heading)) process.exit(EXIT.waiting);
  follow(section, stepOf(markdown));
}
process.exit(EXIT.lost);
