import type { ObservedHost } from '../../service/sessions/sessionHosts';
import { claudeReport } from '../hosts/claude/claudeReports';
import { claudeFolder, findClaudeSessions, readClaudeTranscript } from '../hosts/claude/claudeTranscript';
import { codexReport } from '../hosts/codex/codexReports';
import { codexFolder, findCodexSessions, readCodexTranscript } from '../hosts/codex/codexTranscript';
import { opencodeReport } from '../hosts/opencode/opencodeReports';
import { findOpencodeSessions, opencodeDatabase, readOpencodeTranscript } from '../hosts/opencode/opencodeTranscript';
import { otherReport } from '../hosts/otherReports';

/** The hosts whose sessions are observed on this machine. */
export function observedHosts(env: NodeJS.ProcessEnv, home: string, now: () => number): readonly ObservedHost[] {
  const [claude, codex, opencode] = [claudeFolder(env, home), codexFolder(env, home), opencodeDatabase(env, home)];
  return [
    {
      host: 'claude',
      reported: claudeReport,
      readTranscript: async (record) => Promise.resolve(readClaudeTranscript(record)),
      find: async () => Promise.resolve(findClaudeSessions(claude, now())),
    },
    {
      host: 'codex',
      reported: codexReport,
      readTranscript: async (record) => Promise.resolve(readCodexTranscript(record)),
      find: async () => Promise.resolve(findCodexSessions(codex, now())),
    },
    {
      host: 'opencode',
      reported: opencodeReport,
      readTranscript: async (record) => readOpencodeTranscript(opencode, record),
      find: async () => findOpencodeSessions(opencode, now()),
    },
    { host: 'gemini', reported: otherReport('gemini') },
    { host: 'cursor', reported: otherReport('cursor') },
    { host: 'vscode', reported: otherReport('vscode') },
  ];
}
