import { describe, expect, it, vi } from 'vitest';
import type * as vscode from 'vscode';
import { fail, ok } from '../../../src/core/shared/errors';
import type { ReceiptCheck } from '../../../src/core/receipt/receipt';
import { receiptDetails, visible } from '../../../src/extension/receipts/panel/receiptsDetails';
import { receiptsPanels } from '../../../src/extension/receipts/panel/receiptsPanel';
import {
  type ReceiptItem,
  type ReceiptsPanelData,
  receiptsPanelModel,
} from '../../../src/extension/receipts/panel/receiptsPanelModel';
import type { Verdicts } from '../../../src/extension/receipts/verdicts';
import type { WindowTasks } from '../../../src/extension/windowTasks';
import type { TaskRef } from '../../../src/core/task/taskRef';
import { receiptsPanelTexts } from '../../../src/extension/receipts/panel/receiptsPanelTexts';
import {
  type ReceiptDetails,
  type ReceiptRow,
  type ReceiptsPanelModel,
  type ReceiptsPanelRequest,
  type ToReceiptsPanel,
  receiptDetailsSchema,
  receiptsPanelModelSchema,
} from '../../../src/protocol/receiptsPanel';
import { assortedReceipts, receiptItem, receiptsData } from '../../support/fixtures/receipts/receiptItems';
import { limitFor, matching, NO_FILTER } from '../../../webview/receiptsPanel/rows';

const calls = vi.hoisted(() => new Array<string>());
vi.mock('vscode', async () => {
  const { vscodeTexts } = await import('../../support/vscode/vscodeTexts');
  return {
    ...vscodeTexts,
    Uri: { ...vscodeTexts.Uri, file: (path: string) => ({ path }) },
    Disposable: { from: () => ({ dispose: () => undefined }) },
    commands: {
      executeCommand: (command: string, node: { ref: TaskRef }) =>
        calls.push(node.ref.id === REF.id ? command : `${command} of another task`),
    },
    window: { showTextDocument: ({ path }: { path: string }) => calls.push(`open ${path}`) },
  };
});

const REF = { workspace: 'parser', id: 'task-20260117-143022' };
const TEXTS = receiptsPanelTexts();
const modelOf = (items: readonly ReceiptItem[], more: Partial<ReceiptsPanelData> = {}): ReceiptsPanelModel =>
  receiptsPanelModel(REF, receiptsData(items, more));
const rowOf = (item: ReceiptItem): ReceiptRow => {
  const [row] = modelOf([item]).rows;
  if (row === undefined) throw new Error('no row');
  return row;
};
const detailsOf = (item: ReceiptItem): ReceiptDetails => receiptDetails(item, '0:x');
const factsOf = (item: ReceiptItem): Record<string, string> =>
  Object.fromEntries(detailsOf(item).groups.flatMap(({ facts }) => facts.map(({ label, text }) => [label, text])));

