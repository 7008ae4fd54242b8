import { describe, expect, it } from 'vitest';
import { DEFAULT_CONFIG } from '../../../src/core/config/config';
import { NO_LIMIT, UNREAD_CONFIG } from '../../../src/core/config/unreadConfig';
import { readConfig } from '../../../src/core/config/readConfig';

const HOUR = 3_600_000;

describe('settings', () => {
  it('default to what the specification says', () => {
    expect(readConfig(undefined)).toEqual({ config: DEFAULT_CONFIG, problems: [], repositoryProblems: [] });
    expect(DEFAULT_CONFIG).toEqual({
      maxCheckpoints: 50,
      checkpointIntervalMs: 300_000,
      staleThresholdMs: 300_000,
      maxStepAttempts: 3,
      autoCheckpoint: { onCommit: true, onPush: true, onPr: true, onValidation: true, onStepComplete: true },
      signing: { scheme: 'hd' },
      keyDerivation: { purpose: 44, coinType: 236, account: undefined },
      validation: { commands: [], timeoutMs: 600_000 },
      retentionMs: { completed: 720 * HOUR, failed: 336 * HOUR, abandoned: 168 * HOUR },
      memoryFolder: '.atlas/memory',
      snapshots: { enabled: true, maxFileSize: 50 * 1024 * 1024, maxSize: 2 * 1024 ** 3 },
      sessions: { track: false, headless: false, readTranscripts: [] },
      gate: { enabled: true },
    });
  });

  it('are all read', () => {
    const { config, problems } = readConfig({
      hooks: {
        max_checkpoints: 7,
        checkpoint_interval: 0,
        stale_threshold: '1h30m',
        max_step_attempts: 2,
        auto_checkpoint: {
          on_commit: false,
          on_push: false,
          on_pr: false,
          on_validation: false,
          on_step_complete: false,
        },
        signing: { scheme: 'ed25519' },
        key_derivation: { purpose: 1, coin_type: 2, account: 3 },
        validation: { commands: ['make test'], timeout: '90s' },
        retention: { completed: '1d', failed: '2d', abandoned: '0' },
        memory_folder: 'notes',
        something_newer: true,
      },
      snapshots: { enabled: false, max_file_size: '1 MB', max_size: 5 },
      sessions: { track: true, headless: true, read_transcripts: ['codex'] },
      gate: { enabled: false },
    });
    expect(problems).toEqual([]);
    expect(config).toEqual({
      maxCheckpoints: 7,
      checkpointIntervalMs: 0,
      staleThresholdMs: 5_400_000,
      maxStepAttempts: 2,
      autoCheckpoint: { onCommit: false, onPush: false, onPr: false, onValidation: false, onStepComplete: false },
      signing: { scheme: 'ed25519' },
      keyDerivation: { purpose: 1, coinType: 2, account: 3 },
      validation: { commands: ['make test'], timeoutMs: 90_000 },
      retentionMs: { completed: 24 * HOUR, failed: 48 * HOUR, abandoned: 0 },
      memoryFolder: 'notes',
      snapshots: { enabled: false, maxFileSize: 1024 * 1024, maxSize: 5 },
      sessions: { track: true, headless: true, readTranscripts: ['codex'] },
      gate: { enabled: false },
    });
  });

  it.each([
    ['checkpoint_interval', { checkpoint_interval: '5 minutes' }, ['checkpoint_interval']],
    ['checkpoint_interval', { checkpoint_interval: 5 }, ['checkpoint_interval']],
    ['stale_threshold', { stale_threshold: '-5m' }, ['stale_threshold']],
    ['max_step_attempts', { max_step_attempts: 101 }, ['max_step_attempts']],
    ['auto_checkpoint', { auto_checkpoint: null }, ['auto_checkpoint']],
    ['auto_checkpoint.on_pr', { auto_checkpoint: { on_pr: 'no' } }, ['auto_checkpoint', 'on_pr']],
    ['signing.scheme', { signing: { scheme: 'rsa' } }, ['signing', 'scheme']],
    ['key_derivation.account', { key_derivation: { account: 2 ** 31 } }, ['key_derivation', 'account']],
    ['validation.commands', { validation: { commands: 'npm test' } }, ['validation', 'commands']],
    ['validation.commands', { validation: { commands: ['npm test', ''] } }, ['validation', 'commands', 1]],
  ])('report a bad %s and use its default', (_name, data, path) => {
    const { config, problems } = readConfig({ hooks: data });
    expect(problems.map((problem) => problem.path)).toEqual([['hooks', ...path]]);
    expect(config).toEqual(DEFAULT_CONFIG);
  });

  it.each([
    ['hooks.max_checkpoints', { hooks: { max_checkpoints: 0 } }, { maxCheckpoints: NO_LIMIT }],
    ['hooks.max_checkpoints', { hooks: { max_checkpoints: 'many' } }, { maxCheckpoints: NO_LIMIT }],
    ['hooks.max_checkpoints', { hooks: { max_checkpoints: 2.5 } }, { maxCheckpoints: NO_LIMIT }],
    [
      'hooks.retention.failed',
      { hooks: { retention: { failed: '2 weeks' } } },
      { retentionMs: { ...DEFAULT_CONFIG.retentionMs, failed: NO_LIMIT } },
    ],
    ['hooks.retention', { hooks: { retention: 5 } }, { retentionMs: UNREAD_CONFIG.retentionMs }],
    ['sessions.track', { sessions: { track: 'yes' } }, { sessions: UNREAD_CONFIG.sessions }],
    [
      'sessions.read_transcripts.0',
      { sessions: { track: true, headless: true, read_transcripts: ['claud'] } },
      { sessions: { ...UNREAD_CONFIG.sessions, headless: true } },
    ],
    ['sessions', { sessions: 'on' }, { sessions: UNREAD_CONFIG.sessions }],
  ])('report a bad %s, for which nothing is deleted then', (name, data, config) => {
    const read = readConfig(data);
    expect(read.problems.map((problem) => problem.path.join('.'))).toEqual([name]);
    expect(read.config).toEqual({ ...DEFAULT_CONFIG, ...config });
  });

  it('of a file that could not be read delete nothing', () => {
    expect(readConfig(undefined, undefined, false).config).toEqual(UNREAD_CONFIG);
    const known = readConfig({ sessions: { headless: 1 } }).config;
    expect(known).toEqual(DEFAULT_CONFIG);
  });

  it('keep what is right beside what is wrong, and report each', () => {
    const { config, problems } = readConfig({
      hooks: { max_checkpoints: 9, stale_threshold: 'soon', auto_checkpoint: { on_commit: 1, on_push: false } },
    });
    expect(problems.map((problem) => problem.path.join('.')).sort()).toEqual([
      'hooks.auto_checkpoint.on_commit',
      'hooks.stale_threshold',
    ]);
    expect(config).toEqual({
      ...DEFAULT_CONFIG,
      maxCheckpoints: 9,
      autoCheckpoint: { ...DEFAULT_CONFIG.autoCheckpoint, onPush: false },
    });
  });

  it.each([
    ['a text', 'x'],
    ['a list', [1]],
    ['a number', 5],
  ])('that are %s are one problem', (_what, data) => {
    const { config, problems } = readConfig({ hooks: data, snapshots: { enabled: false } });
    expect(problems).toHaveLength(1);
    expect(problems[0]?.path).toEqual(['hooks']);
    const { maxCheckpoints, retentionMs } = UNREAD_CONFIG;
    const snapshots = { ...DEFAULT_CONFIG.snapshots, enabled: false };
    expect(config).toEqual({ ...DEFAULT_CONFIG, maxCheckpoints, retentionMs, snapshots });
  });

  it.each([
    ['50 MB', 50 * 1024 ** 2],
    ['1.5GiB', 1.5 * 1024 ** 3],
    ['0', 0],
    [4096, 4096],
    ['12k', 12 * 1024],
  ])('read a size of %s', (written, bytes) => {
    expect(readConfig({ snapshots: { max_file_size: written } }).config.snapshots.maxFileSize).toBe(bytes);
  });

  it.each(['many', '-1 MB', '5 TB', -1, 1.5, true])('report %s where a size belongs', (written) => {
    const { config, problems } = readConfig({ snapshots: { max_size: written } });
    expect(problems.map(({ path }) => path)).toEqual([['snapshots', 'max_size']]);
    expect(config).toEqual({ ...DEFAULT_CONFIG, snapshots: UNREAD_CONFIG.snapshots });
  });

  it('let a repository set its commands and automatic checkpoints, and nothing else', () => {
    const { config } = readConfig(
      {
        hooks: {
          max_checkpoints: 9,
          validation: { commands: ['mine'], timeout: '1m' },
          auto_checkpoint: { on_push: false },
        },
      },
      {
        hooks: {
          max_checkpoints: 1,
          signing: { scheme: 'ed25519' },
          retention: { completed: '0' },
          validation: { commands: ['theirs'], timeout: '9h' },
          auto_checkpoint: { on_commit: false },
        },
        snapshots: { enabled: false },
      },
    );
    expect(config.maxCheckpoints).toBe(9);
    expect(config.snapshots.enabled).toBe(true);
    expect(config.signing.scheme).toBe('hd');
    expect(config.retentionMs.completed).toBe(720 * HOUR);
    expect(config.validation).toEqual({ commands: ['theirs'], timeoutMs: 60_000 });
    expect(config.autoCheckpoint).toMatchObject({ onCommit: false, onPush: false, onPr: true });
  });

  it("report a repository's problems apart", () => {
    const read = readConfig({ hooks: { max_checkpoints: 0 } }, { hooks: { validation: { commands: [5] } } });
    expect(read.problems.map((item) => item.path[1])).toEqual(['max_checkpoints']);
    expect(read.repositoryProblems.map((item) => item.path[1])).toEqual(['validation']);
  });

  it('leave the parsed file as it was', () => {
    const data = { hooks: { max_checkpoints: 0, validation: { commands: [''] } } };
    readConfig(data);
    expect(data).toEqual({ hooks: { max_checkpoints: 0, validation: { commands: [''] } } });
  });
});
