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

const PHASES: readonly Phase[] = [
  { name: 'setup', command: [TSX, 'scripts/setup.mts'] },
  { name: 'lint', command: ['npm', 'run', '--silent', 'lint'], withNext: true },
  { name: 'types', command: ['npm', 'run', '--silent', 'typecheck'], withNext: true },
  { name: 'format', command: ['npm', 'run', '--silent', 'format:check'], withNext: true },
  { name: 'knip', command: ['npm', 'run', '--silent', 'knip'], withNext: true },
  // Needs nothing that is built, and takes the core that the linter leaves.
  vitest('unit'),
  { name: 'build', command: ['npm', 'run', '--silent', 'build'] },
  vitest('integration'),
  vitest('crash'),
  {
    name: 'host',
    command: [TSX, 'scripts/hostSuite.mts', '--report', reportOf('host')],
    tests: { folder: 'test/host', report: 'mocha' },
    withNext: true,
  },
  {
    // The newest VS Code that is supported, on the Node that it needs.
    name: 'host-newest',
    command: [TSX, 'scripts/hostSuite.mts', '--version', '4.139.1', '--report', reportOf('host-newest')],
    tests: { folder: 'test/host', report: 'mocha' },
  },
  vitest('e2e'),
  // Real agents, which are installed on first use: over half a gigabyte.
  vitest('agents'),
  {
    // Windows' own Node and git, under Wine. "npm run test:windows" runs more of them.
    name: 'windows',
    command: [TSX, 'scripts/platforms/main.mts', 'windows', '--share', '--report', reportOf('windows')],
    tests: { folder: 'test/windows', report: 'vitest' },
  },
  { name: 'package', command: [TSX, 'scripts/package.mts'] },
];

/** What must have run before a phase that is asked for by name. */
const NEEDS: Readonly<Record<string, readonly string[]>> = {
  host: ['build'],
  'host-newest': ['build'],
  e2e: ['build'],
  crash: ['build'],
};

function chosen(names: readonly string[]): Phase[] {
  if (names.length === 0) return [...PHASES];
  const unknown = names.filter((name) => !PHASES.some((phase) => phase.name === name));
  if (unknown.length > 0)
    throw new Error(`no phase ${unknown.join(', ')}; there are ${PHASES.map((p) => p.name).join(', ')}`);
  const wanted = new Set(names.flatMap((name) => [...(NEEDS[name] ?? []), name]));
  return PHASES.filter(({ name }) => wanted.has(name));
}

/** Whether a phase runs unasked: real agents and a Windows are too large to be installed by everybody who runs the tests. */
function isMeant({ name }: Phase): boolean {
  const isCi = process.env['CI'] === 'true';
  if (name === 'agents' && !isCi && process.env['ATLAS_REAL_AGENTS'] === undefined) {
    console.log('Real agents are left out. To run them: ATLAS_REAL_AGENTS=codex,opencode npm test');
    return false;
  }
  if (name === 'windows' && !isLaidOut(windowsLayout())) {
    console.log('Windows is left out. To run the tests there, under Wine: npm run test:windows');
    return false;
  }
  return true;
}

/** Phases in order, in groups that run at once. */
function sideBySide(phases: readonly Phase[]): Phase[][] {
  const groups: Phase[][] = [];
  let open = false;
  for (const phase of phases) {
    if (open) groups.at(-1)?.push(phase);
    else groups.push([phase]);
    open = phase.withNext === true;
  }
  return groups;
}

async function main(): Promise<void> {
  const named = process.argv.slice(2);
  const phases = chosen(named).filter((phase) => isPresent(phase) && (named.length > 0 || isMeant(phase)));
  rmSync(path.join(OUT, 'reports'), { recursive: true, force: true });
  const removeMemoryFolder = useMemoryFolder();
  try {
    for (const together of sideBySide(phases)) {
      const name = together.map((phase) => phase.name).join(', ');
      console.log(`\n== ${name}`);
      const start = performance.now();
      // All of them end before the first failure is told: what they work in is removed with it.
      const ended = await Promise.allSettled(together.map(runPhase));
      for (const each of ended) if (each.status === 'rejected') throw each.reason;
      console.log(`== ${name}: ${((performance.now() - start) / 1000).toFixed(1)} s`);
    }
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  } finally {
    removeMemoryFolder();
  }
  for (const failure of failures(phases)) console.error(failure);
  const { passed, failed } = count(phases);
  console.log(`${passed} passed, ${failed} failed`);
}

await main();
