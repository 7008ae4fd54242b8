/* Fills a sample repository and store: a bug fix in the middle of its third step, and a task that is finished. */
import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { type Result, unwrap } from '../src/core/shared/errors.ts';
import { Atlas } from '../src/service/atlas.ts';
import { silentLog, systemPorts } from '../src/service/ports.ts';
import type { TaskRef } from '../src/core/task/taskRef.ts';
import type { Updated } from '../src/core/task/storedTask.ts';
import { run } from '../test/support/drivers/run.ts';

const PARSER = `package config

// Config is what the server is started with.
type Config struct {
	Server   *Server
	Database *Database
	Cache    *Cache
}

// Parse reads a configuration.
func Parse(data []byte) (*Config, error) {
	config := &Config{}
	return config, unmarshal(data, config)
}
`;

const FIXED = PARSER.replace(
  'config := &Config{}\n\treturn config, unmarshal(data, config)',
  'config := &Config{}\n\tif err := unmarshal(data, config); err != nil {\n\t\treturn nil, err\n\t}\n\tif config.Server == nil {\n\t\tconfig.Server = &Server{}\n\t}\n\treturn config, nil',
);

const MINUTE = 60_000;
/** How long ago the sample's story began; it ends now. */
const STORY_MS = 27.5 * MINUTE;

/** Makes the tasks in the store that `env` names (`ATLAS_HOME`), with commits in the repository `folder`. */
export async function createSampleTask(folder: string, env: Readonly<Record<string, string>>): Promise<TaskRef> {
  const home = env['ATLAS_HOME'];
  if (home === undefined) throw new Error('ATLAS_HOME has to say where the sample store is made');
  Object.assign(process.env, env);
  let now = Date.now() - STORY_MS;
  const clock = { now: () => now };
  const atlas = new Atlas({ ...systemPorts(home, '0.1.0', silentLog), clock });
  const pass = (minutes: number): void => {
    now += minutes * MINUTE;
  };
  const git = (...args: string[]): Promise<string> => {
    const date = `${Math.floor(now / 1000)} +0000`;
    const dates = { GIT_AUTHOR_DATE: date, GIT_COMMITTER_DATE: date };
    return run('git', args, { cwd: folder, env: { ...process.env, ...env, ...dates } });
  };
  const write = (name: string, text: string): void => {
    mkdirSync(path.dirname(path.join(folder, name)), { recursive: true });
    writeFileSync(path.join(folder, name), text);
  };
  const step = async (result: Promise<Result<Updated>>): Promise<TaskRef> => unwrap(await result).ref;
  const commit = async (message: string): Promise<void> => {
    await git('add', '.');
    await git('commit', '--quiet', '--message', message);
    const { repository } = await atlas.locate(folder);
    if (repository !== undefined) unwrap(await (await atlas.git()).scan(repository));
  };

  write('config/parser.go', PARSER);
  await commit('Parse the configuration');

  const earlier = await step(atlas.startTask({ title: 'push the parser', template: 'commit', folder }));
  for (let left = 3; left > 0; left -= 1) {
    await step(atlas.startStep(earlier));
    pass(1.5);
    if (left === 1) await git('push', '--quiet');
    await step(atlas.send(earlier, { type: 'step_complete' }));
  }

  pass(9);
  const ref = await step(atlas.startTask({ title: 'fix null pointer in config', template: 'bugfix', folder }));
  for (const workingOn of ['Reading config/parser.go', 'Where nil can come from']) {
    await step(atlas.startStep(ref, { workingOn }));
    pass(workingOn.startsWith('Reading') ? 3.7 : 6.3);
    await step(atlas.send(ref, { type: 'step_complete' }));
  }
  await step(atlas.startStep(ref, { workingOn: 'Fixing nil pointer dereference in config/parser.go' }));
  pass(1.5);
  write('config/parser.go', FIXED);
  await commit('Added nil check for config.Server field');
  pass(0.5);
  await git('push', '--quiet');
  const { repository } = await atlas.locate(folder);
  if (repository !== undefined) unwrap(await (await atlas.git()).scan(repository));
  pass(1.2);
  write('config/parser_test.go', 'package config\n');
  await step(atlas.checkpoint(ref, 'Database and Cache still to do'));
  now = Date.now();
  await step(
    atlas.send(ref, {
      type: 'note',
      lastOutput: "I've added the nil check for the Server field. Now the same for Database and Cache.",
    }),
  );
  return ref;
}