describe('the model of the receipts panel', () => {
  it('passes its own schema with a receipt of each kind, the newest first', () => {
    const items = assortedReceipts();
    const model = receiptsPanelModelSchema.parse(modelOf(items));
    expect(model.rows.map((row) => row.id)).toEqual(items.map((item) => item.receipt.receipt_id).reverse());
    for (const item of items) receiptDetailsSchema.parse(detailsOf(item));
  });

  it.each([
    ['valid', 'Valid', undefined],
    ['valid_short', 'Valid, short', undefined],
    ['invalid', 'Invalid', 'The signature does not fit the receipt.'],
    ['unsigned', 'Unsigned', 'The receipt has no signature.'],
    ['unknown_key', 'Unknown key', 'The key is not one of yours.'],
    ['unchecked', 'Not checked', undefined],
  ] as const)('tells the verdict %s in words, and why', (verdict, standingLabel, why) => {
    expect(rowOf(receiptItem(0, { verdict }))).toMatchObject({ standing: verdict, standingLabel });
    expect(rowOf(receiptItem(0, { verdict })).why).toBe(why);
  });

  it('counts verdicts and failures, and says so', () => {
    const model = modelOf(assortedReceipts());
    expect(model.counts.map(({ standing, count }) => `${standing} ${count}`)).toEqual([
      ...['valid 3', 'valid_short 1', 'invalid 1', 'unsigned 1', 'unknown_key 1', 'unchecked 1'],
    ]);
    expect(model.results.map(({ label, count }) => `${label} ${count}`)).toEqual(['Passed 7', 'Failed 1']);
    expect(model.outdated).toBe('Outdated: 1');
    expect(model.announcement).toBe(
      '8 receipts: Passed: 7; Failed: 1; Valid: 3; Valid, short: 1; Invalid: 1; Unsigned: 1; Unknown key: 1; Not checked: 1; Outdated: 1',
    );
    expect(modelOf([]).outdated).toBeUndefined();
  });

  it('does not let a good signature make a failed run look passed', () => {
    const failed = receiptItem(0, { receipt: { exit_code: 1 } });
    expect(rowOf(failed)).toMatchObject({ standing: 'valid', result: 'Failed (exit code 1)', failed: true });
    expect(factsOf(failed)['Exit code']).toBe('1 (failed)');
    expect(rowOf(receiptItem(0, { receipt: { exit_code: 1 }, verdict: 'unchecked' })).failed).toBe(true);
    const timedOut = receiptItem(0, { receipt: { exit_code: 143 } });
    expect(factsOf(timedOut)['Ended']).toBe('stopped: timed out');
    const claims = receiptItem(0);
    const { statement } = claims.report ?? {};
    if (claims.report === undefined || statement === undefined) throw new Error('no statement');
    const report = {
      ...claims.report,
      statement: { ...statement, predicate: { ...statement.predicate, result: 'FAILED' as const } },
    };
    expect(rowOf({ ...claims, report })).toMatchObject({ result: 'Failed (exit code 0)', failed: true });
  });

  it('tells which files the proof no longer covers', () => {
    const outdated = (files: readonly string[], more: number) =>
      receiptItem(0, { currency: { kind: 'outdated', files, more } });
    expect(rowOf(receiptItem(0)).currencyLabel).toBe('Current');
    expect(rowOf(outdated(['a.ts'], 0)).currencyLabel).toBe('Outdated (1 file)');
    expect(rowOf(outdated(['a.ts', 'b.ts'], 7))).toMatchObject({
      currencyLabel: 'Outdated (9 files)',
      currencyHint: 'a.ts, b.ts',
    });
    expect(detailsOf(outdated(['a.ts', 'b.ts'], 7)).groups.at(-1)?.lists).toEqual([
      { label: 'Different now', paths: ['a.ts', 'b.ts'], more: 'and 7 more files' },
    ]);
    expect(rowOf(receiptItem(0, { currency: { kind: 'unknown', why: 'No git.' } }))).toMatchObject({
      currencyLabel: 'Unknown',
      currencyHint: 'No git.',
    });
    expect(rowOf(receiptItem(0, { currency: undefined })).currencyLabel).toBe('Not compared');
  });

  it('tells receipts with one id apart', () => {
    const twice = [receiptItem(0), receiptItem(1, { receipt: { receipt_id: receiptItem(0).receipt.receipt_id } })];
    const keys = modelOf(twice).rows.map((row) => row.key);
    expect(new Set(keys).size).toBe(2);
    const long = receiptItem(0, { receipt: { receipt_id: 'x'.repeat(100_000) } });
    expect(receiptsPanelModelSchema.safeParse(modelOf([long])).success).toBe(true);
  });

  it('makes outside text one visible line, cut', () => {
    const hostile = `<img src=x onerror="1"> [x](command:y)\n\u202egpj.exe\u0007 ${'long '.repeat(10_000)}`;
    const item = receiptItem(0, {
      receipt: { command: hostile, step_name: hostile, duration: hostile, receipt_id: hostile },
      currency: { kind: 'unknown', why: hostile },
    });
    const model = modelOf([item], {
      task: { title: hostile, workspace: hostile, id: hostile },
      keys: hostile,
    });
    expect(JSON.stringify(model).length).toBeLessThan(10_000);
    expect(model.rows[0]?.command).toContain('<img src=x onerror="1"> [x](command:y) gpj.exe ');
    expect(JSON.stringify({ ...model, rows: [{ ...model.rows[0], key: '' }] })).not.toMatch(/\u202e|\\u0007|\\n/u);
  });
});

