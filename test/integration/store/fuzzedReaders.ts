import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import * as z from 'zod/mini';
import { COMMANDS } from '../../../src/cli/parse/commands';
import { commandNamed, parseCommandLine, wantsJson, wantsQuiet } from '../../../src/cli/parse/commandLine';
import { AtlasError, type Result } from '../../../src/core/shared/errors';
import { type TaskRecord, serializeRecord } from '../../../src/core/task/taskRecord';
import { worktreeStateSchema } from '../../../src/core/task/worktreeState';
import { recordDamage, serializeTask } from '../../../src/core/task/task';
import { parseDuration } from '../../../src/core/shared/time';
import { classifyHeadMove, readReflog, subjectOf } from '../../../src/git/read/reflog';
import { isPullRequestCommand } from '../../../src/git/hooks/pullRequestCommand';
import { fromTaskPanelSchema, toTaskPanelSchema } from '../../../src/protocol/taskPanel';
import { panelStateSchema } from '../../../src/protocol/panel';
import {
  fromReceiptsPanelSchema,
  receiptsPanelStateSchema,
  toReceiptsPanelSchema,
} from '../../../src/protocol/receiptsPanel';
import { verifyBundle } from '../../../src/service/receipts/receiptBundle';
import { parseEnvelope, parseStatement } from '../../../src/signing/envelope';
import { openPublicKeys, parsePublicKeys } from '../../../src/signing/publicKeys';
import { ConfigFiles } from '../../../src/store/config/configFile';
import { parseRecord, parseTask } from '../../../src/store/task/recordFile';
import { Journal, parseJournalLine } from '../../../src/store/task/journal';
import { checkChain } from '../../../src/store/task/journalChain';
import { parseItem, serializeItem } from '../../../src/store/inbox/inboxFiles';
import { GenerationLock } from '../../../src/system/locks/lock';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { rebuildRecord } from '../../../src/store/task/rebuild';
import { ReceiptLedger } from '../../../src/store/receipts/receiptLedger';
import { Spool } from '../../../src/git/hooks/spool';
import { loadTemplates } from '../../../src/store/config/templateFiles';
import { TrustFile } from '../../../src/store/workspace/trustFile';
import { WorkspaceStore } from '../../../src/store/workspace/workspaces';
import { parseYaml } from '../../../src/store/config/yaml';
import type { Atlas } from '../../../src/service/atlas';
import { type FuzzedReader, type Outcome, lostOf, refusalOf, shapeOf } from './readerFuzz';

/** What the readers are tried on: a store with one task, and sound examples of what lies elsewhere. */
export interface FuzzWorld {
  readonly atlas: Atlas;
  readonly ref: TaskRef;
  readonly worktree: string;
  readonly envelopes: readonly Uint8Array[];
  readonly publicKeys: readonly Uint8Array[];
  readonly bundles: readonly Uint8Array[];
}

const bytes = (...texts: readonly string[]): Uint8Array[] => texts.map((text) => Buffer.from(text));
const json = (...values: readonly unknown[]): Uint8Array[] => bytes(...values.map((value) => JSON.stringify(value)));

function must(holds: boolean, what: string): void {
  if (!holds) throw new Error(what);
}

/**
 * What of an input has to be kept. A worktree's state that is nonsense is let go, as the next look at the worktree
 * replaces it; one that is sound has to be kept whole.
 */
function kept(input: Uint8Array, value: unknown): unknown {
  const text = Buffer.from(input).toString('utf8');
  const data: unknown = JSON.parse(text.replace(/^\ufeff/u, ''));
  const observed = data !== null && typeof data === 'object' && 'worktree_state' in data ? data : undefined;
  if (observed === undefined || z.safeParse(worktreeStateSchema, observed.worktree_state).success) return data;
  must((value as TaskRecord).worktree_state === undefined, 'nonsense was taken for the state of a worktree');
  return { ...observed, worktree_state: undefined };
}

/** Reads what a reader accepted back from its own bytes, and looks whether anything was lost on the way. */
function roundTrip<T>(input: Uint8Array, read: (data: Uint8Array) => Result<T>, write: (value: T) => string): Outcome {
  const first = read(input);
  if (!first.ok) return refusalOf(first.error);
  const lost = lostOf(kept(input, first.value), first.value);
  must(lost === undefined, `${lost ?? ''} was lost`);
  const text = write(first.value);
  const again = read(Buffer.from(text));
  must(again.ok && write(again.value) === text, 'what was written reads back as something else');
  return shapeOf(first.value);
}

