import type { SessionRecord } from '../../core/session/sessionRecord';

const isTold = ({ source }: { readonly source: string }): boolean => source !== 'transcript';

/** A record without what was read of a transcript: once reading is no longer allowed, nothing of it is kept. */
export function withoutTranscript(record: SessionRecord): SessionRecord {
  if (record.read_to === undefined) return record;
  const { read_to: _read, first_request: first, latest_request: latest, list, message, ...rest } = record;
  return {
    ...rest,
    ...(first !== undefined && isTold(first) ? { first_request: first } : {}),
    ...(latest !== undefined && isTold(latest) ? { latest_request: latest } : {}),
    ...(list !== undefined && isTold(list) ? { list } : {}),
    ...(message !== undefined && isTold(message) ? { message } : {}),
    tools: record.tools.filter(isTold),
    commands: record.commands.filter(isTold).map((command) => {
      if (command.end_source !== 'transcript') return command;
      const { end_source: _source, exit_code: _code, duration_ms: _duration, failed: _failed, ...asked } = command;
      return asked;
    }),
    files: record.files.filter(isTold),
    compactions: record.compactions.filter(isTold),
  };
}
