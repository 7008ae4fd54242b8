import type { CommandSpec, OptionSpec } from '../../parse/commandLine';

const YES: OptionSpec = { flags: '-y, --yes', does: 'answer yes to the question' };
const REMOTE = { usage: '[remote]', does: 'remote (default: the only one, or origin)' };

/** Receipts that travel with commits, and what verifies them. */
export const VERIFY_COMMANDS: readonly CommandSpec[] = [
  {
    name: 'receipts attach',
    does: 'Attach the receipts that cover a commit to a git note on its tree. Publishes nothing.',
    operands: [{ usage: '[commit]', does: 'commit (default: HEAD)' }],
    example: 'atlas receipts attach HEAD',
    load: async () => (await import('./share')).attach,
  },
  {
    name: 'receipts push',
    does: 'Push attached receipts to a remote. The first push to it shows what becomes public, and asks.',
    operands: [REMOTE],
    options: [YES],
    example: 'atlas receipts push origin',
    load: async () => (await import('./share')).push,
  },
  {
    name: 'receipts fetch',
    does: 'Fetch the receipts that others pushed.',
    operands: [REMOTE],
    example: 'atlas receipts fetch origin',
    load: async () => (await import('./share')).fetch,
  },
  {
    name: 'keys trust',
    does: "Add your own key to .atlas/trusted-keys.json, for the repository's maintainers to review.",
    options: [
      { flags: '--name <name>', does: "whose key it is (default: git's user.name)" },
      { flags: '--kind <kind>', does: 'what the key is for (default: developer)', choices: ['developer', 'ci'] },
    ],
    example: 'atlas keys trust --name "Ana"',
    load: async () => (await import('./keys')).trust,
  },
  {
    name: 'verify',
    does: 'Verify that a commit, or each of a range, has the receipts that the base branch demands.',
    operands: [{ usage: '<commit|range>', does: 'commit, or A..B' }],
    options: [
      { flags: '--base <ref>', does: "take policy and keys from here (default: the remote's default branch)" },
      { flags: '--require <name>', does: 'demand this check too; repeatable', list: true },
      { flags: '--allow-ancestor', does: 'accept an ancestor that differs only in paths the policy ignores' },
      { flags: '--rerun', does: 'run missing checks in a clean checkout first, and sign as CI (human or CI only)' },
      { flags: '--unsigned <file>', does: 'with --rerun: sign nothing, and write the results for a job that signs' },
      { flags: '--force', does: 'overwrite the file that --unsigned names' },
      { flags: '--sign <file>', does: 'sign as CI what a job wrote with --unsigned (human or CI only)' },
      { flags: '--format <format>', does: 'output format', choices: ['text', 'json', 'markdown', 'sarif'] },
    ],
    example: 'atlas verify HEAD',
    load: async () => (await import('./verify')).verify,
  },
];
