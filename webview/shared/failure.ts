import { h, type VNode } from './dom';

/** A text that went wrong, for a person. */
export interface Failure {
  readonly message: string;
  readonly hint: string | undefined;
}

/** What went wrong, if something did: why there is nothing new to show, and why the last request came to nothing. */
export function failureViews(
  unavailable: Failure | undefined,
  failure: Failure | undefined,
  dismiss: string | undefined,
): VNode[] {
  return [
    ...(unavailable === undefined ? [] : [failureView('unavailable', unavailable, undefined)]),
    ...(failure === undefined ? [] : [failureView('failure', failure, dismiss)]),
  ];
}

function failureView(key: string, failure: Failure, dismiss: string | undefined): VNode {
  return h(
    'div',
    { key, class: 'notice error', role: 'alert' },
    h('p', {}, failure.message, failure.hint === undefined ? undefined : ` ${failure.hint}`),
    dismiss === undefined
      ? undefined
      : h('button', { type: 'button', class: 'secondary', 'data-do': 'dismiss' }, dismiss),
  );
}
