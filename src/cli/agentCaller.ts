/** A variable that an agent's host sets for what its agent runs. */
interface AgentVariable {
  readonly name: string;
  readonly agent: string;
  /** Only with such a value; without it, any value that isn't empty, `0` or `false`. */
  readonly value?: RegExp;
  /** Where that is known from. */
  readonly source: string;
}

const DETECT_AGENT = 'https://github.com/vercel/vercel/blob/main/packages/detect-agent/src/index.ts';
const STD_ENV = 'https://github.com/unjs/std-env/blob/main/src/agents.ts';

/** How the processes of agents are told from those of people. A guard rail, no wall: an agent can unset a variable. */
const AGENT_VARIABLES: readonly AgentVariable[] = [
  { name: 'ATLAS_AGENT', agent: 'the agent that "atlas run" started', source: 'src/cli/commands/task/agentRun.ts' },
  // What a check runs comes from the repository, or from an agent that edited it: whoever started the check decides nothing by that.
  { name: 'ATLAS_RECEIPT_ID', agent: 'a check that Atlas runs', source: 'src/validation/commandEnvironment.ts' },
  { name: 'AI_AGENT', agent: 'an agent', source: DETECT_AGENT },
  { name: 'CLAUDECODE', agent: 'Claude Code', source: 'https://code.claude.com/docs/en/env-vars' },
  { name: 'CLAUDE_CODE', agent: 'Claude Code', source: DETECT_AGENT },
  { name: 'CODEX_SANDBOX', agent: 'Codex', source: DETECT_AGENT },
  { name: 'CODEX_CI', agent: 'Codex', source: DETECT_AGENT },
  { name: 'CODEX_THREAD_ID', agent: 'Codex', source: DETECT_AGENT },
  { name: 'GEMINI_CLI', agent: 'Gemini CLI', source: 'https://geminicli.com/docs/tools/shell/' },
  { name: 'CURSOR_AGENT', agent: 'Cursor', source: DETECT_AGENT },
  { name: 'CURSOR_EXTENSION_HOST_ROLE', value: /^agent-exec$/u, agent: 'Cursor', source: DETECT_AGENT },
  { name: 'OPENCODE', agent: 'OpenCode', source: STD_ENV },
  { name: 'OPENCODE_CLIENT', agent: 'OpenCode', source: DETECT_AGENT },
  { name: 'AUGMENT_AGENT', agent: 'Augment', source: DETECT_AGENT },
  { name: 'ANTIGRAVITY_AGENT', agent: 'Antigravity', source: DETECT_AGENT },
];

/** The agent whose process this is, by what its host set; `undefined` where nothing tells of one. */
export function callingAgent(env: NodeJS.ProcessEnv): string | undefined {
  return AGENT_VARIABLES.find(({ name, value }) => {
    const set = env[name];
    if (set === undefined || set === '') return false;
    return value === undefined ? set !== '0' && set !== 'false' : value.test(set);
  })?.agent;
}
