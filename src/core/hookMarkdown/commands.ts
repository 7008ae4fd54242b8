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

function positional(view: HookView, attempt = view.step?.attempt): string {
  const name = nameOf(view);
  return `${name === undefined ? '' : ` ${name}`}${attempt === undefined ? '' : ` --attempt ${attempt}`}`;
}

/** `atlas step start <step> --attempt <n>` as inline code. */
export function startCommand(view: HookView, attempt: number): string {
  return `\`atlas step start${positional(view, attempt)}\``;
}

/** `atlas step complete <step> --attempt <n>` as inline code. */
export function completeCommand(view: HookView, attempt?: number): string {
  return `\`atlas step complete${positional(view, attempt)}\``;
}

/** `atlas validate --step <step> --attempt <n>` as inline code, asking for a command where the step declares none. */
export function validateCommand(view: HookView, attempt?: number): string {
  const own = view.commands.length === 0 ? ' --command "<command>"' : '';
  return `\`atlas validate${own}${bound(view, attempt)}\``;
}

/** `atlas step ask "…"` as inline code. */
export function askCommand(view: HookView, question: string, attempt?: number): string {
  return `\`atlas step ask "${question}"${bound(view, attempt)}\``;
}

/** `atlas step fail "…"` as inline code. */
export function failCommand(view: HookView, why: string, attempt?: number): string {
  return `\`atlas step fail "${why}"${bound(view, attempt)}\``;
}

/** `atlas step note --working-on "…"` as inline code. */
export function noteCommand(view: HookView, attempt?: number): string {
  return `\`atlas step note --working-on "<what you do now>"${bound(view, attempt)}\``;
}

/** `atlas checkpoint "…"` as inline code; with step and attempt it is a sign of life of that attempt. */
export function checkpointCommand(view: HookView, description: string, attempt?: number, trigger?: string): string {
  const cause = trigger === undefined ? '' : ` --trigger ${trigger}`;
  return `\`atlas checkpoint "${description}"${cause}${bound(view, attempt)}\``;
}
