/* Builds what many test files need, before `npm test` runs any. */
import { buildOnce } from '../test/support/built.ts';

await buildOnce();
