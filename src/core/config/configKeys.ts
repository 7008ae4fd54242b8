import type { ConfigProblem } from './config';

/** The names of settings; `undefined` stands for a value, not a table. */
export interface SettingNames {
  readonly [name: string]: SettingNames | undefined;
}

/** Every setting in config.yaml, as the schema of its values has them. */
export const SETTING_NAMES = {
  hooks: {
    max_checkpoints: undefined,
    checkpoint_interval: undefined,
    stale_threshold: undefined,
    max_step_attempts: undefined,
    auto_checkpoint: {
      on_commit: undefined,
      on_push: undefined,
      on_pr: undefined,
      on_validation: undefined,
      on_step_complete: undefined,
    },
    signing: { scheme: undefined },
    key_derivation: { purpose: undefined, coin_type: undefined, account: undefined },
    validation: { commands: undefined, timeout: undefined },
    retention: { completed: undefined, failed: undefined, abandoned: undefined },
    memory_folder: undefined,
  },
  snapshots: { enabled: undefined, max_file_size: undefined, max_size: undefined },
  sessions: { track: undefined, headless: undefined, read_transcripts: undefined },
  gate: { enabled: undefined },
  verify: { checks: undefined, protect: undefined, ignore: undefined },
} as const satisfies SettingNames;

/** The tables at the top of the file; everything else there belongs to other programs. */
const SECTIONS: readonly string[] = Object.keys(SETTING_NAMES);

/** What a repository may set for itself; everything else is the user's alone. */
const REPOSITORY_NAMES: SettingNames = {
  hooks: { auto_checkpoint: SETTING_NAMES.hooks.auto_checkpoint, validation: { commands: undefined } },
  verify: SETTING_NAMES.verify,
};

/** What a user may set: what is demanded of a change is its repository's to say. */
const { verify: _ofRepositories, ...USER_NAMES } = SETTING_NAMES;

/** The settings that somebody who forgot their section would write at the beginning of a line. */
const PATHS: ReadonlyMap<string, string> = new Map([
  ...SECTIONS.map((name) => [name, name] as const),
  ...Object.keys(SETTING_NAMES.hooks).map((name) => [name, `hooks.${name}`] as const),
  ...Object.keys(SETTING_NAMES.snapshots)
    .filter((name) => name !== 'enabled')
    .map((name) => [name, `snapshots.${name}`] as const),
  ...Object.keys(SETTING_NAMES.sessions).map((name) => [name, `sessions.${name}`] as const),
  ['commands', 'hooks.validation.commands'],
]);

/** Names that begin with as many of the same letters are taken for each other, as `validate` for `validation`. */
const SAME_START = 6;

/** Whose config.yaml is read. */
export type ConfigOwner = 'user' | 'repository';

const NOT_HERE: Readonly<Record<ConfigOwner, string>> = {
  user: "this has no effect here. Move it to the repository's .atlas/config.yaml.",
  repository: 'this has no effect in a repository. Move it to your own config.yaml.',
};

/**
 * The keys of a config.yaml that have no effect although somebody meant them to: unknown in a section, a setting outside
 * its section, or one that a repository can't set. Paths start at the top of the file. Other keys at the top belong to other
 * programs.
 */
export function keyProblems(data: unknown, owner: ConfigOwner): ConfigProblem[] {
  if (!isTable(data)) return [];
  const isSection = (key: string): boolean => SECTIONS.includes(key);
  const outside = Object.keys(data).flatMap((key) => (isSection(key) ? [] : misplaced(key, data[key])));
  const isEmpty = outside.length === 0 && !Object.keys(data).some(isSection);
  if (owner === 'repository' && isEmpty && Object.keys(data).length > 0) {
    return [{ path: Object.keys(data).slice(0, 1), message: 'this file has no settings. Put them below "hooks:".' }];
  }
  const sections = Object.fromEntries(Object.entries(data).filter(([key]) => isSection(key)));
  return [...outside, ...unknown(sections, [], SETTING_NAMES, owner === 'user' ? USER_NAMES : REPOSITORY_NAMES, owner)];
}

