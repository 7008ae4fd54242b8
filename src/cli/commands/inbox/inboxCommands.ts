import type { CommandSpec, OptionSpec } from '../../parse/commandLine';

const WORKSPACE: OptionSpec = {
  flags: '--workspace <name>',
  does: "the workspace, where it isn't that of this folder",
};
const SESSION: OptionSpec = {
  flags: '--session <id>',
  does: "the session that calls (else what the agent's host says, or ATLAS_SESSION)",
};
const ID = { usage: '<id>', does: 'the number of the item' };

/** What is asked of sessions, and what they answer. */
export const INBOX_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'inbox add',
    does: 'Asks the sessions of this workspace for something.',
    operands: [{ usage: '<content>', does: 'what is to be done (- for standard input)' }],
    options: [
      { flags: '--channel <name>', does: 'where it comes from, such as email' },
      { flags: '--sender <name>', does: 'who asks' },
      { flags: '--trigger <name>', does: 'the trigger whose session is woken with the answer (else ATLAS_TRIGGER)' },
      { flags: '--session-key <key>', does: 'what tells that session from others of its trigger' },
      { flags: '--session <id>', does: "that session's id with its host" },
      WORKSPACE,
    ],
    example: 'atlas inbox add "Answer the question about the invoice" --trigger email',
    load: async () => (await import('./inbox')).add,
  },
  {
    name: 'inbox list',
    does: 'Lists what is asked for.',
    options: [
      {
        flags: '--status <status>',
        does: 'only these, or all; without it, what is neither done nor cancelled',
        choices: ['pending', 'processing', 'done', 'cancelled', 'all'],
      },
      WORKSPACE,
    ],
    example: 'atlas inbox list --status done',
    load: async () => (await import('./inbox')).list,
  },
  {
    name: 'inbox next',
    does: 'Claims the next item, which nobody else gets then.',
    options: [SESSION, { flags: '--lease <time>', does: 'for how long, such as 2h (else 1h)' }, WORKSPACE],
    example: 'atlas inbox next --lease 2h',
    load: async () => (await import('./inbox')).next,
  },
  {
    name: 'inbox complete',
    does: 'Says what came of an item, and wakes the session that waits for it.',
    operands: [ID, { usage: '<summary>', does: 'what came of it (- for standard input)' }],
    options: [SESSION, WORKSPACE],
    example: 'atlas inbox complete 42 "Answered: it was paid on Monday"',
    load: async () => (await import('./inbox')).complete,
  },
  {
    name: 'inbox cancel',
    does: "Ends an item that isn't wanted any more, which a human decides.",
    operands: [ID, { usage: '[why]', does: 'why' }],
    options: [WORKSPACE],
    example: 'atlas inbox cancel 42 "asked twice"',
    load: async () => (await import('./inbox')).cancel,
  },
];
