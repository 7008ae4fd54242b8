import { join } from 'node:path';
import * as z from 'zod/mini';
import { AtlasError, unwrap } from '../core/shared/errors';
import type { FileSystem } from '../core/shared/ports';
import { parseDuration } from '../core/shared/time';
import { MAX_TOOLS } from '../core/worker/slotContent';
import { readStateFile } from '../store/task/recordFile';
import type { ForgeFolder } from './forgeFolder';

const MAX_CONFIG_BYTES = 64 * 1024;

const forgeConfigSchema = z.looseObject({
  /** The remote that claims are decided by; `false`: none, whatever there is. */
  remote: z.optional(z.union([z.string(), z.literal(false)])),
  /** What a context names where a task is slung without tools. */
  tools: z.optional(z.array(z.string()).check(z.maxLength(MAX_TOOLS))),
  /** How long after it is slung a task without a deadline of its own has to be done, such as `2h`. */
  timeout: z.optional(
    z.string().check(z.refine((text) => parseDuration(text).ok, 'write a duration such as 30m or 2h')),
  ),
});

/** What .forge/config.yaml says. */
export type ForgeConfig = z.infer<typeof forgeConfigSchema>;

/** The path of the workers' settings. */
export function forgeConfigPath(forge: ForgeFolder): string {
  return join(forge.path, 'config.yaml');
}

/** Reads the workers' settings; without a file, none are set. Fails with `invalid_config`, `unsafe_path` or `unreadable`. */
export async function readForgeConfig(files: FileSystem, forge: ForgeFolder): Promise<ForgeConfig> {
  const path = forgeConfigPath(forge);
  const kind = files.stat(path)?.kind;
  if (kind === undefined) return {};
  if (kind !== 'file') throw new AtlasError('unsafe_path', `${path} is not a file.`, { hint: 'Move it away.' });
  const bytes = unwrap(readStateFile(files, path, MAX_CONFIG_BYTES));
  const { parseYaml } = await import('../store/config/yaml');
  const yaml = parseYaml(Buffer.from(bytes).toString('utf8'));
  const at = ({ line, column }: { line: number; column: number }): string => `${path}:${line}:${column}`;
  if (yaml.error !== undefined)
    throw new AtlasError('invalid_config', `${at(yaml.error.position)}: ${yaml.error.message}`);
  const parsed = forgeConfigSchema.safeParse(yaml.data ?? {});
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  const place = at(yaml.positionOf((issue?.path ?? []).filter((key) => typeof key !== 'symbol')));
  throw new AtlasError('invalid_config', `${place}: ${issue?.message ?? 'unknown shape'}`, {
    hint: 'It may contain remote, tools (at most 5) and timeout.',
  });
}
