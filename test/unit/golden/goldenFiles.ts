import path from 'node:path';
import { PROJECT } from '../../support/project';

/**
 * The folder of reviewed texts. A test fails where a text differs from its file; to accept new texts, run
 * `npx vitest run --project unit test/unit/golden -u` and review the diff.
 */
export const GOLDEN = path.join(PROJECT, 'test', 'golden');
