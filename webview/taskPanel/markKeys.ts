const MOVES: Readonly<Record<string, (at: number, count: number) => number>> = {
  ArrowRight: (at, count) => Math.min(at + 1, count - 1),
  ArrowDown: (at, count) => Math.min(at + 1, count - 1),
  ArrowLeft: (at) => Math.max(at - 1, 0),
  ArrowUp: (at) => Math.max(at - 1, 0),
  Home: () => 0,
  End: (_at, count) => count - 1,
};

/** Gives the marks of the steps a keyboard and a tooltip. `focused` is told which mark the keyboard is at. */
export function attachMarks(root: HTMLElement, focused: (id: string) => void): void {
  const markOf = (event: Event, selector = '[data-mark]'): HTMLElement | undefined => {
    const { target } = event;
    const mark = target instanceof Element ? target.closest<HTMLElement>(selector) : null;
    return mark ?? undefined;
  };
  root.addEventListener('keydown', (event) => {
    const mark = markOf(event);
    if (mark === undefined) return;
    if (event.key === 'Escape') hideTip(root);
    const marks = [...root.querySelectorAll<HTMLElement>('[data-mark]')];
    const to = marks[MOVES[event.key]?.(marks.indexOf(mark), marks.length) ?? -1];
    if (to === undefined) return;
    event.preventDefault();
    focused(to.dataset['mark'] ?? '');
    to.focus();
  });
  root.addEventListener('focusin', (event) => {
    showTip(root, markOf(event));
  });
  root.addEventListener('focusout', () => {
    hideTip(root);
  });
  root.addEventListener('pointerover', (event) => {
    const mark = markOf(event, '[data-tip]');
    if (mark !== undefined) showTip(root, mark);
    else if (!(document.activeElement?.matches('[data-mark]') ?? false)) hideTip(root);
  });
}

function tipOf(root: HTMLElement): HTMLElement | null {
  return root.querySelector<HTMLElement>('#mark-tooltip');
}

function hideTip(root: HTMLElement): void {
  const tip = tipOf(root);
  if (tip !== null) tip.hidden = true;
}

/** Below its mark, which it doesn't hide, and never out of the page at its sides. */
function showTip(root: HTMLElement, mark: HTMLElement | undefined): void {
  const tip = tipOf(root);
  const chart = tip?.parentElement;
  if (tip === null || chart === null || chart === undefined) return;
  if (mark === undefined) {
    tip.hidden = true;
    return;
  }
  tip.textContent = mark.dataset['tip'] ?? '';
  tip.hidden = false;
  const box = chart.getBoundingClientRect();
  const at = mark.getBoundingClientRect();
  const left = at.left + at.width / 2 - box.left - tip.offsetWidth / 2;
  tip.style.top = `${at.bottom - box.top + 6}px`;
  tip.style.left = `${Math.max(0, Math.min(left, box.width - tip.offsetWidth))}px`;
}
