import { join } from 'node:path';
import type { GitState } from '../../core/checkpoint/checkpoint';
import type { Repository } from '../../core/shared/ports';
import { readSmall } from './locate';

const SHA = /^[0-9a-f]{40,64}$/u;

function packedRef(commonDir: string, ref: string): string | undefined {
  const packed = readSmall(join(commonDir, 'packed-refs'));
  if (packed === undefined) return undefined;
  for (const line of packed.split('\n')) {
    if (line.endsWith(` ${ref}`)) return line.slice(0, line.indexOf(' '));
  }
  return undefined;
}

/** The commit of a ref, read from its file or packed-refs; `undefined` if there is none (yet). */
export function readRef(repository: Repository, ref: string): string | undefined {
  for (const folder of [repository.gitDir, repository.commonDir]) {
    const text = readSmall(join(folder, ref))?.trim();
    if (text !== undefined && SHA.test(text)) return text;
  }
  return packedRef(repository.commonDir, ref);
}

/** Branch and commit of a worktree's HEAD, without starting a process. A detached HEAD has no branch. */
export function readHead(repository: Repository): GitState {
  const head = readSmall(join(repository.gitDir, 'HEAD'))?.trim() ?? '';
  if (SHA.test(head)) return { commit: head };
  const ref = /^ref: (refs\/\S+)$/u.exec(head)?.[1];
  // Repositories with the reftable format name an invalid branch here: nothing can be read from files.
  if (ref === undefined || ref === 'refs/heads/.invalid') return {};
  const commit = readRef(repository, ref);
  return { branch: ref.replace(/^refs\/heads\//u, ''), ...(commit === undefined ? {} : { commit }) };
}
