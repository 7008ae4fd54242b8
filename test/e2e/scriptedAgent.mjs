/* An agent that works as HOOK.md tells it: it asks, writes what it was told, and has it checked. Its argument is the prompt. */
import { spawnSync } from 'node:child_process';
import { readFileSync, watch, writeFileSync } from 'node:fs';
import path from 'node:path';

const cli = process.env['ATLAS_CLI'];
const [hookMd] = /\S+HOOK\.md/u.exec(process.argv[2] ?? '') ?? [];
if (cli === undefined || hookMd === undefined) throw new Error('needs the command and a prompt that names a HOOK.md');

/** @param {string[]} args */
function atlas(...args) {
  const { status } = spawnSync(process.execPath, [cli ?? '', ...args], { stdio: 'inherit' });
  return status;
}

/** Resolves once HOOK.md has that text. @param {string} text */
function told(text) {
  return new Promise((resolve) => {
    const look = () => {
      if (!readFileSync(hookMd ?? '', 'utf8').includes(text)) return;
      watcher.close();
      resolve(undefined);
    };
    const watcher = watch(path.dirname(hookMd ?? ''), look);
    look();
  });
}

const wasSentBack = readFileSync(hookMd, 'utf8').includes('Count the invoices, too');
if (!wasSentBack) {
  atlas('step', 'ask', 'Which database should keep the invoices?');
  await told('PostgreSQL, as in production');
  atlas('checkpoint', 'The invoices go to PostgreSQL');
}
writeFileSync('invoices.sql', wasSentBack ? 'create table invoice (count int);\n' : 'create table invoice ();\n');
process.exitCode = atlas('validate') ?? 1;
