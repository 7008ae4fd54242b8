import type { HostName, LifecycleEvent } from '../../src/agents/hosts';

/* What each host writes to its hooks' standard input, by the examples of its documentation (see docs/agents.md). */

type Inputs = Partial<Readonly<Record<LifecycleEvent, object>>>;

const SESSION = '00893aaf-19fa-41d2-8238-13269b9b3ca0';

/** The inputs of each host, for an agent that works in a folder. */
export function hostInputs(folder: string): Readonly<Record<HostName, Inputs>> {
  const claude = { session_id: SESSION, transcript_path: `${folder}/${SESSION}.jsonl`, cwd: folder };
  const codex = { ...claude, turn_id: 'turn-1', model: 'gpt-5', permission_mode: 'default' };
  const vscode = { timestamp: '2026-02-09T10:30:00.000Z', cwd: folder, sessionId: SESSION, transcript_path: '/t.json' };
  const gemini = { ...claude, timestamp: '2026-02-09T10:30:00.000Z' };
  const cursor = {
    conversation_id: SESSION,
    generation_id: 'generation-1',
    model: 'm',
    cursor_version: '3.7.21',
    workspace_roots: [folder],
    user_email: null,
    transcript_path: null,
  };
  return {
    claude: {
      'session-start': { ...claude, hook_event_name: 'SessionStart', source: 'startup' },
      stop: { ...claude, permission_mode: 'default', hook_event_name: 'Stop', stop_hook_active: false },
      'pre-compact': { ...claude, hook_event_name: 'PreCompact', trigger: 'manual', custom_instructions: '' },
      'subagent-stop': { ...claude, hook_event_name: 'SubagentStop', stop_hook_active: false, agent_id: 'a' },
      'session-end': { ...claude, hook_event_name: 'SessionEnd', reason: 'exit' },
      'stop-failure': { ...claude, hook_event_name: 'StopFailure', error: 'rate_limit', error_details: '429' },
    },
    vscode: {
      'session-start': { ...vscode, hookEventName: 'SessionStart', source: 'new' },
      stop: { ...vscode, hookEventName: 'Stop', stop_hook_active: false },
      'pre-compact': { ...vscode, hookEventName: 'PreCompact', trigger: 'auto' },
      'subagent-stop': { ...vscode, hookEventName: 'SubagentStop', agent_id: 'a', agent_type: 'Plan' },
    },
    codex: {
      'session-start': { ...codex, hook_event_name: 'SessionStart', source: 'startup' },
      stop: { ...codex, hook_event_name: 'Stop', stop_hook_active: false, last_assistant_message: 'Done.' },
      'pre-compact': { ...codex, hook_event_name: 'PreCompact', trigger: 'auto' },
      'subagent-stop': { ...codex, hook_event_name: 'SubagentStop', stop_hook_active: false, agent_id: 'a' },
    },
    gemini: {
      'session-start': { ...gemini, hook_event_name: 'SessionStart', source: 'startup' },
      stop: { ...gemini, hook_event_name: 'AfterAgent', prompt: 'x', prompt_response: 'y', stop_hook_active: false },
      'pre-compact': { ...gemini, hook_event_name: 'PreCompress', trigger: 'auto' },
      'session-end': { ...gemini, hook_event_name: 'SessionEnd', reason: 'exit' },
    },
    cursor: {
      'session-start': { ...cursor, hook_event_name: 'sessionStart', session_id: SESSION, composer_mode: 'agent' },
      stop: { ...cursor, hook_event_name: 'stop', status: 'completed', loop_count: 0 },
      'pre-compact': { ...cursor, hook_event_name: 'preCompact', trigger: 'auto', context_usage_percent: 85 },
      'subagent-stop': { ...cursor, hook_event_name: 'subagentStop', status: 'completed', loop_count: 0 },
      'session-end': { ...cursor, hook_event_name: 'sessionEnd', session_id: SESSION, reason: 'completed' },
    },
  };
}
