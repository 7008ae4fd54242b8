/* `npm run l10n`: writes l10n/bundle.l10n.json from the messages of src/extension. A test says when that is due. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../test/support/project.ts';
import { L10N_BUNDLE, l10nBundle } from './l10nBundle.mts';

const file = path.join(PROJECT, L10N_BUNDLE);
mkdirSync(path.dirname(file), { recursive: true });
writeFileSync(file, await l10nBundle());
