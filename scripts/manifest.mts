/* Writes what of package.json is made from the code: the tools for the editor's models. A test says when that is due. */
import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../test/support/project.ts';
import { languageModelTools } from './manifestTools.mts';

const file = path.join(PROJECT, 'package.json');
const manifest = JSON.parse(readFileSync(file, 'utf8')) as { contributes: Record<string, unknown> };
manifest.contributes['languageModelTools'] = languageModelTools();
writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