function outcomeOf<T>(result: Result<T>): Outcome {
  return result.ok ? shapeOf(result.value) : refusalOf(result.error);
}

/** Readers of a task's own files. */
export function taskReaders({ atlas, ref }: FuzzWorld): FuzzedReader[] {
  const { paths, files, processes, clock, ids } = atlas.ports;
  const hookBytes = readFileSync(paths.hook(ref));
  const taskBytes = readFileSync(paths.taskFile(ref));
  const journalBytes = readFileSync(paths.journal(ref));
  const lines = journalBytes.toString('utf8').trimEnd().split('\n');
  const task = parseTask('task.json', taskBytes);
  const scratch = path.join(paths.root, 'scratch');
  mkdirSync(path.join(scratch, 'locks'), { recursive: true });
  const journalFile = path.join(scratch, 'journal.jsonl');
  const lock = new GenerationLock(path.join(scratch, 'locks'), { files, processes, clock, ids });
  const ownerFile = path.join(paths.owners(ref), 'fuzzed.json');
  atlas.owners.adopt(ref, 'window');
  const ownerName = path.join(paths.owners(ref), `${processes.self().incarnation}.json`);
  return [
    {
      ...{ name: 'hook.json', weight: 16, json: true, seeds: [hookBytes] },
      read: (input) => {
        const parsed = parseRecord('hook.json', input);
        if (parsed.ok) recordDamage(parsed.value, task.ok ? task.value : undefined, ref.id);
        return roundTrip(input, (data) => parseRecord('hook.json', data), serializeRecord);
      },
    },
    {
      ...{ name: 'task.json', weight: 12, json: true, seeds: [taskBytes] },
      read: (input) => roundTrip(input, (data) => parseTask('task.json', data), serializeTask),
    },
    {
      ...{ name: 'journal line', weight: 12, json: true, seeds: bytes(...lines.slice(0, 40)) },
      read: (input) => {
        const line = parseJournalLine(input);
        return line === undefined ? 'refused' : shapeOf({ ...line, ...line.delta });
      },
    },
    {
      ...{ name: 'journal', weight: 6, json: true, seeds: [journalBytes] },
      read: (input) => {
        writeFileSync(journalFile, input);
        const journal = new Journal(files, journalFile);
        const [tail, all, chain] = [journal.tail(), journal.readAll(), checkChain(files, journalFile)];
        must(all.ok && chain.ok, 'a journal that is there can not be read');
        if (!all.ok || !chain.ok) return '';
        const torn = input.length - (Buffer.from(input).lastIndexOf(0x0a) + 1);
        if (tail.ok) must(tail.value.tornBytes === torn, `of ${torn} torn bytes ${tail.value.tornBytes} were seen`);
        if (all.value.brokenAt !== undefined) return `broken: ${all.value.brokenAt.why}`;
        must(chain.value === undefined, 'the quick check of the chain refuses what the thorough one takes');
        const rebuilt = rebuildRecord(all.value);
        const counted = Buffer.from(input).filter((byte) => byte === 0x0a).length;
        must(all.value.lines.length === counted, `of ${counted} lines ${all.value.lines.length} were read`);
        return rebuilt.ok
          ? roundTrip(Buffer.from(serializeRecord(rebuilt.value)), (data) => parseRecord('h', data), serializeRecord)
          : refusalOf(rebuilt.error);
      },
    },
    {
      ...{ name: 'journal, for receipts', weight: 3, json: true, seeds: [journalBytes] },
      read: (input) => {
        writeFileSync(paths.journal({ ...ref, id: 'ledger' }), input);
        const recorded = new ReceiptLedger({ paths, files }).recorded({ ...ref, id: 'ledger' });
        must(recorded !== undefined, 'a journal that is there counts as none');
        return typeof recorded === 'string' ? recorded : `accepted ${Math.min(9, recorded?.length ?? 0)}`;
      },
    },
    {
      ...{ name: 'owner file', weight: 4, json: true, seeds: [readFileSync(ownerName)] },
      read: (input) => {
        writeFileSync(ownerFile, input);
        const owners = atlas.owners.list(ref);
        must(owners.length >= 1, 'the sound owner beside a damaged one is gone');
        return owners.length === 1 ? 'refused' : shapeOf(owners.find(({ file }) => file !== owners[0]?.file)?.file);
      },
    },
    {
      ...{
        name: 'lock file',
        weight: 4,
        json: true,
        seeds: bytes(
          `${JSON.stringify({ process: processes.self(), taken_at: 't' })}\n`,
          `${JSON.stringify({ process: processes.self(), taken_at: 't' })}\nreleased\n`,
        ),
      },
      read: (input) => {
        writeFileSync(path.join(scratch, 'locks', 'lock.7'), input);
        const state = lock.inspect();
        const released = Buffer.from(input).toString('utf8').split('\n')[1] === 'released';
        must((state.kind === 'free') === released, 'a lock counts as free that was not released');
        return state.kind === 'free' || state.holder !== undefined ? `accepted ${state.kind}` : 'names nobody';
      },
    },
  ];
}