describe("a receipt's details", () => {
  it('show each check, with what differs', () => {
    const check: ReceiptCheck = {
      check: 'fields',
      passed: false,
      message: '1 field differs.',
      differences: [{ field: 'exit_code', expected: '1', found: '0' }],
    };
    const { checks, notLookedAt } = detailsOf(receiptItem(0, { verdict: 'invalid', checks: [check] }));
    expect(checks).toEqual([
      {
        label: 'Fields agree',
        passed: false,
        message: '1 field differs.',
        differences: [{ field: 'exit_code', expected: '1', found: '0' }],
      },
    ]);
    expect(notLookedAt).toBe(
      "Not checked: Signed, Well formed, Statement present, Key known, Message's signature, Statement's signature, Task and step, Chain of receipts",
    );
    expect(detailsOf(receiptItem(0)).notLookedAt).toBeUndefined();
    expect(detailsOf(receiptItem(0, { verdict: 'unchecked' }))).toMatchObject({ checks: [] });
  });

  it('show what was signed, with what, and what the command did to the files', () => {
    const item = receiptItem(0, { changed: ['a.ts'] });
    expect(factsOf(item)).toMatchObject({
      Message: `rcpt-00000001|npm test|0|${'a1b2c3d4'.repeat(8)}|${'e3b0c442'.repeat(8)}|1768660234`,
      'SHA-256 of the message': 'f1d2d2f9'.repeat(8),
      'Key path': "m/44'/236'/0'/0/0",
      'Public key': `02${'79be667e'.repeat(8)}`,
      "Message's signature": item.receipt.signature,
      'Tree before': '4b825dc642cb6eb9a060e54bf8d69288fbee4904',
      'Tree after': '9daeafb9864cf43055ae93beb0afd6c7d144bfa4',
      'Working directory': '/home/dev/parser',
    });
    expect(JSON.parse(detailsOf(item).statement ?? '')).toEqual(item.report?.statement);
    expect(detailsOf(item).groups.at(-1)?.lists).toEqual([{ label: 'Changed by the command', paths: ['a.ts'] }]);
    expect(factsOf(receiptItem(0))['Tree after']).toBe('4b825dc642cb6eb9a060e54bf8d69288fbee4904 (unchanged)');
  });

  it('show what is there of a receipt that was not verified', () => {
    const item = receiptItem(0, { verdict: 'unchecked', currency: undefined });
    expect(factsOf(item)['Message']).toMatch(/^rcpt-00000001\|npm test\|0\|/u);
    expect(factsOf(item)).not.toHaveProperty('Public key');
    expect(detailsOf(item).statement).toBeUndefined();
    expect(factsOf(receiptItem(0, { verdict: 'unsigned' }))["Message's signature"]).toBe('none');
  });

  it('say why output cannot be opened', () => {
    expect(detailsOf(receiptItem(0, { kept: { stderr: false } })).outputs).toEqual([
      { stream: 'stdout', label: 'Open stdout' },
      { stream: 'stderr', label: 'Open stderr', missing: "The output wasn't kept." },
    ]);
  });

  it('show what hides or reorders text, and say what is cut', () => {
    expect(visible('a\u202eb\u200b\r\nc\td\u0000\u{e0041}', TEXTS)).toBe(
      'a\\u202eb\\u200b\\u000d\nc\td\\u0000\\udb40\\udc41',
    );
    expect(visible('x'.repeat(15), TEXTS, 10)).toBe('xxxxxxxxxx… (5 more characters)');
    const huge = receiptItem(0, { receipt: { command: `rm \u202e${'x'.repeat(1_000_000)}` } });
    expect(factsOf(huge)['Command']).toMatch(/^rm \\u202exxx.*more characters\)$/u);
    expect(JSON.stringify(detailsOf(huge)).length).toBeLessThan(400_000);
  });
});

