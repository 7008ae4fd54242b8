import { mkdirSync, readdirSync } from 'node:fs';
import path from 'node:path';

/** Called inside the extension host: runs every `*.test.js` beside this bundle; its rejection fails the run. */
export async function run(): Promise<void> {
  const { default: Mocha } = await import('mocha');
  const mocha = new Mocha({ ui: 'bdd', timeout: 60_000, color: false, reporter: 'spec' });
  for (const file of readdirSync(__dirname).filter((name) => name.endsWith('.test.cjs'))) {
    mocha.addFile(path.join(__dirname, file));
  }
  await mocha.loadFilesAsync();
  const failures = await new Promise<number>((resolve) => {
    const runner = mocha.run(resolve);
    const output = process.env['HOST_REPORT'];
    if (output === undefined) return;
    mkdirSync(path.dirname(output), { recursive: true });
    // A second reporter beside the one for people; it registers itself with the runner, which starts in a later turn.
    new Mocha.reporters.JSON(runner, { reporterOption: { output } } as Mocha.MochaOptions);
  });
  if (failures > 0) throw new Error(`${failures} failed`);
}
