import * as z from 'zod/mini';
import { INBOX_STATUSES } from '../../../core/inbox/inbox';

const text = z.string();
const integer = z.int();
const maybe = <T extends z.core.$ZodType>(type: T) => z.nullable(type);
const time = text;

/** What `--json` says of an item of the agent queue. */
export const inboxItem = z.strictObject({
  id: integer,
  channel: text,
  sender: text,
  content: text,
  /** One whose claim is lost is pending. */
  status: z.enum(INBOX_STATUSES),
  response_summary: maybe(text),
  created_at: time,
  processed_at: maybe(time),
  /** Of the session that is woken with the answer. */
  trigger_name: maybe(text),
  session_key: maybe(text),
  session_id: maybe(text),
  /** The session that works on it, or did last. */
  claimed_by: maybe(text),
  claimed_until: maybe(time),
  claims: integer,
});
