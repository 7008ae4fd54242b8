/** What repair does about something that is not as it should be; `by_hand`: nothing, a human decides. */
export const REPAIR_ACTIONS = [
  'remove_lock',
  'forget_worktree',
  'keep_folder',
  'roll_back',
  'restore_ledger',
  'drop_files',
  'shrink_ledger',
  'show_folder',
  'hand_on',
  'give_up',
  'withdraw',
  'complete_ledger',
  'set_lines_aside',
  'take_lines',
  'reopen_task',
  'by_hand',
] as const;

/** One of them. */
export type RepairAction = (typeof REPAIR_ACTIONS)[number];
