/* Writes the JSON schemas that the editor explains hook.json, task.json, templates and settings with, and those of `--json`. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../test/support/project.ts';
import { schemaFiles } from './schemaFiles.mts';

const folder = path.join(PROJECT, 'dist', 'schemas');
mkdirSync(folder, { recursive: true });
for (const [name, schema] of schemaFiles()) {
  writeFileSync(path.join(folder, name), `${JSON.stringify(schema, null, 2)}\n`);
}
