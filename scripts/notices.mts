/* `npm run notices`: writes THIRD-PARTY-NOTICES.txt after a build; `npm run package` says when that is due. */
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import { PROJECT } from '../test/support/project.ts';
import { NOTICES, thirdPartyNotices } from './thirdParty.mts';

const { text, problems } = thirdPartyNotices();
writeFileSync(path.join(PROJECT, NOTICES), text);
for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
