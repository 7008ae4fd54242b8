import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Vitality } from '../../../src/core/recovery/liveness';
import { SystemProcesses, systemProbe } from '../../../src/system/processes';

/* What macOS and Windows say of processes, as far as it can be had here: `ps` itself, and scripts in PowerShell's place. */

const STARTED = Date.parse('2026-11-25T10:00:00Z');

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(path.join(os.tmpdir(), 'atlas-processes-'));
});

afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(folder, { recursive: true, force: true });
});

/** Puts a script in the place of a program of the system. */
function stands(program: string, script: string): void {
  writeFileSync(path.join(folder, program), `#!/bin/sh\n${script}\n`);
  chmodSync(path.join(folder, program), 0o755);
  vi.stubEnv('PATH', `${folder}${path.delimiter}${process.env['PATH'] ?? ''}`);
}

/** What is said of a living process that recorded this start, in ms. */
function said(platform: NodeJS.Platform, recorded: number): Vitality {
  const processes = new SystemProcesses(systemProbe(platform));
  return processes.vitality({ ...processes.self(), pid: process.ppid, start_time: String(recorded) });
}

describe.runIf(process.platform !== 'win32').each([
  ['win32', 'powershell.exe', `echo ${STARTED}`],
  ['darwin', 'ps', 'echo "Wed Nov 25 10:00:00 2026"'],
] as const)('a process on %s', (platform, program, script) => {
  beforeEach(() => {
    vi.stubEnv('TZ', 'UTC');
    stands(program, script);
  });

  it('is the one that recorded its start once it ran, seconds after the system', () => {
    for (const later of [0, 2500, 60_000]) expect(said(platform, STARTED + later), String(later)).toBe('alive');
  });

  it('is another where it started after the record', () => {
    expect(said(platform, STARTED - 60_000)).toBe('dead');
  });

  it.each(['', 'echo "access denied"', 'exit 1', 'echo'])(
    'is not called dead where the system answers by "%s"',
    (answer) => {
      stands(program, answer);
      expect(said(platform, STARTED)).toBe('unknown');
      expect(said(platform, STARTED - 60_000)).toBe('unknown');
    },
  );

  it('is not asked for while its id is trusted, unless nothing has that id', async () => {
    const asked = path.join(folder, 'asked');
    stands(program, `: > '${asked}'; ${script}`);
    const probe = systemProbe(platform);
    const processes = new SystemProcesses(probe);
    const other = { ...processes.self(), pid: process.ppid, start_time: String(STARTED - 60_000) };
    const sign = (age: number) => ({ at: Date.now() - age, trustedMs: 60_000 });
    expect(processes.vitality(other, sign(30_000))).toBe('alive');
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'close');
    expect(processes.vitality({ ...other, pid: child.pid ?? 0 }, sign(30_000))).toBe('dead');
    expect(existsSync(asked)).toBe(false);
    // Too old, and from a clock that was moved.
    for (const age of [60_000, -3_600_000]) {
      rmSync(asked, { force: true });
      expect(new SystemProcesses(systemProbe(platform)).vitality(other, sign(age))).toBe('dead');
      expect(existsSync(asked)).toBe(true);
    }
  });

  it('is dead once it is gone, whatever the system answers', async () => {
    const child = spawn(process.execPath, ['-e', '']);
    await once(child, 'close');
    const processes = new SystemProcesses(systemProbe(platform));
    expect(processes.vitality({ ...processes.self(), pid: child.pid ?? 0, start_time: String(STARTED) })).toBe('dead');
  });
});

describe.runIf(process.platform !== 'win32')("a process by the system's own ps, as on macOS", () => {
  it('has a start that is compared with what it records itself', () => {
    const processes = new SystemProcesses(systemProbe('darwin'));
    const seen = systemProbe('darwin').startTime(process.ppid);
    expect(Number(seen)).toBeGreaterThan(0);
    expect(processes.vitality({ ...processes.self(), pid: process.ppid, start_time: seen ?? '' })).toBe('alive');
    expect(processes.vitality({ ...processes.self(), pid: process.ppid, start_time: '1000' })).toBe('dead');
  });
});
