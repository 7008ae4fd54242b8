import { existsSync } from 'node:fs';
import path from 'node:path';

/** Walks up from the working folder, because a bundle in `out/` and a source in `test/` lie at different depths. */
function findProject(from: string): string {
  if (existsSync(path.join(from, 'esbuild.mjs'))) return from;
  const parent = path.dirname(from);
  if (parent === from) throw new Error('run this inside the project folder');
  return findProject(parent);
}

/** The project's root folder (absolute). */
export const PROJECT = findProject(process.cwd());

/** Where test runners put what they make: reports, screenshots, bundles of the in-host suite. */
export const OUT = path.join(PROJECT, 'out');
