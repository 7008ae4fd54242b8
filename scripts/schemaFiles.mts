import * as z from 'zod/mini';
import { ANSWERS, SHARED, answerSchema, errorSchema } from '../src/cli/commands/schemas.ts';
import { configSchema } from '../src/core/config/readConfig.ts';
import { taskRecordSchema } from '../src/core/task/taskRecord.ts';
import { taskSchema } from '../src/core/task/task.ts';
import { templateFileSchema } from '../src/core/task/templates/templateFile.ts';
import { trustedKeysSchema } from '../src/core/verify/trustedKeys.ts';

const SCHEMAS = {
  hook: { title: 'Atlas hook.json', schema: taskRecordSchema },
  task: { title: 'Atlas task.json', schema: taskSchema },
  template: { title: 'Atlas task template', schema: templateFileSchema },
  config: { title: 'Atlas configuration', schema: configSchema },
  'trusted-keys': { title: 'Atlas trusted keys', schema: trustedKeysSchema },
} as const;

/** What `atlas … --json` prints: a definition for each command, and one for an error. */
function commandsSchema(): object {
  const registry = z.registry<{ id: string }>();
  const names = Object.keys(ANSWERS) as (keyof typeof ANSWERS)[];
  for (const name of names) registry.add(answerSchema(name), { id: name });
  for (const [id, schema] of Object.entries(SHARED)) registry.add(schema, { id });
  registry.add(errorSchema, { id: 'error' });
  const { schemas } = z.toJSONSchema(registry, {
    target: 'draft-7',
    uri: (id) => `#/definitions/${encodeURIComponent(id)}`,
  });
  const definitions = Object.fromEntries(
    Object.entries(schemas).map(([name, { $schema: _version, $id: _id, ...definition }]) => [name, definition]),
  );
  const anyOf = [...names, 'error'].map((name) => ({ $ref: `#/definitions/${encodeURIComponent(name)}` }));
  return {
    $schema: 'http://json-schema.org/draft-07/schema#',
    title: 'What atlas prints with --json',
    anyOf,
    definitions,
  };
}

/** The JSON schemas that are shipped, by file name: made from the zod schemas. */
export function schemaFiles(): ReadonlyMap<string, object> {
  const files = Object.entries(SCHEMAS).map(([name, { title, schema }]): [string, object] => {
    // What a file may hold is the schemas' input: their transformations only normalise it.
    const json = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any', target: 'draft-7' });
    return [`${name}.schema.json`, { ...json, title }];
  });
  return new Map([...files, ['cli.schema.json', commandsSchema()]]);
}
