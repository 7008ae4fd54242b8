/* Set-up of each file: the process, which the next file goes on in, is left as it was found. */
import { afterAll } from 'vitest';
import { rememberEnvironment } from './environment';

const restore = rememberEnvironment();
const folder = process.cwd();

afterAll(() => {
  restore();
  process.chdir(folder);
});
