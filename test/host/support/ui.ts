import type { uiSteps } from './uiSteps';

type Steps = typeof uiSteps;
type ArgOf<N extends keyof Steps> = Parameters<Steps[N]> extends [unknown, infer Arg] ? [arg: Arg] : [];

/** Whether the suite's window can be acted on: not on a desktop VS Code. */
export const hasUi = process.env['HOST_UI_URL'] !== undefined;

/** Has a step of `uiSteps` done in the window by the runner's process; rejects with the step's error. */
export async function callUi<N extends keyof Steps>(
  name: N,
  ...args: ArgOf<N>
): Promise<Awaited<ReturnType<Steps[N]>>> {
  const url = process.env['HOST_UI_URL'];
  if (url === undefined) throw new Error('this host has no window to act on');
  const response = await fetch(url, { method: 'POST', body: JSON.stringify([name, args[0]]) });
  const answer = (await response.json()) as { result: Awaited<ReturnType<Steps[N]>>; error?: string };
  if (answer.error !== undefined) throw new Error(answer.error);
  return answer.result;
}
