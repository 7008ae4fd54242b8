import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { AtlasError } from '../../core/shared/errors';
import { oneLine } from '../../core/shared/text';
import { checkTaskId, checkWorkspaceName } from '../../core/shared/ids';
import { ensureFolder } from '../../system/files/atomicFile';
import { MarkdownWatcher } from '../../service/tasks/markdownWatcher';
import { type TaskRef, refKey } from '../../core/task/taskRef';
import { Call } from '../parse/call';
import type { CliContext } from '../context';
import { show } from '../commands/task/hook';
import { ResourceTemplate, SubscribeRequestSchema, UnsubscribeRequestSchema } from './sdk';

const TEMPLATE = 'atlas://hook/{workspace}/{task}';
const MIME_TYPE = 'text/markdown';

function uriOf({ workspace, id }: TaskRef): string {
  return `atlas://hook/${encodeURIComponent(workspace)}/${encodeURIComponent(id)}`;
}

/** The task that a resource's address names; throws `usage`. */
function refOf(uri: string): TaskRef {
  const [, workspace = '', id = ''] = /^atlas:\/\/hook\/([^/]+)\/([^/]+)$/u.exec(uri)?.map(decoded) ?? [];
  if (checkWorkspaceName(workspace).ok && checkTaskId(id).ok) return { workspace, id };
  const hint = `Resources are named ${TEMPLATE}.`;
  throw new AtlasError('usage', `${oneLine(uri, 200)} is not an Atlas resource.`, { hint });
}

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return '';
  }
}

/**
 * Offers HOOK.md of each open task as a resource, and tells its subscribers when it was written.
 * @returns ends the watching
 */
export async function offerHooks(server: McpServer, context: CliContext): Promise<() => void> {
  const atlas = await context.atlas();
  const { paths, files, log } = atlas.ports;
  server.registerResource(
    'HOOK.md',
    new ResourceTemplate(TEMPLATE, {
      // Those of other folders are other agents'; each can still be read by its name.
      list: async () => {
        const { workspace } = await atlas.locate(context.folder);
        const tasks = workspace === undefined ? [] : atlas.catalog.openTasks(workspace);
        return {
          resources: tasks.map(({ ref, task }) => ({
            uri: uriOf(ref),
            name: `HOOK.md of ${refKey(ref)}`,
            title: oneLine(task.description, 200),
            description: 'The status of the task and what to do now.',
            mimeType: MIME_TYPE,
          })),
        };
      },
    }),
    { title: 'HOOK.md', description: 'The status of a task and what to do now.', mimeType: MIME_TYPE },
    async ({ href }) => {
      const { workspace, id } = refOf(href);
      const answer = await show(context, new Call([], [], { task: `${workspace}/${id}` }));
      return { contents: [{ uri: href, mimeType: MIME_TYPE, text: answer.text }] };
    },
  );
  const watcher = new MarkdownWatcher(paths, log);
  const tell = (sending: Promise<void>): void => {
    sending.catch(() => undefined); // the client is gone
  };
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params: { uri } }) => {
    const ref = refOf(uri);
    if (files.stat(paths.task(ref))?.kind !== 'folder')
      throw new AtlasError('not_found', `There is no task ${refKey(ref)}.`);
    watcher.add(ref, () => {
      tell(server.server.sendResourceUpdated({ uri }));
    });
    return {};
  });
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params: { uri } }) => {
    watcher.remove(refOf(uri));
    return {};
  });
  ensureFolder(files, paths.open);
  watcher.watchList(() => tell(server.server.sendResourceListChanged()));
  return () => watcher.close();
}
