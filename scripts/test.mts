/* `npm test`: every phase in order, or only those named as arguments. Stops at the first failure. */
import { rmSync } from 'node:fs';
import path from 'node:path';
import { OUT, PROJECT } from '../test/support/project.ts';
import { useMemoryFolder } from './memoryFolder.mts';
import { count, failures, isPresent, reportOf, runPhase, type Phase } from './phases.mts';
import { isLaidOut, windowsLayout } from './platforms/windows/layout.mts';

const TSX = tool('tsx');

/** The command of a development dependency. */
function tool(name: string): string {
  return path.join(PROJECT, 'node_modules', '.bin', name);
}

function vitest(name: string): Phase {
  return {
    name,
    command: [
      ...([tool('vitest'), 'run', '--project', `${name}*`] as const),
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${reportOf(name)}`],
    ],
    tests: { folder: `test/${name}`, report: 'vitest' },
  };
}

/** Phases of which so many run at once, each begun in order as soon as there is room. */
interface Stage {
  readonly atOnce: number;
  readonly phases: readonly Phase[];
}

/** Each stage begins when the one before has ended. */
const STAGES: readonly Stage[] = [
  alone({ name: 'setup', command: [TSX, 'scripts/setup.mts'] }),
  {
    atOnce: 5,
    phases: [
      { name: 'lint', command: ['npm', 'run', '--silent', 'lint'] },
      { name: 'types', command: ['npm', 'run', '--silent', 'typecheck'] },
      { name: 'format', command: ['npm', 'run', '--silent', 'format:check'] },
      { name: 'knip', command: ['npm', 'run', '--silent', 'knip'] },
      // Needs nothing that is built, and takes the core that the linter leaves.
      vitest('unit'),
    ],
  },
  alone({ name: 'build', command: ['npm', 'run', '--silent', 'build'] }),
  {
    // What drives windows and agents waits for them half of the time. The longest begin first.
    atOnce: 2,
    phases: [
      { ...vitest('integration'), besideOthers: ['--maxWorkers=1'] },
      vitest('e2e'),
      // Real agents, which are installed on first use: over half a gigabyte.
      vitest('agents'),
      {
        name: 'host',
        command: [TSX, 'scripts/hostSuite.mts', '--report', reportOf('host')],
        tests: { folder: 'test/host', report: 'mocha' },
      },
      {
        // The newest VS Code that is supported, on the Node that it needs.
        name: 'host-newest',
        command: [TSX, 'scripts/hostSuite.mts', '--version', '4.139.1', '--report', reportOf('host-newest')],
        tests: { folder: 'test/host', report: 'mocha' },
      },
      vitest('crash'),
      {
        // Windows' own Node and git, under Wine, which are installed on first use. "npm run test:windows" runs more tests there.
        name: 'windows',
        command: [
          TSX,
          'scripts/platforms/main.mts',
          'windows',
          '--share',
          '--if-possible',
          '--report',
          reportOf('windows'),
        ],
        tests: { folder: 'test/windows', report: 'platform', isOptional: true },
      },
    ],
  },
  alone({ name: 'package', command: [TSX, 'scripts/package.mts'] }),
];

function alone(phase: Phase): Stage {
  return { atOnce: 1, phases: [phase] };
}

const PHASES = STAGES.flatMap(({ phases }) => phases);

/** What must have run before a phase that is asked for by name. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  host: ['build'],
  'host-newest': ['build'],
  e2e: ['build'],
  crash: ['build'],
};

/** The names of the phases that are asked for, with what they need. */
function chosen(names: readonly string[]): ReadonlySet<string> {
  if (names.length === 0) return new Set(PHASES.map(({ name }) => name));
  const unknown = names.filter((name) => !PHASES.some((phase) => phase.name === name));
  if (unknown.length > 0)
    throw new Error(`no phase ${unknown.join(', ')}; there are ${PHASES.map((p) => p.name).join(', ')}`);
  return new Set(names.flatMap((name) => [...(NEEDS[name] ?? []), name]));
}

/** Whether a phase runs unasked: real agents and a Windows are too large to be installed by everybody who runs the tests. */
function isMeant({ name }: Phase): boolean {
  const isCi = process.env['CI'] === 'true';
  if (name === 'agents' && !isCi && process.env['ATLAS_REAL_AGENTS'] === undefined) {
    console.log('Real agents are left out. To run them: ATLAS_REAL_AGENTS=codex,opencode npm test');
    return false;
  }
  if (name === 'windows' && !isCi && !isLaidOut(windowsLayout())) {
    console.log('Windows is left out. To run the tests there, under Wine: npm run test:windows');
    return false;
  }
  return true;
}

/** Runs a stage; once a phase failed, none begins any more. Rejects with the first failure when all have ended. */
async function runStage({ atOnce, phases }: Stage): Promise<void> {
  const waiting = [...phases];
  const isAlone = atOnce === 1 || phases.length === 1;
  const runInTurn = async (): Promise<void> => {
    for (let phase = waiting.shift(); phase !== undefined; phase = waiting.shift()) {
      console.log(`\n== ${phase.name}`);
      const start = performance.now();
      try {
        await runPhase(phase, { isAlone });
      } catch (error) {
        waiting.length = 0;
        throw error;
      }
      console.log(`== ${phase.name}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
  };
  // All of them end before the first failure is told: what they work in is removed with it.
  const ended = await Promise.allSettled(Array.from({ length: atOnce }, runInTurn));
  for (const each of ended) if (each.status === 'rejected') throw each.reason;
}

async function main(): Promise<void> {
  const named = process.argv.slice(2);
  const names = chosen(named);
  const runs = (phase: Phase): boolean =>
    names.has(phase.name) && isPresent(phase) && (named.length > 0 || isMeant(phase));
  const stages = STAGES.map((stage) => ({ ...stage, phases: stage.phases.filter(runs) }));
  rmSync(path.join(OUT, 'reports'), { recursive: true, force: true });
  const removeMemoryFolder = useMemoryFolder();
  try {
    for (const stage of stages) await runStage(stage);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  } finally {
    removeMemoryFolder();
  }
  const phases = stages.flatMap((stage) => stage.phases);
  for (const failure of failures(phases)) console.error(failure);
  const { passed, failed } = count(phases);
  console.log(`${passed} passed, ${failed} failed`);
}

await main();