/** Readers of settings, templates, and of what else lies in the store. */
export function storeReaders({ atlas, ref, worktree }: FuzzWorld): FuzzedReader[] {
  const { ports } = atlas;
  const { paths, files } = ports;
  const userFile = path.join(paths.root, 'fuzzed.yaml');
  const repositoryFile = path.join(worktree, '.atlas', 'config.yaml');
  const templateFile = path.join(worktree, '.atlas', 'templates', 'fuzzed.yaml');
  mkdirSync(path.dirname(templateFile), { recursive: true });
  const reflog = path.join(paths.root, 'reflog');
  mkdirSync(paths.spool, { recursive: true });
  const workspaces = new WorkspaceStore(ports);
  const workspaceFile = path.join(paths.workspace('fuzzed'), 'workspace.json');
  mkdirSync(path.dirname(workspaceFile), { recursive: true });
  const sha = (digit: string): string => digit.repeat(40);
  const settings = [
    'hooks:\n  max_checkpoints: 20 # few\n  stale_threshold: 10m\n  auto_checkpoint:\n    on_commit: false\n',
    'other: 1\nhooks:\n  validation:\n    commands: [npm test, "npm run lint"]\n    timeout: 5m\n  retention: {completed: 30d}\n',
    '# nothing\n',
  ];
  const config = async (
    file: string,
    input: Uint8Array,
    load: (configs: ConfigFiles) => ReturnType<ConfigFiles['load']>,
  ): Promise<Outcome> => {
    writeFileSync(file, input);
    const { config: read, issues } = await load(
      new ConfigFiles(files, file === userFile ? userFile : 'none', { now: () => Date.now() }),
    );
    const yaml = soundYaml(input);
    const root = yaml?.data;
    const isMap = typeof root === 'object' && root !== null && !Array.isArray(root);
    if (yaml === undefined || (!isMap && root !== null && root !== undefined))
      must(issues.length > 0, 'unusable settings are not reported');
    const hooks: unknown = isMap ? (root as Record<string, unknown>)['hooks'] : undefined;
    if (hooks !== undefined && hooks !== null && typeof hooks !== 'object')
      must(issues.length > 0, 'hooks of a wrong shape are not reported');
    return issues.length > 0
      ? `refused ${issues.map((issue) => refusalOf({ code: '', message: issue.message })).join()}`
      : shapeOf({ ...read, ...read.validation });
  };
  return [
    {
      ...{ name: 'config.yaml', weight: 3, seeds: bytes(...settings) },
      read: async (input) => config(userFile, input, async (configs) => configs.load()),
    },
    {
      ...{ name: '.atlas/config.yaml', weight: 3, seeds: bytes(...settings) },
      read: async (input) => config(repositoryFile, input, async (configs) => configs.load(worktree)),
    },
    {
      ...{
        name: 'template',
        weight: 4,
        seeds: bytes(
          'id: release\ndescription: Cut a release\nsteps:\n  - name: notes\n  - name: build\n    validation: ["npm test"]\n    max_attempts: 2\n  - name: git_push\n',
          'id: x\naliases: [y]\nsteps: [{name: a, type: human, idempotent: true}]\n',
        ),
      },
      read: async (input) => {
        writeFileSync(templateFile, input);
        const { templates, issues } = await loadTemplates(files, worktree);
        const own = templates.find(({ source }) => source === 'project');
        must((own === undefined) === issues.length > 0, 'a template is neither taken nor reported');
        must(own === undefined || own.steps.length > 0, 'a template without steps was taken');
        return own === undefined ? refusalOf({ code: '', message: issues[0]?.message ?? '' }) : shapeOf(own);
      },
    },
    {
      ...{
        name: 'workspace.json',
        weight: 4,
        json: true,
        seeds: [readFileSync(path.join(paths.workspace(ref.workspace), 'workspace.json'))],
      },
      read: (input) => {
        writeFileSync(workspaceFile, input);
        return roundTrip(
          input,
          () => workspaces.read('fuzzed'),
          (value) => JSON.stringify(value),
        );
      },
    },
    {
      ...{
        name: 'spool event',
        weight: 4,
        seeds: bytes('atlas-event 1\ntrigger post-commit\nfolder /home/me/project\nparent 4711\nend\n'),
      },
      read: (input) => {
        const name = 'event.1.1';
        writeFileSync(path.join(paths.spool, name), input);
        const read = new Spool(ports).read(name);
        must(read.kind !== 'gone', 'an event that is there is gone');
        return read.kind === 'event'
          ? `accepted ${read.event.trigger}`
          : `${read.kind}${read.kind === 'bad' ? read.reason : ''}`;
      },
    },
    {
      ...{
        name: 'kept spool event',
        weight: 2,
        json: true,
        seeds: json({
          name: 'event.1.2',
          reason: 'gone',
          at: '2026-11-22T00:00:00Z',
          trigger: 'post-merge',
          folder: '/x',
        }),
      },
      read: (input) => {
        mkdirSync(path.join(paths.spool, 'kept'), { recursive: true });
        writeFileSync(path.join(paths.spool, 'kept', '1-event.1.2.json'), input);
        const kept = new Spool(ports).kept();
        must(kept.length === 1, 'a kept event is not told of');
        return kept[0]?.reason.includes('damaged') === true ? 'refused' : shapeOf(kept[0]);
      },
    },
    {
      ...{
        name: 'spool claim',
        weight: 2,
        seeds: bytes('4711 12345 machine 4026531836\n', '4711 -\n', `${process.pid} -\n`),
      },
      read: (input) => {
        writeFileSync(path.join(paths.spool, 'window.4711'), input);
        return new Spool(ports).hasWindow() ? 'accepted' : 'refused';
      },
    },
    {
      ...{ name: 'item of an inbox', weight: 4, json: true, seeds: json(ITEM, { ...ITEM, claim: undefined }) },
      read: (input) => roundTrip(input, (data) => parseItem('42.json', data), serializeItem),
    },
    {
      ...{
        name: 'trust.json',
        weight: 2,
        json: true,
        seeds: json({ commands: { [sha('a')]: { allowed_at: '2026-11-22T00:00:00Z' } } }),
      },
      read: (input) => {
        writeFileSync(paths.trust, input);
        const trust = new TrustFile(ports);
        must(trust.unknown('w', ['rm -rf /']).length === 1, 'a command is trusted that nobody allowed');
        return trust.problem() === undefined ? 'accepted' : 'refused';
      },
    },
    {
      ...{
        name: 'reflog',
        weight: 6,
        seeds: bytes(
          `${sha('0')} ${sha('1')} Me <me@example.com> 1763766000 +0100\tcommit (initial): first\n${sha('1')} ${sha('2')} Me <m> 1763766060 +0100\tcommit: second\n${sha('2')} ${sha('1')} Me <m> 1763766061 +0100\treset: moving to HEAD~\n`,
        ),
      },
      read: (input) => {
        writeFileSync(reflog, input);
        const whole = readReflog(reflog);
        must(whole !== undefined, 'a reflog that is there counts as none');
        const rest = readReflog(reflog, whole?.position);
        must(rest?.entries.length === 0, 'entries are read twice');
        return `accepted ${(whole?.entries ?? [])
          .slice(0, 4)
          .map(({ message }) => classifyHeadMove(message) + String(subjectOf(message) === undefined))
          .join()}`;
      },
    },
  ];
}

