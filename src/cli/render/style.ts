import type { TaskState } from '../../core/task/taskRecord';
import type { Verdict } from '../../core/receipt/receipt';
import type { Streams } from './output';

const COLOR_OF: Partial<Readonly<Record<TaskState | Verdict, 'green' | 'yellow' | 'red' | 'cyan'>>> = {
  step_running: 'cyan',
  step_validating: 'cyan',
  awaiting_human: 'yellow',
  recovering: 'red',
  completed: 'green',
  failed: 'red',
  valid: 'green',
  valid_short: 'yellow',
  invalid: 'red',
  unsigned: 'red',
  unknown_key: 'yellow',
};

/** SGR codes of ECMA-48: the foreground colour, and the default one again. */
const CODES = { green: 32, yellow: 33, red: 31, cyan: 36 } as const;

/** A text in the colour of a state or verdict, where colours may be used. */
export function paint({ colors }: Streams, kind: TaskState | Verdict, text: string): string {
  const color = COLOR_OF[kind];
  return !colors || color === undefined ? text : `\u001b[${CODES[color]}m${text}\u001b[39m`;
}
