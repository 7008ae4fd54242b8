import type { Page } from 'playwright-core';
import { describe, expect, it, vi } from 'vitest';
import { receiptDetails } from '../../../src/extension/receipts/panel/receiptsDetails';
import { keyOfItem, receiptsPanelModel } from '../../../src/extension/receipts/panel/receiptsPanelModel';
import type { ReceiptItem, ReceiptsPanelData } from '../../../src/extension/receipts/panel/receiptsPanelModel';
import type { ReceiptDetails, ReceiptsPanelRequest, ToReceiptsPanel } from '../../../src/protocol/receiptsPanel';
import { assortedReceipts, receiptItem, receiptsData } from '../../support/fixtures/receipts/receiptItems';
import { lowContrast } from './contrast';
import type { PanelPage } from '../../support/vscode/panelPage';
import { WEBVIEW_THEMES, type WebviewTheme } from '../../support/vscode/themes';
import { type Look, panelInBrowser } from './panelInBrowser';

vi.mock('vscode', async () => (await import('../../support/vscode/vscodeTexts')).vscodeTexts);

const REF = { workspace: 'parser', id: 'task-20260117-143022' };
const HOSTILE =
  '<img src=x onerror="window.pwned=1"> [x](command:workbench.action.quit) "><script>window.pwned=1</script>';
const many = (count: number): ReceiptItem[] =>
  Array.from({ length: count }, (_, index) =>
    receiptItem(index, {
      receipt: { command: `npm test -- part${index}`, exit_code: index % 7 === 0 ? 1 : 0 },
      changed: [`out/part${index}.txt`],
    }),
  );

/** The host's part: it knows the data and answers what the page asks for. */
class FakeHost {
  wanted: readonly string[] = [];

  constructor(
    readonly panel: PanelPage,
    public data: ReceiptsPanelData,
  ) {}

  get page(): Page {
    return this.panel.page;
  }

  async send(message: ToReceiptsPanel): Promise<void> {
    await this.panel.send(message);
  }

  async sendModel(data = this.data): Promise<void> {
    this.data = data;
    await this.send({ type: 'model', model: receiptsPanelModel(REF, data), details: this.details() });
  }

  /** Takes the next request; one for details is answered with them. */
  async take(): Promise<ReceiptsPanelRequest> {
    const { id, request } = (await this.panel.posted('request')) as { id: number; request: ReceiptsPanelRequest };
    await this.send({ type: 'response', response: { type: 'accepted', id } });
    if (request.kind === 'show') {
      this.wanted = request.keys;
      await this.send({ type: 'details', details: this.details() });
      await this.send({ type: 'response', response: { type: 'done', id } });
    }
    return request;
  }

  /** Opens a row as a person with a mouse does; `at` counts from the newest. */
  async open(at: number): Promise<void> {
    await this.page.locator('.chevron').nth(at).click();
    await this.take();
  }

  keyAt(index: number): string {
    const item = this.data.items[index];
    if (item === undefined) throw new Error('no such receipt');
    return keyOfItem(item, index);
  }

  private details(): ReceiptDetails[] {
    return this.data.items.flatMap((item, index) =>
      this.wanted.includes(keyOfItem(item, index)) ? [receiptDetails(item, keyOfItem(item, index))] : [],
    );
  }
}