function soundYaml(input: Uint8Array): { data: unknown } | undefined {
  try {
    const yaml = parseYaml(Buffer.from(input).toString('utf8'));
    return yaml.error === undefined ? yaml : undefined;
  } catch {
    return undefined;
  }
}

const ITEM = {
  ...{ id: 42, channel: 'email', sender: 'trigger:email', content: 'Was it paid?', status: 'processing' },
  ...{ created_at: '2026-11-22T00:00:00Z', trigger_name: 'email', session_key: 'a@b', session_id: 's-1' },
  ...{ processed_at: null, claims: 2, schema_version: '1.0', response_summary: '' },
  claim: {
    ...{ session_id: 'w', claimed_at: '2026-11-22T00:00:00Z', until: '2026-11-22T01:00:00Z' },
    process: { machine_id: 'm', boot_id: 'b', pid_namespace: '', pid: 1, start_time: '1', incarnation: 'i' },
  },
};

const MESSAGES = [
  ...[
    { type: 'ready' },
    { type: 'request', id: 1, request: { kind: 'run', action: 'recover', recovery: 'skip_step' } },
  ],
  ...[{ type: 'request', id: 2, request: { kind: 'openLink', href: 'https://example.com/a?b#c' } }],
  ...[
    { type: 'request', id: 3, request: { kind: 'openFile', path: 'src/a.ts' } },
    { type: 'request', id: 4, request: { kind: 'export' } },
  ],
  ...[
    { type: 'response', response: { type: 'refused', id: 1, message: 'no', hint: 'wait' } },
    { ref: { workspace: 'w', id: 't' } },
  ],
];

