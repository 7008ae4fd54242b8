import { BUNDLED, type LeftOut, MINUTES } from '../leftOut.mts';

/** What agents are, which Atlas can't tell on Windows: asking would take longer than a hook may. */
const AGENT_PROCESS = "tells an agent's process by its hooks' ancestors, which is not done on Windows";
const SHELL = 'has agents of lines of sh, whose commands start others';

/** What can tell nothing on Windows, or under Wine. */
export const LEFT_OUT: readonly LeftOut[] = [
  ...BUNDLED,
  { file: 'test/integration/agents/agentScript.test.ts', reason: SHELL },
  { file: 'test/integration/agents/agentDoors.test.ts', reason: MINUTES },
  { file: 'test/integration/agents/agentSessions.test.ts', reason: AGENT_PROCESS },
  { file: 'test/integration/agents/doneGate.test.ts', reason: AGENT_PROCESS },
  { file: 'test/integration/agents/sameStory.test.ts', reason: AGENT_PROCESS },
  {
    file: 'test/integration/agents/inboxWatcher.test.ts',
    tests: ['the watcher of inboxes > follows a folder that was destroyed and made again'],
    reason: 'removes a folder that is watched, which Wine keeps until nobody watches it',
  },
  {
    file: 'test/integration/cli/cliAgent.test.ts',
    tests: [
      'what is told to be typed > by HOOK.md, in whatever state, is understood',
      'what is told to be typed > by the example of each command, which its help shows, is understood',
      'hostile words > that name the command of a validation are shown plain, and are what runs',
      'options > a reader that has seen enough is no failure',
    ],
    reason: SHELL,
  },
  {
    file: 'test/integration/cli/cliAgent.test.ts',
    tests: [
      'hostile words > of 100 KB, with control characters, Markdown and what shells act on, reach no terminal and break no HOOK.md',
    ],
    reason: 'has command lines of 100 KB, by which Wine crashes',
  },
  {
    file: 'test/integration/cli/cliExits.test.ts',
    tests: ['atlas exits with > 3 for what is not there'],
    reason: "goes by how Windows' cmd exits for a program that is not there; Wine's exits otherwise",
  },
  { file: 'test/integration/cli/cliRun.test.ts', reason: SHELL },
];