describe('the receipts panel in a browser', () => {
  const openPage = panelInBrowser('receiptsPanel', 'Receipts');
  const open = async (
    items: readonly ReceiptItem[] = assortedReceipts(),
    look: Look = {},
    more: Partial<ReceiptsPanelData> = {},
  ): Promise<FakeHost> => {
    const panel = await openPage(look);
    const host = new FakeHost(panel, receiptsData(items, more));
    await host.sendModel();
    return host;
  };
  const rows = (page: Page) => page.locator('tr.receipt');

  const themes = Object.keys(WEBVIEW_THEMES) as WebviewTheme[];
  it.each(themes.flatMap((theme) => [300, 620, 900].map((width) => [theme, width] as const)))(
    'fits and can be read in %s at %i px',
    async (theme, width) => {
      const items = assortedReceipts();
      const host = await open(items, { theme, width, now: Date.parse('2026-01-17T16:00:00Z') });
      const { page } = host;
      for (const at of [1, 4]) await host.open(at);
      await page.locator('.statement button').first().click();
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect(await lowContrast(page)).toEqual([]);
      await host.panel.screenshot(`receipts-${theme.split(' ').at(-1) ?? ''}-${width}`, true);
    },
  );

  it('says of each run how it ended, what its receipt is worth and whether the files are the same, and is green only for a pass', async () => {
    const { page } = await open();
    expect(await page.getByRole('table', { name: 'Receipts' }).count()).toBe(1);
    expect(await page.getByRole('columnheader').allTextContents()).toEqual([
      ...['Details', 'Result', 'Receipt', 'Files', 'Step', 'Command', 'Duration', 'Completed'],
    ]);
    expect(await page.locator('td.standing').allTextContents()).toEqual([
      ...['◆Valid', '◆Valid', '…Not checked', '◆Valid', '!Invalid', '?Unknown key', '–Unsigned', '◇Valid, short'],
    ]);
    expect(await page.locator('td.currency span:last-child').allTextContents()).toEqual([
      ...['Current', 'Outdated (3 files)', 'Not compared', 'Current'],
      ...['Current', 'Current', 'Unknown', 'Current'],
    ]);
    const results = await page.locator('td.result').allTextContents();
    expect([...new Set(results)].sort()).toEqual(['✓Passed', '✗Failed (exit code 1)']);
    const colour = (of: string) => page.evaluate<string>(`getComputedStyle(document.querySelector('${of}')).color`);
    expect(await colour('.receipt.ended .result .sign')).toBe('rgb(137, 209, 133)');
    expect(await colour('.receipt.ended.unproven .result .sign')).toBe('rgb(204, 204, 204)');
    expect(await colour('.receipt.failed .result .sign')).not.toBe('rgb(137, 209, 133)');
    expect(await colour('.receipt.failed .standing.valid .sign')).toBe('rgb(204, 204, 204)');
    expect(await page.getByRole('rowheader').count()).toBe(8);
  });

  it('stays a table for a screen reader when it is narrow', async () => {
    const { page } = await open(undefined, { width: 300 });
    const tree = await page.locator('table.receipts').ariaSnapshot();
    expect(tree).toContain('table "Receipts"');
    expect(tree).toContain('columnheader "Receipt"');
    expect(tree).toContain('cell "Valid"');
    expect(tree).toContain('rowheader "npm test"');
  });

  it('opens and closes a row with the keyboard, and shows each check', async () => {
    const host = await open();
    const { page } = host;
    const chevron = page.getByRole('button', { name: 'Details of rcpt-00000004: npm test -- --bail' });
    expect(await chevron.getAttribute('aria-expanded')).toBe('false');
    await chevron.focus();
    await page.keyboard.press('Enter');
    expect(await host.take()).toEqual({ kind: 'show', keys: [host.keyAt(3)] });
    expect(await chevron.getAttribute('aria-expanded')).toBe('true');
    expect(await page.evaluate('document.activeElement.getAttribute("aria-expanded")')).toBe('true');
    const sheet = page.locator(`#${(await chevron.getAttribute('aria-controls')) ?? ''}`);
    expect(await sheet.locator('.checks > li strong').allTextContents()).toEqual([
      ...['Signed', 'Well formed', 'Statement present', 'Key known', "Message's signature", 'Fields agree'],
    ]);
    expect(await sheet.locator('.checks > li').last().textContent()).toContain('✗Failed: Fields agree');
    const differing = sheet.getByRole('table', { name: 'Which field differs' });
    expect(await differing.locator('tbody tr').allTextContents()).toEqual([
      'exit_code10',
      'command' + 'npm test' + 'npm test -- --bail',
    ]);
    expect(await sheet.getByText("Not checked: Statement's signature").count()).toBe(1);
    await page.keyboard.press('Space');
    expect(await chevron.getAttribute('aria-expanded')).toBe('false');
    expect(await page.locator('.sheet').count()).toBe(0);
  });

  it('shows the proof line by line, and the statement when it is asked for', async () => {
    const host = await open();
    const { page } = host;
    await host.open(0);
    const facts = await page
      .locator('.lines > div')
      .evaluateAll((divs: { children: { textContent: string }[] }[]) =>
        divs.map((div) => [div.children[0]?.textContent, div.children[1]?.textContent]),
      );
    const { report, receipt } = host.data.items[7] ?? {};
    expect(Object.fromEntries(facts)).toMatchObject({
      Message: report?.text,
      'SHA-256 of the message': report?.digest,
      'Key path': receipt?.key_path,
      'Public key': report?.publicKey,
      "Message's signature": receipt?.signature,
      'Tree after': '4b825dc642cb6eb9a060e54bf8d69288fbee4904 (unchanged)',
    });
    const statement = page.getByRole('button', { name: 'Statement' });
    expect(await statement.getAttribute('aria-expanded')).toBe('false');
    await statement.focus();
    await page.keyboard.press('Enter');
    expect(await statement.getAttribute('aria-expanded')).toBe('true');
    expect(JSON.parse((await page.locator('.statement pre').textContent()) ?? '')).toEqual(report?.statement);
    await host.sendModel();
    expect(await page.locator('.statement pre').count()).toBe(1);
  });

  it('opens output that was kept and says why the other cannot be', async () => {
    const host = await open();
    const { page } = host;
    await host.open(0);
    await page.getByRole('button', { name: 'Open stdout' }).click();
    expect(await host.take()).toEqual({ kind: 'openOutput', key: host.keyAt(7), stream: 'stdout' });
    const missing = page.getByRole('button', { name: 'Open stderr' });
    expect(await missing.getAttribute('aria-disabled')).toBe('true');
    expect(await page.locator('.missing').textContent()).toBe("Open stderr The output wasn't kept.");
    await missing.dispatchEvent('click');
    await page.getByRole('button', { name: 'Verify Receipt' }).click();
    expect(await host.take()).toEqual({ kind: 'verify', key: host.keyAt(7) });
  });

  it('filters by text, result, receipt and files, and says how many are left', async () => {
    const { page } = await open();
    const status = page.locator('.shown');
    expect(await status.getAttribute('role')).toBe('status');
    expect(await status.textContent()).toBe('8 of 8 receipts');
    await page.getByRole('searchbox', { name: 'Filter by command, step or id' }).fill('NPM bail');
    expect(await status.textContent()).toBe('1 of 8 receipts');
    await page.getByRole('searchbox').fill('');
    await page.getByRole('combobox', { name: 'Result' }).selectOption({ label: 'Failed' });
    expect(await status.textContent()).toBe('1 of 8 receipts');
    await page.getByRole('combobox', { name: 'Result' }).selectOption({ label: 'All results' });
    await page.getByRole('combobox', { name: 'Receipt' }).selectOption({ label: 'Valid' });
    expect(await rows(page).count()).toBe(3);
    await page.getByRole('combobox', { name: 'Files' }).selectOption({ label: 'Outdated' });
    expect(await status.textContent()).toBe('1 of 8 receipts');
    await page.getByRole('combobox', { name: 'Receipt' }).selectOption({ label: 'Unsigned' });
    expect(await page.locator('.list').textContent()).toBe('No receipt matches the filter.');
    await page.getByRole('button', { name: 'Clear Filter' }).click();
    expect(await status.textContent()).toBe('8 of 8 receipts');
    expect(await page.getByRole('combobox', { name: 'Files' }).inputValue()).toBe('all');
    expect(await page.evaluate('document.activeElement.type')).toBe('search');
  });

  it('keeps text from outside text', async () => {
    const rtl = '\u202egpj.exe\u202c \u05d0\u05d1';
    const item = receiptItem(0, {
      receipt: {
        receipt_id: HOSTILE,
        command: HOSTILE + rtl,
        step_name: HOSTILE,
        duration: HOSTILE,
        signature: HOSTILE,
      },
      verdict: 'invalid',
      checks: [
        {
          ...{ check: 'fields', passed: false, message: HOSTILE, expected: HOSTILE, found: HOSTILE },
          differences: [{ field: HOSTILE, expected: HOSTILE, found: rtl }],
        },
      ],
      changed: [HOSTILE, rtl],
      currency: { kind: 'outdated', files: [HOSTILE], more: 0 },
    });
    const task = { title: HOSTILE, workspace: HOSTILE, id: HOSTILE };
    const host = await open([item], { width: 300 }, { task, keys: HOSTILE });
    const { page } = host;
    await host.open(0);
    await page.locator('.statement button').click();
    const built = '#root img, #root script, #root iframe, #root a, #root [onerror], #root [style]';
    expect(await page.locator(built).count()).toBe(0);
    expect(await page.evaluate('window.pwned')).toBeUndefined();
    expect(await page.locator('h1').textContent()).toBe(HOSTILE);
    expect(await page.locator('.receipt .command').textContent()).toContain('[x](command:workbench.action.quit)');
    expect(await page.locator('.differences td').last().textContent()).toBe('\\u202egpj.exe\\u202c \u05d0\u05d1');
    expect(await page.locator('#root').textContent()).not.toContain('\u202e');
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(300);
  });

  it('keeps huge texts within the page', async () => {
    const huge = 'x'.repeat(200_000);
    const receipt = { command: huge, step_name: huge, duration: huge, signature: huge, key_path: huge };
    const host = await open([receiptItem(0, { receipt, changed: Array.from({ length: 300 }, () => huge) })], {
      width: 300,
    });
    await host.open(0);
    expect(await host.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(300);
    expect(await host.page.locator('.lines pre').first().textContent()).toMatch(/x… \(180000 more characters\)$/u);
    expect((await host.page.locator('tr.receipt').boundingBox())?.height).toBeLessThan(300);
  });

  it('takes no message that the protocol does not know', async () => {
    const host = await open();
    const model = receiptsPanelModel(REF, host.data);
    const evil = [
      { ...model, title: 1 },
      { ...model, rows: [{ ...model.rows[0], standing: 'superb' }] },
    ];
    for (const each of evil) await host.panel.send({ type: 'model', model: each, details: [] });
    await host.panel.send({ type: 'model', model: { ...model, title: 'no details' } });
    await host.panel.send({ type: 'reveal', key: 'no such receipt' });
    expect(await host.page.locator('h1').textContent()).toBe(model.title);
    expect(await rows(host.page).count()).toBe(8);
  });

  it('keeps focus, scroll and open rows over an update', async () => {
    const items = many(40);
    const host = await open(items);
    const { page } = host;
    await page.setViewportSize({ width: 900, height: 400 });
    await host.open(20);
    const chevron = page.locator('#toggle-10');
    await chevron.focus();
    await page.evaluate('window.seen = document.activeElement; seen.scrollIntoView({ block: "center" })');
    await page.screenshot();
    const top = () => page.evaluate<number>('seen.getBoundingClientRect().top');
    const before = await top();
    const currency = { kind: 'outdated', files: ['a.ts'], more: 0 } as const;
    await host.sendModel(receiptsData([...items.map((item) => ({ ...item, currency })), receiptItem(40)]));
    await page.screenshot();
    expect(await rows(page).count()).toBe(41);
    expect(await page.locator('.sheet').count()).toBe(1);
    expect(await page.locator('.sheet').textContent()).toContain('Outdated (1 file)');
    expect(await page.evaluate('document.activeElement === seen')).toBe(true);
    expect(Math.abs((await top()) - before)).toBeLessThanOrEqual(1);
  });

  it('shows that receipts are being verified, whoever asked for it, and says the outcome', async () => {
    const host = await open([receiptItem(0, { verdict: 'unchecked' })], {}, { checking: true });
    const { page } = host;
    const button = page.locator('.actions button').first();
    expect(await button.textContent()).toBe('Verifying…');
    expect(await button.getAttribute('aria-busy')).toBe('true');
    await button.dispatchEvent('click');
    expect(await page.evaluate('posted.length')).toBe(0);
    await host.sendModel(receiptsData([receiptItem(0)]));
    expect(await page.locator('#root > [role=status]').textContent()).toBe('1 receipt: Passed: 1; Valid: 1');
    await page.getByRole('button', { name: 'Verify All' }).click();
    expect(await host.take()).toEqual({ kind: 'verifyAll' });
    expect(await button.textContent()).toBe('Verifying…');
    for (const [name, kind] of [
      ['Export…', 'export'],
      ['Open HOOK.md', 'openHookMd'],
    ] as const) {
      await page.getByRole('button', { name }).click();
      expect(await host.take()).toEqual({ kind });
    }
  });

  it('says what was refused and what cannot be read, and keeps what was shown', async () => {
    const host = await open();
    const { page } = host;
    await page.getByRole('button', { name: 'Export…' }).click();
    const { id } = (await host.panel.posted('request')) as { id: number };
    await host.send({
      type: 'response',
      response: { type: 'refused', id, message: 'No <b>space</b>.', hint: 'Free some.' },
    });
    expect(await page.getByRole('alert').locator('p').textContent()).toBe('No <b>space</b>. Free some.');
    await page.getByRole('button', { name: 'Dismiss' }).click();
    await host.send({ type: 'unavailable', message: 'hook.json is damaged.' });
    expect(await page.getByRole('alert').textContent()).toBe('hook.json is damaged.');
    expect(await rows(page).count()).toBe(8);
  });

  it('keeps task, filter and open rows over a reload', async () => {
    const first = await open(many(250));
    await first.page.getByRole('searchbox').fill('part');
    await first.page.getByRole('combobox', { name: 'Receipt' }).selectOption({ label: 'Valid' });
    await first.page.getByRole('button', { name: 'Show 100 More' }).click();
    await first.open(120);
    const state = await first.panel.kept();
    const key = first.keyAt(129);
    expect(state).toEqual({
      ref: REF,
      filter: { text: 'part', result: 'all', standing: 'valid', files: 'all' },
      open: [key],
    });
    await first.panel.close();
    const again = await open(many(250), { state });
    expect(await again.take()).toEqual({ kind: 'show', keys: [key] });
    expect(await again.page.getByRole('searchbox').inputValue()).toBe('part');
    expect(await again.page.getByRole('combobox', { name: 'Receipt' }).inputValue()).toBe('valid');
    expect(await again.page.locator('#details-129').textContent()).toContain('out/part129.txt');
    await again.panel.close();
    const odd = await open(many(3), { state: { ref: REF, filter: { text: 5 }, open: 'x' } });
    expect(await rows(odd.page).count()).toBe(3);
    await odd.panel.close();
    const gone = await open(many(3), {
      state: { ref: REF, filter: { text: '', result: 'all', standing: 'all', files: 'all' }, open: ['9:x'] },
    });
    expect(await gone.panel.kept()).toMatchObject({ open: [] });
  });

  it('reveals a receipt wherever it is, even one that the filter hides', async () => {
    const host = await open(many(250));
    const { page } = host;
    await page.getByRole('searchbox').fill('part249');
    host.wanted = [host.keyAt(30)];
    await host.sendModel();
    await host.send({ type: 'reveal', key: host.keyAt(30) });
    expect(await host.take()).toEqual({ kind: 'show', keys: [host.keyAt(30)] });
    expect(await page.getByRole('searchbox').inputValue()).toBe('');
    expect(await page.evaluate('document.activeElement.id')).toBe('toggle-30');
    const box = await page.locator('#toggle-30').boundingBox();
    expect(box?.y).toBeGreaterThanOrEqual(0);
    expect(box?.y).toBeLessThan(100);
    expect(await page.locator('#details-30').textContent()).toContain('out/part30.txt');
  });

  it('opens a row that is clicked, but neither with the other button nor when its text is selected', async () => {
    const host = await open();
    const { page } = host;
    const cell = rows(page).first().locator('td.duration');
    await cell.click({ button: 'right' });
    const { x = 0, y = 0 } = (await cell.boundingBox()) ?? {};
    await page.mouse.move(x + 7, y + 14);
    await page.mouse.down();
    await page.mouse.move(x + 40, y + 14, { steps: 4 });
    await page.mouse.up();
    expect(await page.evaluate('String(getSelection())')).not.toBe('');
    expect(await page.locator('.receipt.open').count()).toBe(0);
    await page.evaluate('getSelection().removeAllRanges()');
    await cell.click();
    expect(await page.locator('.receipt.open').count()).toBe(1);
  });

  it('draws a thousand receipts in pages, and goes on reading where the next page begins', async () => {
    const host = await open(many(1000));
    const { page } = host;
    expect(await rows(page).count()).toBe(100);
    const time = (code: string) =>
      page.evaluate<number>(`(async () => {
      const start = performance.now();
      ${code};
      document.body.offsetHeight;
      return performance.now() - start;
    })()`);
    const type = `const box = document.querySelector('[type=search]'); box.value = 'part9'; box.dispatchEvent(new Event('input', { bubbles: true }))`;
    const typing = await time(type);
    await page.getByRole('button', { name: 'Clear Filter' }).click();
    await page.getByRole('button', { name: 'Show 100 More' }).focus();
    await page.keyboard.press('Enter');
    expect(await rows(page).count()).toBe(200);
    expect(await page.evaluate('document.activeElement.id')).toBe('toggle-899');
    const more: number[] = [];
    for (let at = 0; at < 8; at += 1) more.push(await time(`document.querySelector('[data-do=more]').click()`));
    expect(await rows(page).count()).toBe(1000);
    expect(await page.getByRole('button', { name: 'Show 100 More' }).count()).toBe(0);
    const opening = await time(`document.querySelector('#toggle-500').click()`);
    expect(Math.max(typing, opening, ...more)).toBeLessThan(1000);
  });

  it('lets ages tick, with the time itself in the title', async () => {
    const { page } = await open([receiptItem(0)], { now: Date.parse('2026-01-17T14:30:40Z') });
    const completed = page.locator('td.completed');
    expect(await completed.textContent()).toMatch(/^\d+ seconds ago$/u);
    await page.clock.runFor(120_000);
    expect(await completed.textContent()).toBe('2 minutes ago');
    expect(await completed.getAttribute('title')).toContain('(2026-01-17T14:30:34.300Z)');
  });

  it('tells what a receipt is worth and where the keys are, also when there is none', async () => {
    const { page } = await open([]);
    expect(await page.locator('.about').textContent()).toContain("doesn't protect against a hostile process");
    expect(await page.locator('.about').textContent()).toContain(
      'Public keys: /home/dev/.atlas/keys/receipts.pub.json',
    );
    expect(await page.getByText('No receipt yet').count()).toBe(1);
    expect(await page.locator('table').count()).toBe(0);
  });

  it('has nothing to complain about for axe in any theme', async () => {
    for (const theme of Object.keys(WEBVIEW_THEMES) as WebviewTheme[]) {
      for (const items of [assortedReceipts(), []]) {
        const host = await open(items, { theme });
        if (items.length > 0) await host.open(0);
        expect(await host.panel.violations()).toEqual([]);
        await host.panel.close();
      }
    }
  });

  it('moves nothing where motion is not wanted', async () => {
    const { page } = await open(undefined, { reducedMotion: true });
    expect(await page.evaluate(`getComputedStyle(document.querySelector('button.primary')).transitionDuration`)).toBe(
      '0s',
    );
  });
});