/** Readers of what comes from the signing side, from webviews and from command lines. */
export function otherReaders({ envelopes, publicKeys, bundles }: FuzzWorld): FuzzedReader[] {
  const specs = COMMANDS;
  const examples = specs.flatMap(({ example }) => [
    example
      .replace(/^atlas /u, '')
      .replaceAll(/["']/gu, '')
      .split(' ')
      .join('\0'),
  ]);
  const schemas = [
    fromTaskPanelSchema,
    toTaskPanelSchema,
    fromReceiptsPanelSchema,
    toReceiptsPanelSchema,
    panelStateSchema,
    receiptsPanelStateSchema,
  ];
  return [
    {
      ...{ name: 'envelope', weight: 6, json: true, seeds: envelopes },
      read: (input) => {
        const envelope = parseEnvelope(input);
        if (!envelope.ok) return refusalOf(envelope.error);
        return outcomeOf(parseStatement(envelope.value.payload));
      },
    },
    {
      ...{
        name: 'statement',
        weight: 4,
        json: true,
        seeds: envelopes.flatMap((each) => {
          const parsed = parseEnvelope(each);
          return parsed.ok ? [parsed.value.payload] : [];
        }),
      },
      read: (input) => outcomeOf(parseStatement(input)),
    },
    {
      ...{ name: 'receipts.pub.json', weight: 3, json: true, seeds: publicKeys },
      read: async (input) => {
        const parsed = parsePublicKeys(Buffer.from(input).toString('utf8'));
        return parsed.ok ? outcomeOf(await openPublicKeys(parsed.value)) : refusalOf(parsed.error);
      },
    },
    {
      ...{ name: 'bundle of receipts', weight: 0.2, json: true, seeds: bundles },
      read: async (input) => {
        const report = await verifyBundle(Buffer.from(input).toString('utf8'));
        if (!report.ok) return refusalOf(report.error);
        return `accepted ${String(report.value.passed)} ${report.value.reports.map(({ verdict }) => verdict).join()}`;
      },
    },
    {
      ...{ name: 'webview message', weight: 8, json: true, seeds: json(...MESSAGES) },
      read: (input) => {
        let data: unknown;
        try {
          data = JSON.parse(Buffer.from(input).toString('utf8'));
        } catch {
          return 'no JSON';
        }
        return schemas
          .map((schema) => {
            const parsed = schema.safeParse(data);
            return parsed.success ? shapeOf(parsed.data) : '-';
          })
          .join(' ');
      },
    },
    {
      ...{
        name: 'command line',
        weight: 4,
        seeds: bytes(...examples, 'run\0--\0claude\0-p\0x', 'status\0--json\0-q', '--help', 'hook\0--help'),
      },
      read: (input) => {
        const args = Buffer.from(input).toString('utf8').split('\0').slice(0, 200);
        const told = `${String(wantsJson(args))}${String(wantsQuiet(args))}`;
        commandNamed(args, specs);
        const parsed = parseCommandLine(args, specs, { version: '0.0.0', columns: 80, program: 'atlas' });
        if (!parsed.ok) {
          must(
            parsed.error instanceof AtlasError && parsed.error.code === 'usage',
            `not a usage error: ${parsed.error.code}`,
          );
          must(parsed.error.message.length < 1000, 'a refusal repeats the whole line');
          return refusalOf(parsed.error);
        }
        return parsed.value.kind === 'text' ? 'accepted text' : `accepted ${parsed.value.spec.name} ${told}`;
      },
    },
    {
      ...{
        name: 'terminal command line',
        weight: 3,
        seeds: bytes('gh pr create --fill', 'GH_TOKEN=x gh pr new', 'glab mr create --help', 'a=b '.repeat(50)),
      },
      read: (input) => (isPullRequestCommand(Buffer.from(input).toString('utf8')) ? 'accepted' : 'refused'),
    },
    {
      ...{ name: 'duration', weight: 2, seeds: bytes('5m', '1h30m', '7d', '0', '1.5s') },
      read: (input) => {
        const parsed = parseDuration(Buffer.from(input).toString('utf8'));
        must(!parsed.ok || (Number.isFinite(parsed.value) && parsed.value >= 0), 'a duration is no number');
        return outcomeOf(parsed);
      },
    },
  ];
}
