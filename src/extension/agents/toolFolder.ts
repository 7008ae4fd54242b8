import { type Result, fail, ok } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import type { AtlasReader } from '../../service/atlasReader';

/** The tools of the inbox, which are about no task. */
const INBOX_TOOLS = new Set(['atlas_get_next_task', 'atlas_task_complete', 'atlas_inbox_add']);

/** Whether a tool is about one of the window's tasks. */
export function isAboutTask(name: string): boolean {
  return !INBOX_TOOLS.has(name);
}

function textIn(input: object, key: string): string | undefined {
  const value = (input as Record<string, unknown>)[key];
  return typeof value === 'string' ? value : undefined;
}

/** The workspace that a tool's arguments name. */
export function workspaceIn(input: object): string | undefined {
  const [workspace, id] = textIn(input, 'task')?.split('/') ?? [];
  return textIn(input, 'workspace') ?? (id === undefined ? undefined : workspace);
}

/**
 * In which of the window's folders a tool is called: that of the workspace it names, else the only one that has a
 * workspace, for a task's tool one with an open task. Fails with `not_found` or `usage`, in words for a model.
 */
export async function folderFor(
  atlas: Pick<AtlasReader, 'locate' | 'catalog'>,
  folders: readonly string[],
  input: object,
  aboutTask: boolean,
): Promise<Result<string>> {
  const [first, ...others] = folders;
  if (first === undefined)
    return fail('not_found', 'No folder is open in the editor, so there is no task.', {
      mend: 'Ask the human to open the folder of the task.',
    });
  const named = workspaceIn(input);
  if (others.length === 0) return ok(first);
  const places = await Promise.all(
    folders.map(async (folder) => ({ folder, workspace: (await atlas.locate(folder)).workspace })),
  );
  // What is named need not be open here: it is found from any folder.
  if (named !== undefined) return ok(places.find(({ workspace }) => workspace === named)?.folder ?? first);
  const fitting = new Map<string, string>();
  for (const { folder, workspace } of places) {
    if (workspace === undefined || (aboutTask && atlas.catalog.open(workspace).length === 0)) continue;
    if (!fitting.has(workspace)) fitting.set(workspace, folder);
  }
  if (fitting.size <= 1) return ok([...fitting.values()][0] ?? first);
  const names = [...fitting.keys()].map((name) => oneLine(name)).join(', ');
  return fail('usage', `Several workspaces are open in the editor: ${names}.`, {
    mend: 'Say which one you mean by the argument "workspace".',
  });
}