describe('the filter of the receipts panel', () => {
  const { rows } = modelOf(assortedReceipts());
  const ids = (more: Partial<typeof NO_FILTER>): string[] =>
    matching(rows, { ...NO_FILTER, ...more }).map((row) => row.id.slice(-1));

  it('looks for words in command, step and id', () => {
    expect(ids({ text: '  VITEST ' })).toEqual(['7']);
    expect(ids({ text: 'analyze lint' })).toEqual(['1']);
    expect(ids({ text: 'rcpt-00000003' })).toEqual(['3']);
    expect(ids({ text: 'analyze vitest' })).toEqual([]);
    expect(ids({}).length).toBe(8);
  });

  it('looks for a verdict and for what is outdated', () => {
    expect(ids({ standing: 'unsigned' })).toEqual(['2']);
    expect(ids({ result: 'failed' }).length).toBe(1);
    expect(ids({ files: 'outdated' })).toEqual(['7']);
    expect(ids({ files: 'outdated', standing: 'invalid' })).toEqual([]);
  });

  it('has pages enough for a row', () => {
    const many = modelOf(Array.from({ length: 250 }, (_, index) => receiptItem(index))).rows;
    expect(limitFor(many, [])).toBe(100);
    expect(limitFor(many, [many[99]?.key ?? ''])).toBe(100);
    expect(limitFor(many, [many[100]?.key ?? ''])).toBe(200);
  });
});

const nothing = (): void => undefined;

