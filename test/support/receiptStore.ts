import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { expect } from 'vitest';
import { unwrap } from '../../src/core/errors';
import type { Hook, ValidationReceipt } from '../../src/core/hook';
import type { ReceiptCheck, ReceiptReport } from '../../src/core/receipt';
import { failedCheck } from '../../src/core/receiptReport';
import { Atlas } from '../../src/service/atlas';
import { silentLog, systemPorts } from '../../src/service/ports';
import type { TaskRef } from '../../src/storage/paths';
import type { StoredTask } from '../../src/storage/stored';
import { type ValidationWorld, makeValidationWorld } from './validationWorld';

/** What verification says of a receipt, in short. */
export interface Judged {
  readonly id: string;
  readonly verdict: ReceiptReport['verdict'];
  /** The first check that failed. */
  readonly check: ReceiptCheck['check'] | undefined;
  readonly message: string;
}

/** The parts of a report that a test looks at. */
export function judged(report: ReceiptReport): Judged {
  const failed = failedCheck(report);
  return { id: report.receiptId, verdict: report.verdict, check: failed?.check, message: failed?.message ?? '' };
}

/** A copy of a store, to be tampered with; a process that has seen nothing before looks at it. */
export class StoreCopy {
  readonly root: string;
  private readonly base = mkdtempSync(path.join(os.tmpdir(), 'atlas-tamper-'));

  constructor(original: string) {
    this.root = path.join(this.base, 'home');
    cpSync(original, this.root, { recursive: true });
  }

  /** A process that has seen nothing before. */
  atlas(): Atlas {
    return new Atlas(systemPorts(this.root, '0.0.0', silentLog));
  }

  dispose(): void {
    rmSync(this.base, { recursive: true, force: true });
  }

  file(ref: TaskRef, ...names: readonly string[]): string {
    return path.join(this.root, 'workspaces', ref.workspace, 'tasks', ref.id, ...names);
  }

  key(name: string): string {
    return path.join(this.root, 'keys', name);
  }

  envelope(ref: TaskRef, id: string): string {
    return this.file(ref, 'receipts', `${id}.dsse.json`);
  }

  hook(ref: TaskRef): Hook {
    return JSON.parse(readFileSync(this.file(ref, 'hook.json'), 'utf8')) as Hook;
  }

  /** Changes hook.json as something other than Atlas would. */
  edit(ref: TaskRef, change: (hook: Hook) => void): void {
    const hook = this.hook(ref);
    change(hook);
    writeFileSync(this.file(ref, 'hook.json'), `${JSON.stringify(hook, null, 2)}\n`);
  }

  /** Changes one receipt in hook.json. */
  editReceipt(ref: TaskRef, at: number, change: Readonly<Record<string, unknown>>): void {
    this.edit(ref, ({ receipts }) => {
      const changed: Record<string, unknown> = { ...receipts[at], ...change };
      receipts[at] = changed as ValidationReceipt;
    });
  }

  /** Changes the text of an envelope. */
  editEnvelope(ref: TaskRef, id: string, change: (text: string) => string): void {
    writeFileSync(this.envelope(ref, id), change(readFileSync(this.envelope(ref, id), 'utf8')));
  }

  stored(ref: TaskRef): StoredTask {
    return unwrap(this.atlas().catalog.read(ref));
  }

  async reports(ref: TaskRef): Promise<ReceiptReport[]> {
    const receipts = await this.atlas().receipts();
    const { hook } = this.stored(ref);
    const reports = unwrap(await receipts.reports(this.stored(ref)));
    return hook.receipts.flatMap(({ receipt_id: id }) => reports.get(id) ?? []);
  }

  async judge(ref: TaskRef): Promise<Judged[]> {
    return (await this.reports(ref)).map(judged);
  }

  /** Which receipts prove a pass, whatever the files are now. */
  async proven(ref: TaskRef): Promise<string[]> {
    const receipts = await this.atlas().receipts();
    return [...unwrap(await receipts.proven(this.stored(ref), { current: false }))];
  }

  /** HOOK.md as the store makes it now. */
  async markdown(ref: TaskRef): Promise<string> {
    unwrap(await this.atlas().regenerate(ref));
    return readFileSync(this.file(ref, 'HOOK.md'), 'utf8');
  }
}

/** The tasks that are tampered with: one for each scheme, and another one of the first scheme. */
export const TAMPERED = ['hd', 'ed25519', 'other'] as const;
/** One of them. */
export type Tampered = (typeof TAMPERED)[number];

/** A store with tasks that have three valid receipts each, made once; each case gets a copy. */
export class TamperBench {
  private constructor(
    readonly world: ValidationWorld,
    readonly tasks: Readonly<Record<Tampered, TaskRef>>,
    readonly receipts: Readonly<Record<Tampered, readonly ValidationReceipt[]>>,
  ) {}

  static async make(): Promise<TamperBench> {
    const world = await makeValidationWorld();
    const make = async (config: string): Promise<TaskRef> => {
      const ref = await world.running(['echo one', 'echo two >&2', 'true'], config);
      if (!unwrap(await world.validate(ref)).passed) throw new Error('a sample task did not pass');
      return ref;
    };
    const [hd, other] = [await make(''), await make('')];
    const tasks = { hd, other, ed25519: await make('hooks:\n  signing:\n    scheme: ed25519\n') };
    const receiptsOf = (name: Tampered): readonly ValidationReceipt[] => world.stored(tasks[name]).hook.receipts;
    const receipts = { hd: receiptsOf('hd'), other: receiptsOf('other'), ed25519: receiptsOf('ed25519') };
    return new TamperBench(world, tasks, receipts);
  }

  copy(): StoreCopy {
    return new StoreCopy(this.world.workspace.atlasHome);
  }

  ids(name: Tampered): string[] {
    return this.receipts[name].map((receipt) => receipt.receipt_id);
  }

  id(at: number, name: Tampered = 'hd'): string {
    return this.ids(name)[at] ?? '';
  }

  dispose(): void {
    this.world.dispose();
  }
}

/** Whether an event of the history is about a receipt. */
export function isAbout(receiptId: string): (event: Hook['history'][number]) => boolean {
  return ({ details }) => details?.['receipt_id'] === receiptId;
}

/** Expects that none of these receipts proves a pass, and that HOOK.md ticks none of them. */
export async function expectNoTick(store: StoreCopy, ref: TaskRef, ids: readonly string[]): Promise<void> {
  const proven = await store.proven(ref);
  const markdown = await store.markdown(ref);
  for (const id of ids) {
    expect(proven).not.toContain(id);
    expect(markdown).not.toContain(`\`${id}\` ✓`);
    const sections = markdown.split('### Receipt ').filter((text) => text.startsWith(`\`${id}\``));
    for (const section of sections) expect(section.split('\n## ')[0]).not.toContain('✓');
  }
}
