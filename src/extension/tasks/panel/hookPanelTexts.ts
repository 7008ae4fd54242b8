import type { DriftKind } from '../../../core/checkpoint/checkpoint';
import type { CheckpointTrigger, TaskState, RecoveryAction } from '../../../core/task/taskRecord';
import type { TaskAction } from '../../../core/task/taskActions';
import type { HookPanelStrings } from '../../../protocol/hookPanel';
import type { JournalStanding } from './hookPanelSource';

/** A button's label and what it does. */
export interface ActionText {
  readonly label: string;
  readonly hint: string;
}

/** Every text that the panel's model is made of, in the editor's language. */
export interface HookPanelTexts {
  readonly strings: HookPanelStrings;
  state(state: TaskState): string;
  action(action: TaskAction): ActionText;
  recovery(recovery: RecoveryAction, computed: boolean): ActionText;
  trigger(trigger: CheckpointTrigger): string;
  drift(kind: DriftKind): string;
  journal(standing: Exclude<JournalStanding, 'sound'>): string;
  step(name: string, number: number, total: number): string;
  attempt(attempt: number, max: number): string;
  announcement(state: string, step: string | undefined): string;
  edited(times: number): string;
  untrusted(): string;
  quiet(): string;
  crashed(): string;
  recovering(reason: string): string;
  waiting(message: string): string;
  mark(trigger: string, description: string, step: string): string;
  uncommitted(): string;
  readonly labels: Readonly<Record<'workspace' | 'template' | 'step' | 'attempt' | 'branch' | 'workingOn', string>>;
}
