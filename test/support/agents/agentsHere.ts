import { type RealAgent, REAL_AGENTS } from './install';

const wanted = process.env['ATLAS_REAL_AGENTS']?.split(',');

/** The agents that are run: Codex and OpenCode, which anybody may install, and those that are asked for. */
export const REAL_AGENTS_HERE: readonly RealAgent[] = REAL_AGENTS.filter((agent) =>
  wanted === undefined ? agent !== 'claude' : wanted.includes(agent),
);
