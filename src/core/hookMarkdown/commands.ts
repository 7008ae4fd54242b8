import { isAiLike } from '../task/templates/template';
import type { HookView } from './view';

const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/u;

/** The step and its attempt as arguments; no step whose name a shell could take for more than a word. */
function bound({ step }: HookView, option: string, attempt = step?.attempt): string {
  const name = step !== undefined && SAFE_NAME.test(step.step_name) ? ` ${option}${step.step_name}` : '';
  return `${name}${attempt === undefined ? '' : ` --attempt ${attempt}`}`;
}

/** `atlas <words> --step <step> --attempt <n>` as inline code; with step and attempt it is a sign of life of that attempt. */
export function command(view: HookView, words: string, attempt?: number): string {
  return `\`atlas ${words}${bound(view, '--step ', attempt)}\``;
}

/** `atlas step start <step> --attempt <n>` as inline code. */
export function startCommand(view: HookView, attempt: number): string {
  return `\`atlas step start${bound(view, '', attempt)}\``;
}

/** `atlas step complete <step> --attempt <n> --summary "…"` as inline code; what a git step came to, git shows. */
export function completeCommand(view: HookView, attempt?: number): string {
  const result = view.type === 'git' ? '' : ' --summary "<result>"';
  return `\`atlas step complete${bound(view, '', attempt)}${result}\``;
}

/** `atlas step complete <step> --attempt <n> --nothing-to-do "…"` as inline code. */
export function nothingToDoCommand(view: HookView, attempt?: number): string {
  return `\`atlas step complete${bound(view, '', attempt)} --nothing-to-do "<why>"\``;
}

/** `atlas validate --step <step> --attempt <n>` as inline code, asking for a command where the step declares none. */
export function validateCommand(view: HookView, attempt?: number): string {
  const own = view.commands.length === 0 ? ' --command "<command>"' : '';
  const result = isAiLike(view.type) && view.hook.state !== 'step_validating' ? ' --summary "<result>"' : '';
  return command(view, `validate${own}${result}`, attempt);
}
