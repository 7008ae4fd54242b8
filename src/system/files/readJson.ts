import type * as z from 'zod/mini';
import type { FileSystem } from '../../core/shared/ports';

/** What a small file of JSON says; `undefined` where it is not there, can't be read or is not sound. */
export function readJson<T>(
  files: FileSystem,
  path: string,
  maxBytes: number,
  schema: z.ZodMiniType<T>,
): T | undefined {
  try {
    const parsed = schema.safeParse(jsonOf(Buffer.from(files.read(path, maxBytes)).toString('utf8')));
    return parsed.success ? parsed.data : undefined;
  } catch {
    return undefined;
  }
}

/** What a text of JSON says; `undefined` for one that is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
