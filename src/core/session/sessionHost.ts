/** The hosts whose sessions are observed. */
export const SESSION_HOSTS = ['claude', 'codex', 'opencode', 'gemini', 'cursor', 'vscode'] as const;

/** One of them. */
export type SessionHost = (typeof SESSION_HOSTS)[number];

/** Those whose transcripts can be read. */
export const TRANSCRIPT_HOSTS = ['claude', 'codex', 'opencode'] as const satisfies readonly SessionHost[];

/** One of them. */
export type TranscriptHost = (typeof TRANSCRIPT_HOSTS)[number];

/** For people. */
export const HOST_TITLES: Readonly<Record<SessionHost, string>> = {
  claude: 'Claude Code',
  codex: 'Codex',
  opencode: 'OpenCode',
  gemini: 'Gemini CLI',
  cursor: 'Cursor',
  vscode: 'Copilot',
};
