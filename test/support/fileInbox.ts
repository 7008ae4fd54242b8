import { readFileSync } from 'node:fs';
import type { InboxLook } from '../../src/agents/inboxLook';

/* Stands in the built command's place of `inboxLook`: an inbox that a test fills by a file, or that can't be read. */

/** The inbox in the file that `TEST_INBOX` names. */
export function inboxOf(): InboxLook {
  const file = process.env['TEST_INBOX'] ?? '';
  const read = (): { active: ReturnType<InboxLook['active']>; pending: number } =>
    file === '' ? { active: [], pending: 0 } : (JSON.parse(readFileSync(file, 'utf8')) as ReturnType<typeof read>);
  return { active: () => read().active, pendingCount: () => read().pending };
}
