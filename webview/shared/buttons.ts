import { h, type VNode } from './dom';

/** A request's name, so that the same one is not sent twice at a time. */
export function requestKey(request: unknown): string {
  return JSON.stringify(request);
}

/** How a button for a request looks and what it says. */
export interface ButtonLook {
  readonly label: string;
  readonly rank: string;
  readonly hint?: string | undefined;
  /** Said while the request is under way. */
  readonly working: string;
  /** It is under way, whoever began it. */
  readonly busy: boolean;
}

/** A button that sends a request. */
export function requestButton(request: unknown, look: ButtonLook): VNode {
  const key = requestKey(request);
  return h(
    'button',
    {
      key,
      type: 'button',
      class: look.rank,
      title: look.hint,
      'data-do': key,
      'aria-disabled': look.busy ? 'true' : undefined,
      'aria-busy': look.busy ? 'true' : undefined,
    },
    look.busy ? look.working : look.label,
  );
}
