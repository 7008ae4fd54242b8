/* `npm run strings`: writes test/golden/strings.txt, which has every text that a person reads. A test says when that is due. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../test/support/project.ts';
import { STRINGS, stringsList } from './stringsList.mts';

const file = path.join(PROJECT, STRINGS);
mkdirSync(path.dirname(file), { recursive: true });
writeFileSync(file, await stringsList());