function misplaced(key: string, value: unknown): ConfigProblem[] {
  const parts = key.split('.').map(plainName);
  const exact = parts.flatMap((part) => PATHS.get(part) ?? []).at(-1);
  const near =
    exact ??
    parts
      .flatMap((part) => nearest(part, [...PATHS.keys()]) ?? [])
      .flatMap((name) => PATHS.get(name) ?? [])
      .at(-1);
  if (near !== undefined) {
    return [{ path: [key], message: misplacedMessage(key, near) }];
  }
  if (!isTable(value) || !Object.hasOwn(value, 'hooks')) return [];
  return [{ path: [key, 'hooks'], message: 'this has no effect here. Move "hooks:" to the top of the file.' }];
}

function unknown(
  data: unknown,
  path: readonly string[],
  names: SettingNames,
  allowed: SettingNames,
  owner: ConfigOwner,
): ConfigProblem[] {
  if (!isTable(data)) return [];
  return Object.keys(data).flatMap((key): ConfigProblem[] => {
    const at = [...path, key];
    if (!Object.hasOwn(names, key)) return [{ path: at, message: `not a setting. ${hint(key, names)}` }];
    if (!Object.hasOwn(allowed, key)) return [{ path: at, message: NOT_HERE[owner] }];
    const below = names[key];
    return below === undefined ? [] : unknown(data[key], at, below, allowed[key] ?? {}, owner);
  });
}

function hint(key: string, names: SettingNames): string {
  const sibling = nearest(plainName(key), Object.keys(names));
  if (sibling !== undefined) return `Did you mean "${sibling}"?`;
  const elsewhere = PATHS.get(plainName(key)) ?? PATHS.get(nearest(plainName(key), [...PATHS.keys()]) ?? '');
  if (elsewhere !== undefined && !SECTIONS.includes(elsewhere)) return `Did you mean "${elsewhere}"?`;
  return `Known here: ${Object.keys(names).join(', ')}.`;
}

function isTable(data: unknown): data is Readonly<Record<string, unknown>> {
  return typeof data === 'object' && data !== null && !Array.isArray(data);
}

function misplacedMessage(key: string, meant: string): string {
  if (key.includes('.')) return 'this has no effect. Write each name on a line of its own, below the one before it.';
  const section = SECTIONS.find((each) => meant === `${each}.${key}`);
  if (section !== undefined) return `this has no effect here. Move it below "${section}:".`;
  return `not a setting. Did you mean "${meant}"?`;
}

/** `maxCheckpoints` and `max-checkpoints` are how others would write `max_checkpoints`. */
function plainName(key: string): string {
  return key
    .replace(/([a-z])([A-Z])/gu, '$1_$2')
    .replaceAll('-', '_')
    .toLowerCase();
}

/** The name that a key most likely is a slip of, if one is near enough. */
export function nearest(key: string, names: readonly string[]): string | undefined {
  if (key.length > 40) return undefined;
  const limit = key.length < 6 ? 1 : 2;
  const near = names
    .map((name) => ({ name, distance: distance(key, name) }))
    .filter((each) => each.distance <= limit)
    .sort((a, b) => a.distance - b.distance)[0]?.name;
  return near ?? names.find((name) => key.length >= SAME_START && name.startsWith(key.slice(0, SAME_START)));
}

/** How many letters have to be put in, taken out, replaced or swapped with their neighbour. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, index) => index)];
  for (let i = 1; i <= a.length; i += 1) {
    const [above = [], before = []] = [rows[i - 1], rows[i - 2]];
    const row = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (above[j - 1] ?? 0) + Number(a[i - 1] !== b[j - 1]);
      const swapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1] ? (before[j - 2] ?? Infinity) + 1 : Infinity;
      row.push(Math.min((above[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, replaced, swapped));
    }
    rows.push(row);
  }
  return rows.at(-1)?.at(-1) ?? 0;
}
