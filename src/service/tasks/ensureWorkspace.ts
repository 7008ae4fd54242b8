import { type Result, ok } from '../../core/shared/errors';
import type { AtlasReader } from '../atlasReader';

/** The workspace of a folder or its repository; one that has none yet gets one. */
export async function ensureWorkspace(atlas: AtlasReader, folder: string): Promise<Result<string>> {
  const { repository, worktree, workspace } = await atlas.locate(folder);
  if (workspace !== undefined) return ok(workspace);
  const branch = repository === undefined ? undefined : atlas.ports.git.head(repository).branch;
  return atlas.workspaces.ensure(repository?.main ?? worktree, branch);
}