/** A panel as the editor would restore it, with what it was sent. */
class RestoredPanel {
  readonly sent: ToReceiptsPanel[] = [];
  /** What it did: verified, files that it opened, commands that it ran on the task. */
  readonly calls = calls;
  data: ReceiptsPanelData | undefined = receiptsData(assortedReceipts());
  loads = 0;
  title = '';
  visible = true;
  readonly #told: ((message: unknown) => void)[] = [];
  readonly #changed: (() => void)[] = [];
  readonly #session = {
    onDidChange: (listener: (ref: TaskRef | undefined) => void) => {
      this.#changed.push(() => {
        listener(REF);
      });
      return { dispose: nothing };
    },
    atlas: {
      catalog: {
        read: () => {
          const { data } = this;
          if (data === undefined) return fail('damaged', 'Damaged.');
          return ok({
            hook: { receipts: data.items.map(({ receipt }) => receipt) },
            task: { description: data.task.title },
          });
        },
      },
      receipts: () => {
        this.loads += 1;
        return Promise.resolve({ publicKeysPath: this.data?.keys, files: this.#files });
      },
    },
  } as unknown as WindowTasks;
  readonly #files = {
    isKept: (_ref: TaskRef, id: string, stream: 'stdout' | 'stderr') => this.#items.get(id)?.kept[stream],
    outputPath: (_ref: TaskRef, id: string, stream: string) => ok(`/output/${id}/${stream}`),
  };
  readonly #verdicts = {
    onDidChange: () => ({ dispose: nothing }),
    of: () => this.#items,
    status: () => ({ problem: undefined, checking: this.data?.checking }),
    refresh: () => {
      this.calls.push('verify');
      return Promise.resolve();
    },
  } as unknown as Verdicts;
  readonly panels = receiptsPanels(
    'atlas.receipts',
    {
      extensionUri: { path: '/ext' } as unknown as vscode.Uri,
      log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    },
    this.#session,
    this.#verdicts,
  );

  get #items(): ReadonlyMap<string, ReceiptItem> {
    return new Map(this.data?.items.map((item) => [item.receipt.receipt_id, item]));
  }

  constructor() {
    calls.length = 0;
    this.panels.restore(this as unknown as vscode.WebviewPanel, { ref: REF, filter: 'whatever' });
  }

  readonly webview = {
    cspSource: 'self',
    asWebviewUri: (uri: { readonly path: string }) => ({ toString: () => uri.path }),
    onDidReceiveMessage: (listener: (message: unknown) => void) => {
      this.#told.push(listener);
      return { dispose: () => undefined };
    },
    postMessage: (message: ToReceiptsPanel) => {
      this.sent.push(message);
      return Promise.resolve(true);
    },
  };
  onDidChangeViewState = () => ({ dispose: () => undefined });
  onDidDispose = () => ({ dispose: () => undefined });
  reveal = () => undefined;
  dispose = () => undefined;

  async tell(message: unknown): Promise<void> {
    for (const each of this.#told) each(message);
    await this.settled();
  }

  async ask(request: ReceiptsPanelRequest): Promise<unknown> {
    await this.tell({ type: 'request', id: 1, request });
    const last = this.sent.at(-1);
    return last?.type === 'response' ? last.response.type : last;
  }

  async change(): Promise<void> {
    for (const each of this.#changed) each();
    await this.settled();
  }

  async settled(): Promise<void> {
    await new Promise((done) => setImmediate(done));
  }
}

describe("the receipts panel's host", () => {
  const ready = async (): Promise<RestoredPanel> => {
    const panel = new RestoredPanel();
    await panel.tell({ type: 'ready' });
    return panel;
  };
  const keyAt = (panel: RestoredPanel, at: number): string => {
    const first = panel.sent.find((message) => message.type === 'model');
    return first?.type === 'model' ? (first.model.rows[at]?.key ?? '') : '';
  };

  it('sends the details that are wanted, now and with each model', async () => {
    const panel = await ready();
    expect(panel.title).toBe('Receipts: Fix the null pointer in the config pars…');
    expect(panel.sent).toMatchObject([{ type: 'model', details: [] }]);
    const key = keyAt(panel, 0);
    await panel.ask({ kind: 'show', keys: [key, 'no such'] });
    expect(panel.sent.find((message) => message.type === 'details')).toMatchObject({ details: [{ key }] });
    panel.sent.length = 0;
    await panel.change();
    expect(panel.sent).toMatchObject([{ type: 'model', details: [{ key }] }]);
  });

  it('acts only on receipts that it has shown, and opens only output that was kept', async () => {
    const panel = await ready();
    const key = keyAt(panel, 0);
    expect(await panel.ask({ kind: 'verify', key })).toBe('done');
    expect(await panel.ask({ kind: 'openOutput', key, stream: 'stdout' })).toBe('done');
    expect(await panel.ask({ kind: 'openOutput', key, stream: 'stderr' })).toBe('refused');
    expect(await panel.ask({ kind: 'verify', key: 'rcpt-00000001' })).toBe('refused');
    for (const kind of ['verifyAll', 'export', 'openHookMd'] as const) await panel.ask({ kind });
    const commands = ['atlas.exportReceipts', 'atlas.openHookMd'];
    expect(panel.calls).toEqual(['verify', 'open /output/rcpt-00000008/stdout', 'verify', ...commands]);
    panel.calls.length = 0;
    await panel.tell({ type: 'request', id: 2, request: { kind: 'run', command: 'rm' } });
    expect(panel.calls).toEqual([]);
  });

  it('reveals a receipt once its page has the model, once', async () => {
    const panel = new RestoredPanel();
    panel.panels.open(REF).showReceipt('rcpt-00000003');
    await panel.settled();
    expect(panel.sent).toEqual([]);
    await panel.tell({ type: 'ready' });
    expect(panel.sent.map((message) => message.type)).toEqual(['model', 'reveal']);
    const key = '2:rcpt-00000003';
    expect(panel.sent).toMatchObject([{ details: [{ key }] }, { type: 'reveal', key }]);
    await panel.change();
    expect(panel.sent.map((message) => message.type)).toEqual(['model', 'reveal', 'model']);
  });

  it('says why there is nothing to show', async () => {
    const panel = await ready();
    panel.data = undefined;
    await panel.change();
    expect(panel.sent.at(-1)).toEqual({ type: 'unavailable', message: 'Damaged.' });
  });

  it('loads once at a time, and once more for what changed meanwhile', async () => {
    const panel = await ready();
    panel.loads = 0;
    await Promise.all([panel.change(), panel.change(), panel.change()]);
    await panel.settled();
    expect(panel.loads).toBe(2);
  });
});
