import { type Result, fail, ok } from '../../core/shared/errors';
import { HOST_NAMES, type Host, type HostEvent, LIFECYCLE_EVENTS, type LifecycleEvent } from '../hosts/hosts';
import type { Node } from './jsonc';
import { SettingsText, type TextEdit, applyEdits } from './settingsText';
import { SUBAGENT_REVIEW } from '../lifecycle/subagentReview';

const WORD = String.raw`(?:"[^"$\x60]*"|'[^']*'|[^\s"';&|<>()$\x60]+)`;
const OURS = new RegExp(
  `^(?:${WORD} ){1,2}lifecycle (${LIFECYCLE_EVENTS.join('|')}) --host (${HOST_NAMES.join('|')})$`,
  'u',
);

/** What hosts run to report what happens, wherever the script lies. */
const OBSERVES =
  /^sh (?:'[^']*observe\.sh'|"[^"]*observe\.sh"|\S*observe\.sh) (?:claude|codex|gemini|cursor|vscode)(?: (?:start|turn|tool))? 2>\/dev\/null \|\| true$/u;

/** The text of a settings file, and which parts of it were put in, so that they can be taken out again exactly. */
export interface Wired {
  readonly text: string;
  /** Offset and length in UTF-16 units, in order. */
  readonly ranges: readonly (readonly [offset: number, length: number])[];
}

/** The command that a host's hook runs: `atlas` as the caller has it, and what it is called with. */
export function commandOf(atlas: string, host: Host, event: LifecycleEvent): string {
  return `${atlas} lifecycle ${event} --host ${host.name}`;
}

function hooksOf(atlas: string, host: Host, event: HostEvent): object[] {
  const timeout = host.timeoutUnit === 'ms' ? event.seconds * 1000 : event.seconds;
  const command = { ...(host.type ? { type: 'command' } : {}), command: commandOf(atlas, host, event.event), timeout };
  // There the answer of a command reaches nobody, and a prompt is judged by a model.
  const judged = host.name === 'claude' && event.event === 'subagent-stop';
  const prompt = { type: 'prompt', prompt: `${SUBAGENT_REVIEW}\n\n$ARGUMENTS`, timeout };
  return judged ? [command, prompt] : [command];
}

/**
 * Claude Code's own subagents have no name, the one that compacts say: reviewing their result would cost a request of the
 * model each time. The name is what a matcher is compared with.
 */
function matcherOf(host: Host, { event }: HostEvent): { readonly matcher?: string } {
  return host.name === 'claude' && event === 'subagent-stop' ? { matcher: '.+' } : {};
}

/** Which event an entry of ours is for; `undefined` for what others wrote. */
function eventOf(settings: SettingsText, hook: Node): LifecycleEvent | undefined {
  const command: unknown = settings.member(hook, 'command')?.value;
  const prompt: unknown = settings.member(hook, 'prompt')?.value;
  if (typeof prompt === 'string' && prompt.startsWith(SUBAGENT_REVIEW)) return 'subagent-stop';
  const named = typeof command === 'string' ? OURS.exec(command)?.[1] : undefined;
  return LIFECYCLE_EVENTS.find((event) => event === named);
}

/** Whether a hook is one of ours, of either kind. */
function isOurs(settings: SettingsText, hook: Node): boolean {
  const command: unknown = settings.member(hook, 'command')?.value;
  return eventOf(settings, hook) !== undefined || (typeof command === 'string' && OBSERVES.test(command));
}

/** Every hook entry of the file, whatever its form, with the event's key under which it stands. */
function allHooks(settings: SettingsText): { readonly key: string; readonly hook: Node }[] {
  const events = settings.member(settings.root, 'hooks')?.children ?? [];
  return events.flatMap((property) => {
    const [key, list] = property.children ?? [];
    const entries = list?.type === 'array' ? (list.children ?? []) : [];
    const hooks = entries.flatMap((entry) => {
      const inner = settings.member(entry, 'hooks');
      return inner?.type === 'array' ? (inner.children ?? []) : [entry];
    });
    return hooks.map((hook) => ({ key: String(key?.value), hook }));
  });
}

/** A hook of ours as it stands in a file. */
export interface WiredHook {
  readonly event: LifecycleEvent;
  /** What the host runs; `undefined` where it asks a model instead. */
  readonly command?: string;
}

/** Our hooks of a host that are wired in its file; fails as {@link SettingsText.parse}. */
export function wiredHooks(text: string, host: Host): Result<WiredHook[]> {
  if (isBlank(text)) return ok([]);
  const settings = SettingsText.parse(text);
  if (!settings.ok) return settings;
  const found = allHooks(settings.value).flatMap(({ key, hook }): WiredHook[] => {
    const event = eventOf(settings.value, hook);
    if (event === undefined || !host.events.some((each) => each.event === event && each.key === key)) return [];
    const command: unknown = settings.value.member(hook, 'command')?.value;
    return [{ event, ...(typeof command === 'string' ? { command } : {}) }];
  });
  return ok(found);
}

function isBlank(text: string): boolean {
  return text.replace(/^\uFEFF/u, '').trim() === '';
}

/** Puts what a host runs into its settings. Fails with `damaged` where that isn't JSON, or not of the host's form. */
export function wire(text: string, host: Host, atlas: string): Result<Wired> {
  const wired = wireAll(
    text,
    host,
    host.events.map((event) => ({ key: event.key, hooks: hooksOf(atlas, host, event), ...matcherOf(host, event) })),
  );
  if (!wired.ok) return wired;
  const after = wiredHooks(wired.value.text, host);
  return after.ok && new Set(after.value.map(({ event }) => event)).size === host.events.length
    ? wired
    : fail('damaged', "It can't be changed safely.");
}

