import { AtlasError, type Result, ok } from '../core/shared/errors';

/**
 * What an operation gives or why it failed. In this room a failure is thrown, since most of them end the whole operation; it becomes a value
 * where the operation ends, and where somebody goes on without what failed.
 */
export async function attempt<T>(operation: () => Promise<T>): Promise<Result<T>> {
  try {
    return ok(await operation());
  } catch (error) {
    if (error instanceof AtlasError) return { ok: false, error };
    throw error;
  }
}

/** What is read of a branch, or how it is damaged; any other failure is thrown. */
export async function unlessDamaged<T>(read: () => Promise<T>): Promise<Result<T>> {
  const found = await attempt(read);
  if (!found.ok && found.error.code !== 'damaged') throw found.error;
  return found;
}
