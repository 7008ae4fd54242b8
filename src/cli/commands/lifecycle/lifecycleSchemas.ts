import * as z from 'zod/mini';

const text = z.string();
const time = text;
const integer = z.int();
const maybe = <T extends z.core.$ZodType>(type: T) => z.nullable(type);

/** Of `lifecycle <event>`: what the agent is told, and whether it has to go on. */
const reaction = z.strictObject({
  event: text,
  host: maybe(text),
  blocks: z.boolean(),
  text,
  exit_code: integer,
});

/** Of `lifecycle install` and `uninstall`: which files change, and how. */
const wiring = z.strictObject({
  host: text,
  dry_run: z.boolean(),
  changed: z.boolean(),
  /** `leads_to`: where a link leads, if the file is one or lies behind one. */
  files: z.array(z.strictObject({ path: text, leads_to: maybe(text), change: z.enum(['made', 'changed', 'removed']) })),
  diff: text,
});

/** Of `lifecycle status` and `doctor`: a hook of a host. */
const wiredHook = {
  host: text,
  event: text,
  /** The host's own name of it. */
  key: text,
  installed: z.boolean(),
  /** In this folder; null where it never was. */
  last_fired: maybe(time),
  can_inject: z.boolean(),
  can_block: z.boolean(),
};

/** What `--json` says for hosts' hooks and of them. */
export const LIFECYCLE_ANSWERS = {
  'lifecycle session-start': reaction,
  'lifecycle stop': reaction,
  'lifecycle pre-compact': reaction,
  'lifecycle subagent-stop': reaction,
  'lifecycle session-end': reaction,
  'lifecycle stop-failure': reaction,
  'lifecycle turn-start': reaction,
  'lifecycle before-discard': reaction,
  'lifecycle install': wiring,
  'lifecycle uninstall': wiring,
  'lifecycle status': z.strictObject({ hooks: z.array(z.strictObject(wiredHook)) }),
  'lifecycle doctor': z.strictObject({
    hooks: z.array(
      z.strictObject({
        ...wiredHook,
        /** Whether it works; null where nothing was fired. */
        works: maybe(z.boolean()),
        /** How long it took, in ms. */
        took_ms: maybe(integer),
        problem: maybe(text),
      }),
    ),
    problems: integer,
  }),
} as const;
