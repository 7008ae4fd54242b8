import type { CommandSpec, OptionSpec } from '../../parse/commandLine';

const WORKSPACE: OptionSpec = {
  flags: '--workspace <name>',
  does: "the workspace (default: this folder's)",
};
const SESSION: OptionSpec = {
  flags: '--session <id>',
  does: "ID of the calling session (default: as the agent's host reports it, then $ATLAS_SESSION)",
};
const ID = { usage: '<id>', does: 'number of the item' };

/** What is asked of sessions, and what they answer. */
export const INBOX_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'inbox add',
    does: 'Add an item to the agent queue of this workspace.',
    operands: [{ usage: '<content>', does: 'what the agent should do (- for standard input)' }],
    options: [
      { flags: '--channel <name>', does: 'where the item comes from, such as email' },
      { flags: '--sender <name>', does: 'who sent it' },
      { flags: '--trigger <name>', does: 'trigger whose session is woken with the answer (default: $ATLAS_TRIGGER)' },
      { flags: '--session-key <key>', does: "key of that session among its trigger's sessions" },
      { flags: '--session <id>', does: "that session's ID on its host" },
      WORKSPACE,
    ],
    example: 'atlas inbox add "Answer the question about the invoice" --trigger email',
    load: async () => (await import('./inbox')).add,
  },
  {
    name: 'inbox list',
    does: 'List the items of the agent queue.',
    options: [
      {
        flags: '--status <status>',
        does: 'only items with this status, or all (default: open items)',
        choices: ['pending', 'processing', 'done', 'cancelled', 'all'],
      },
      WORKSPACE,
    ],
    example: 'atlas inbox list --status done',
    load: async () => (await import('./inbox')).list,
  },
  {
    name: 'inbox next',
    does: 'Claim the next item for this session.',
    options: [
      SESSION,
      { flags: '--lease <time>', does: 'how long to hold the claim, such as 2h (default: 1h)' },
      WORKSPACE,
    ],
    example: 'atlas inbox next --lease 2h',
    load: async () => (await import('./inbox')).next,
  },
  {
    name: 'inbox complete',
    does: 'Complete an item and wake the session waiting for it.',
    operands: [ID, { usage: '<summary>', does: 'result, in a sentence (- for standard input)' }],
    options: [SESSION, WORKSPACE],
    example: 'atlas inbox complete 42 "Answered: it was paid on Monday"',
    load: async () => (await import('./inbox')).complete,
  },
  {
    name: 'inbox cancel',
    does: 'Cancel an item (human only).',
    operands: [ID, { usage: '[why]', does: 'reason' }],
    options: [WORKSPACE],
    example: 'atlas inbox cancel 42 "asked twice"',
    load: async () => (await import('./inbox')).cancel,
  },
];
