/* `npm test`: every phase in order, or only those named as arguments. Stops at the first failure. */
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { BUILT_FOLDER } from '../test/support/built.ts';
import { OUT, PROJECT } from '../test/support/project.ts';
import { useMemoryFolder } from './memoryFolder.mts';
import { count, failures, isPresent, reportOf, runPhase, type Phase } from './phases.mts';
import { isLaidOut, windowsLayout } from './platforms/windows/layout.mts';

const TSX = tool('tsx');

/** The command of a development dependency. */
function tool(name: string): string {
  return path.join(PROJECT, 'node_modules', '.bin', name);
}

/** The tests of a Vitest project; with a share, those files alone that fall to it. */
function vitest(project: string, share?: { readonly index: number; readonly of: number }): Phase {
  const name = share === undefined ? project : `${project}-${share.index}`;
  return {
    name,
    command: [
      ...([tool('vitest'), 'run', '--project', `${project}*`] as const),
      ...['--reporter=default', '--reporter=json', `--outputFile.json=${reportOf(name)}`],
      ...(share === undefined ? [] : [`--shard=${share.index}/${share.of}`]),
    ],
    tests: { folder: `test/${project}`, report: 'vitest' },
  };
}

const SHARES = 6;

/** The integration tests in shares, as they take as long as all others: so the phases end at the same time. */
const INTEGRATION: readonly Phase[] = Array.from({ length: SHARES }, (_, at) => ({
  ...vitest('integration', { index: at + 1, of: SHARES }),
  besideOthers: ['--maxWorkers=1'],
}));

/** Phases of which so many run at once, each begun in order as soon as there is room. */
interface Stage {
  readonly atOnce: number;
  readonly phases: readonly Phase[];
}

/** Each stage begins when the one before has ended. */
const STAGES: readonly Stage[] = [
  alone({ name: 'setup', command: [TSX, 'scripts/setup.mts'] }),
  alone({ name: 'build', command: ['npm', 'run', '--silent', 'build'] }),
  {
    // The tests run what was packaged.
    atOnce: 2,
    phases: [
      { name: 'package', command: [TSX, 'scripts/package.mts'] },
      { name: 'build-for-tests', command: [TSX, 'scripts/buildForTests.mts'] },
    ],
  },
  {
    // What is quick to tell comes first. Of the rest, the longest begin first. One more than there are cores in the smallest
    // machine: each waits a part of the time, what drives windows most.
    atOnce: 3,
    phases: [
      { name: 'lint', command: ['npm', 'run', '--silent', 'lint'] },
      { name: 'types', command: ['npm', 'run', '--silent', 'typecheck'] },
      { name: 'knip', command: ['npm', 'run', '--silent', 'knip'] },
      { name: 'format', command: ['npm', 'run', '--silent', 'format:check'] },
      { ...vitest('unit'), besideOthers: ['--maxWorkers=1'] },
      vitest('e2e'),
      ...INTEGRATION.slice(0, 2),
      // Real agents, which are installed on first use: over half a gigabyte.
      { ...vitest('agents'), besideOthers: ['--maxWorkers=1'] },
      ...INTEGRATION.slice(2),
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
  integration: ['build-for-tests'],
  agents: ['build-for-tests'],
  crash: ['build', 'build-for-tests'],
};

/** Whether a phase has that name, or is a share of what has it. */
function isOf(phase: Phase, name: string): boolean {
  return phase.name === name || phase.name.replace(/-\d+$/u, '') === name;
}

/** The names of the phases that are asked for, with what they need. */
function chosen(names: readonly string[]): ReadonlySet<string> {
  if (names.length === 0) return new Set(PHASES.map(({ name }) => name));
  const named = names.map((name) => ({ name, phases: PHASES.filter((phase) => isOf(phase, name)) }));
  const unknown = named.filter(({ phases }) => phases.length === 0);
  if (unknown.length > 0)
    throw new Error(
      `no phase ${unknown.map(({ name }) => name).join(', ')}; there are ${PHASES.map((p) => p.name).join(', ')}`,
    );
  return new Set(named.flatMap(({ name, phases }) => [...(NEEDS[name] ?? []), ...phases.map((phase) => phase.name)]));
}

/** Whether a phase runs unasked: packaging builds already, and real agents and a Windows are too large for everybody to install. */
function isMeant({ name }: Phase): boolean {
  if (name === 'build') return false;
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
  const built = mkdtempSync(path.join(os.tmpdir(), 'atlas-built-'));
  process.env[BUILT_FOLDER] = built;
  try {
    for (const stage of stages) await runStage(stage);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  } finally {
    rmSync(built, { recursive: true, force: true });
    removeMemoryFolder();
  }
  const phases = stages.flatMap((stage) => stage.phases);
  for (const failure of failures(phases)) console.error(failure);
  const { passed, failed } = count(phases);
  console.log(`${passed} passed, ${failed} failed`);
}

await main();
