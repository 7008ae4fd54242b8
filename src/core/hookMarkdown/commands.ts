import { isAiLike } from '../task/template';
import type { HookView } from './view';

const SAFE_NAME = /^[A-Za-z0-9][A-Za-z0-9_-]*$/u;

/** A step's name as an argument; nothing for a name that a shell could take for more than a word. */
function nameOf(view: HookView): string | undefined {
  const name = view.step?.step_name;
  return name !== undefined && SAFE_NAME.test(name) ? name : undefined;
}

function bound(view: HookView, attempt = view.step?.attempt): string {
  const name = nameOf(view);
  return `${name === undefined ? '' : ` --step ${name}`}${attempt === undefined ? '' : ` --attempt ${attempt}`}`;
}

function positional(view: HookView): string {
  const name = nameOf(view);
  return name === undefined ? '' : ` ${name}`;
}

function attemptOf(view: HookView, attempt = view.step?.attempt): string {
  return attempt === undefined ? '' : ` --attempt ${attempt}`;
}

/** `atlas step start <step> --attempt <n>` as inline code. */
export function startCommand(view: HookView, attempt: number): string {
  return `\`atlas step start${positional(view)}${attemptOf(view, attempt)}\``;
}

/** `atlas step complete <step> --summary "…" --attempt <n>` as inline code. */
export function completeCommand(view: HookView, attempt?: number): string {
  return `\`atlas step complete${positional(view)} --summary "<result>"${attemptOf(view, attempt)}\``;
}

/** `atlas validate --step <step> --attempt <n>` as inline code, asking for a command where the step declares none. */
export function validateCommand(view: HookView, attempt?: number): string {
  const own = view.commands.length === 0 ? ' --command "<command>"' : '';
  const result = isAiLike(view.type) && view.hook.state !== 'step_validating' ? ' --summary "<result>"' : '';
  return `\`atlas validate${own}${result}${bound(view, attempt)}\``;
}

/** `atlas step ask "…"` as inline code. */
export function askCommand(view: HookView, question: string, attempt?: number): string {
  return `\`atlas step ask "${question}"${bound(view, attempt)}\``;
}

/** `atlas step fail "…"` as inline code. */
export function failCommand(view: HookView, why: string, attempt?: number): string {
  return `\`atlas step fail "${why}"${bound(view, attempt)}\``;
}

/** `atlas checkpoint "…" --next "…"` as inline code; with step and attempt it is a sign of life of that attempt. */
export function progressCommand(view: HookView, attempt?: number): string {
  return `\`atlas checkpoint "<what is done>" --next "<what you do next>"${bound(view, attempt)}\``;
}

/** `atlas checkpoint "…" --trigger pr_created` as inline code. */
export function pullRequestCommand(view: HookView, attempt?: number): string {
  return `\`atlas checkpoint "<its address>" --trigger pr_created${bound(view, attempt)}\``;
}
