import type { SessionChange } from '../../../core/session/sessionEvent';
import type { Observed, SpoolEnvelope } from '../../../service/sessions/sessionHosts';
import { askedOf, listItems, observedBy } from '../hookReport';
import { type Fields, fieldsOf, filesOfPatch, listOf, reportFields, textOf, wholeOf } from '../reportText';

/** What a report of our plugin says; see `pluginText.ts`. */
export function opencodeReport(body: string, envelope: SpoolEnvelope): Observed | undefined {
  const fields = reportFields(body);
  const isSubagent = textOf(fields['parent']) !== undefined;
  const marks = isSubagent ? [...envelope.marks, 'subagent' as const] : envelope.marks;
  return observedBy(fields, { ...envelope, marks }, changesOf(fields, envelope.marks.includes('headless')));
}

function changesOf(fields: Fields, isHeadless: boolean): SessionChange[] {
  const id = textOf(fields['call']);
  switch (fields['kind']) {
    case 'created':
      return [{ kind: 'started', start: 'startup' }];
    case 'request': {
      const text = requestText(textOf(fields['text']), isHeadless);
      return text === undefined ? [] : [{ kind: 'request', text }];
    }
    case 'before':
      return id === undefined ? [] : [{ kind: 'tool_asked', id, ...toolOf(fields) }];
    case 'after': {
      const exitCode = wholeOf(fields['exit']);
      const ended = { kind: 'tool_ended' as const, ...(exitCode === undefined ? {} : { exitCode }) };
      return id === undefined ? [] : [{ ...ended, id, ...toolOf(fields) }];
    }
    case 'failed':
      return id === undefined ? [] : [{ kind: 'tool_ended', id, failed: true }];
    case 'status':
      return fields['status'] === 'idle' ? [{ kind: 'turn_ended' }] : [{ kind: 'seen' }];
    case 'idle':
      return [{ kind: 'turn_ended' }];
    case 'permission':
      return [{ kind: 'permission_asked', ...(id === undefined ? {} : { id }) }];
    case 'replied':
      return [{ kind: 'phase', phase: 'working' }];
    case 'todo':
      return [{ kind: 'list', items: listItems(fields['todos']) }];
    case 'compacted':
      return [{ kind: 'compacted' }];
    case 'patch':
      return [{ kind: 'files', tool: 'patch', paths: listOf(fields['files']).flatMap((file) => textOf(file) ?? []) }];
    case 'text': {
      const text = textOf(fields['text']);
      return text === undefined ? [] : [{ kind: 'message', text }];
    }
    case 'deleted':
      return [{ kind: 'ended', reason: 'deleted' }];
    default:
      return [];
  }
}

function toolOf(fields: Fields): { name: string } & ReturnType<typeof askedOf> {
  const name = textOf(fields['tool']) ?? '';
  const args = fieldsOf(fields['args']);
  const patch = textOf(args['patchText']);
  return { name, ...askedOf(name, args), ...(patch === undefined ? {} : { files: filesOfPatch(patch) }) };
}

/** `opencode run` puts quotes around a request of several words. */
export function requestText(text: string | undefined, isHeadless: boolean): string | undefined {
  const inside = /^"([^]*)"$/u.exec(text ?? '')?.[1];
  return isHeadless && inside !== undefined ? inside : text;
}