/** A hook that runs our script, by the event's key under which it stands. */
interface ObservingHook {
  readonly key: string;
  readonly command: string;
}

/** The hooks that run our script, in a settings file's text. */
export function observingHooks(text: string): Result<ObservingHook[]> {
  if (isBlank(text)) return ok([]);
  const settings = SettingsText.parse(text);
  if (!settings.ok) return settings;
  const found = allHooks(settings.value).flatMap(({ key, hook }) => {
    const command: unknown = settings.value.member(hook, 'command')?.value;
    return typeof command === 'string' && OBSERVES.test(command) ? [{ key, command }] : [];
  });
  return ok(found);
}

/** Has a host run a command at some of its events, after whatever else it runs there. Fails as {@link wire}. */
export function wireObserver(
  text: string,
  host: Pick<Host, 'form' | 'version' | 'type'>,
  events: readonly { readonly key: string; readonly command: string; readonly timeout: number }[],
): Result<Wired> {
  const type = host.type ? { type: 'command' } : {};
  const wired = wireAll(
    text,
    host,
    events.map(({ key, command, timeout }) => ({ key, hooks: [{ ...type, command, timeout }] })),
  );
  if (!wired.ok) return wired;
  const after = observingHooks(wired.value.text);
  return after.ok && after.value.length === events.length ? wired : fail('damaged', "It can't be changed safely.");
}

/** What is to be run at an event, and for which of them where a host can say so. */
interface Wish {
  readonly key: string;
  readonly hooks: object[];
  readonly matcher?: string;
}

function wireAll(text: string, host: Pick<Host, 'form' | 'version'>, events: readonly Wish[]): Result<Wired> {
  const blank = `{\n}\n`;
  let wired: Wired = isBlank(text) ? insert({ text, ranges: [] }, [put(text.length, blank)]) : { text, ranges: [] };
  const steps = [
    ...(host.version === undefined ? [] : [(s: SettingsText) => addMissing(s, s.root, 'version', host.version)]),
    (s: SettingsText) => addMissing(s, s.root, 'hooks', {}),
    ...events.map((wish) => (s: SettingsText) => addEvent(s, host, wish)),
  ];
  for (const step of steps) {
    const settings = SettingsText.parse(wired.text);
    if (!settings.ok) return settings;
    const edits = step(settings.value);
    if (edits === undefined) return fail('damaged', 'Its "hooks" are not in the format that the host reads.');
    wired = insert(wired, edits);
  }
  return ok(wired);
}

function put(offset: number, text: string): TextEdit {
  return { offset, length: 0, text };
}

function addMissing(settings: SettingsText, object: Node, key: string, value: unknown): TextEdit[] | undefined {
  const there = settings.member(object, key);
  if (there === undefined) return settings.add(object, key, value);
  return key !== 'hooks' || there.type === 'object' ? [] : undefined;
}

function addEvent(settings: SettingsText, host: Pick<Host, 'form'>, wish: Wish): TextEdit[] | undefined {
  const { key, hooks, matcher } = wish;
  const events = settings.member(settings.root, 'hooks');
  const list = settings.member(events, key);
  const entries = host.form === 'grouped' ? [{ ...(matcher === undefined ? {} : { matcher }), hooks }] : hooks;
  if (events === undefined) return undefined;
  if (list === undefined) return settings.add(events, key, entries);
  return list.type === 'array' ? entries.flatMap((entry) => settings.add(list, undefined, entry)) : undefined;
}

/** Inserts texts, and keeps account of all that was put in. */
function insert({ text, ranges }: Wired, edits: readonly TextEdit[]): Wired {
  let known = ranges.map(([offset, length]): [number, number] => [offset, length]);
  for (const { offset, text: added } of [...edits].sort((a, b) => b.offset - a.offset)) {
    const inside = known.some(([at, length]) => offset > at && offset < at + length);
    known = known.map(([at, length]) => {
      if (offset > at && offset < at + length) return [at, length + added.length];
      return offset <= at ? [at + added.length, length] : [at, length];
    });
    if (!inside && added !== '') known.push([offset, added.length]);
  }
  return { text: applyEdits(text, edits), ranges: known.sort((a, b) => a[0] - b[0]) };
}

/** Takes out exactly what was put in, where nothing changed since. */
export function takeOut({ text, ranges }: Wired): string {
  return applyEdits(
    text,
    ranges.map(([offset, length]) => ({ offset, length, text: '' })),
  );
}

/** Takes out what is ours, wherever it stands by now, and what holds nothing else; the rest stays byte for byte. */
export function unwire(text: string): Result<string> {
  let current = text;
  for (;;) {
    if (isBlank(current)) return ok(current);
    const settings = SettingsText.parse(current);
    if (!settings.ok) return settings;
    const ours = allHooks(settings.value).find(({ hook }) => isOurs(settings.value, hook));
    if (ours === undefined) return ok(current);
    const edits = settings.value.remove(outermost(ours.hook));
    const next = applyEdits(current, edits);
    if (next.length >= current.length || !SettingsText.parse(next).ok)
      return fail('damaged', 'The Atlas entries are in a place where they cannot be removed safely.', {
        hint: 'Remove them by hand: they run "atlas lifecycle".',
      });
    current = next;
  }
}

/** The largest part that holds nothing but this entry: its group, its event, the hooks. */
function outermost(hook: Node): Node {
  let part = hook;
  for (;;) {
    const container = part.parent;
    // A group may say more than its hooks, a matcher say, which means nothing without them.
    const alone =
      (container?.children ?? []).length === 1 || (part.type === 'property' && part.children?.[0]?.value === 'hooks');
    const above = container?.parent;
    if (container === undefined || above === undefined || !alone) return part;
    part =
      above.type === 'property' || above.type === 'array' ? (above.type === 'property' ? above : container) : container;
  }
}
