import { renderWhatToDoNow, synopsis } from '../core/hookMarkdown';
import type { StoredTask } from '../storage/stored';
import type { ServicePorts } from './ports';

/** What a task's agent has to do now. */
export interface Advice {
  /** One line, without Markdown's marks. */
  readonly heading: string;
  /** HOOK.md's section "What To Do Now". */
  readonly markdown: string;
}

/** What HOOK.md says is to be done now. */
export function adviceOf(ports: Pick<ServicePorts, 'paths' | 'version'>, { ref, hook, task, seq }: StoredTask): Advice {
  const markdown = renderWhatToDoNow({
    hook,
    task,
    seq,
    location: { root: ports.paths.root, hookPath: ports.paths.markdown(ref) },
    verdicts: new Map(),
    version: ports.version,
  });
  const heading = /^### (.+)$/mu.exec(markdown)?.[1] ?? '';
  return { heading: heading.replace(/^\P{L}+/u, '').replaceAll('`', ''), markdown };
}

/** The one line that tells an agent of its task; empty when the task is over. */
export function synopsisOf({ paths }: Pick<ServicePorts, 'paths'>, { ref, hook, task }: StoredTask): string {
  return synopsis(hook, task, paths.markdown(ref));
}
