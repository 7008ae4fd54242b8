import { renderEnding, renderWhatToDoNow, synopsis } from '../../core/hookMarkdown/hookMarkdown';
import type { HookMarkdownInput } from '../../core/hookMarkdown/view';
import type { StoredTask } from '../../core/task/storedTask';
import type { ServicePorts } from '../ports';

/** What a task's agent has to do now. */
export interface Advice {
  /** One line, without Markdown's marks. */
  readonly heading: string;
  /** HOOK.md's section "What To Do Now". */
  readonly markdown: string;
}

type AdvicePorts = Pick<ServicePorts, 'paths' | 'version'>;

function inputOf(ports: AdvicePorts, { ref, hook, task, seq }: StoredTask): HookMarkdownInput {
  const location = { root: ports.paths.root, hookPath: ports.paths.markdown(ref) };
  return { hook, task, seq, location, verdicts: new Map(), version: ports.version };
}

/** How the step that runs is ended, in a sentence of Markdown; empty where none runs. */
export function endingAdvice(ports: AdvicePorts, stored: StoredTask): string {
  return renderEnding(inputOf(ports, stored));
}

/** What HOOK.md says is to be done now. */
export function adviceOf(ports: AdvicePorts, stored: StoredTask): Advice {
  const markdown = renderWhatToDoNow(inputOf(ports, stored));
  const heading = /^### (.+)$/mu.exec(markdown)?.[1] ?? '';
  return { heading: heading.replace(/^\P{L}+/u, '').replaceAll('`', ''), markdown };
}

/** The one line that tells an agent of its task; empty when the task is over. */
export function synopsisOf({ paths }: Pick<ServicePorts, 'paths'>, { ref, hook, task }: StoredTask): string {
  return synopsis(hook, task, paths.markdown(ref));
}
