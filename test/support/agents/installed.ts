import { REAL_AGENTS_HERE } from './agentsHere';
import { installAgent, installOpenCodePlugins } from './install';

/** Vitest's set-up of a whole run: installs the agents once, before two test files want the same one at the same time. */
export async function setup(): Promise<void> {
  for (const agent of REAL_AGENTS_HERE) await installAgent(agent);
  if (REAL_AGENTS_HERE.includes('opencode')) await installOpenCodePlugins();
}
