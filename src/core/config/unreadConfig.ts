import { DEFAULT_CONFIG, type TaskConfig } from './config';

/** In the place of a limit that can't be read: whatever it limits is kept. */
export const NO_LIMIT = Number.MAX_SAFE_INTEGER;

/** What holds while the user's settings can't be read: the defaults, but for those by which something is deleted. */
export const UNREAD_CONFIG: TaskConfig = {
  ...DEFAULT_CONFIG,
  maxCheckpoints: NO_LIMIT,
  retentionMs: { completed: NO_LIMIT, failed: NO_LIMIT, abandoned: NO_LIMIT },
  snapshots: { ...DEFAULT_CONFIG.snapshots, maxSize: NO_LIMIT },
  sessions: { ...DEFAULT_CONFIG.sessions, track: undefined },
};
