import {
  adviceFor,
  nextCommand,
  renderEnding,
  renderWhatToDoNow,
  synopsis,
} from '../../core/hookMarkdown/hookMarkdown';
import { viewOf } from '../../core/hookMarkdown/view';
import type { StoredTask } from '../../core/task/storedTask';
import type { ServicePorts } from '../ports';
import { markdownInput } from './markdownWriter';

/** What a task's agent has to do now. */
export interface Advice {
  /** One line, without Markdown's marks. */
  readonly heading: string;
  /** The command to type next; `undefined` where there is only to wait. */
  readonly command: string | undefined;
  /** HOOK.md's section "What To Do Now". */
  readonly markdown: string;
}

type AdvicePorts = Pick<ServicePorts, 'paths' | 'version'>;

/** How the step that runs is ended, in a sentence of Markdown; empty where none runs. */
export function endingAdvice(ports: AdvicePorts, stored: StoredTask): string {
  return renderEnding(markdownInput(ports, stored));
}

/** What HOOK.md says is to be done now. */
export function adviceOf(ports: AdvicePorts, stored: StoredTask): Advice {
  const input = markdownInput(ports, stored);
  const view = viewOf(input);
  const heading = adviceFor(view)
    .heading.replace(/^\P{L}+/u, '')
    .replaceAll('`', '');
  return { heading, command: nextCommand(view), markdown: renderWhatToDoNow(input) };
}

/** The one line that tells an agent of its task; empty when the task is over. */
export function synopsisOf({ paths }: Pick<ServicePorts, 'paths'>, { ref, hook, task }: StoredTask): string {
  return synopsis(hook, task, paths.markdown(ref));
}
