import { describe, expect, it, vi } from 'vitest';
import type { DetailsModel } from '../../../src/protocol/detailsPanel';
import type { PanelPage } from '../../support/vscode/panelPage';
import { WEBVIEW_THEMES, type WebviewTheme } from '../../support/vscode/themes';
import { type Look, panelInBrowser } from './panelInBrowser';

vi.mock('vscode', async () => (await import('../../support/vscode/vscodeTexts')).vscodeTexts);

const HOSTILE = '<img src=x onerror="window.pwned=1"> [x](javascript:window.pwned=1) "><script>window.pwned=1</script>';
const WORKER: DetailsModel = {
  subject: { kind: 'worker', repository: '/home/dev/shop', worker: 'translators/ada' },
  kindLabel: 'Worker',
  title: 'translators/ada',
  standing: { label: 'In progress', look: 'warning' },
  at: '2026-01-17T14:30:00Z',
  announcement: 'translators/ada: In progress',
  notices: [
    { id: 'owner_dead', level: 'warning', text: 'Process died. The process that worked on it ended without a result.' },
  ],
  actions: [
    { id: 'atlas.recoverWorker', label: 'Recover Worker…', hint: '', rank: 'primary' },
    { id: 'atlas.copyHookPath', label: 'Copy Path', hint: '', rank: 'secondary' },
  ],
  facts: [
    { label: 'Task', text: 'Translate the manual' },
    { label: 'Deadline', text: '', at: '2026-01-18T12:00:00Z' },
    { label: 'Folder', text: '/home/dev/shop/.forge/hooks/translators/ada/with/a/rather/long/path' },
  ],
  texts: [
    { label: 'Content', text: 'Two\nlines', isCode: false },
    { label: 'Task', text: '{\n  "id": "translate-1"\n}\n', isCode: true },
  ],
  files: {
    heading: 'Files',
    summary: '2 files had been touched.',
    rows: [
      { path: 'config/parser.go', detail: '1.2 KiB', opens: true },
      { path: 'config/old.go', detail: 'deleted', opens: false },
    ],
  },
  strings: {
    actions: 'Actions',
    notices: 'Notices',
    openFile: 'Open file',
    dismiss: 'Dismiss',
    working: 'Working…',
    timedOut: "The extension doesn't answer.",
  },
};

describe('the details panel in a browser', () => {
  const openPage = panelInBrowser('detailsPanel', 'Details');
  const open = async (model = WORKER, look: Look = {}): Promise<PanelPage> => {
    const panel = await openPage(look);
    await panel.send({ type: 'model', model });
    return panel;
  };

  const themes = Object.keys(WEBVIEW_THEMES) as WebviewTheme[];
  it.each(themes.flatMap((theme) => [300, 900].map((width) => [theme, width] as const)))(
    'fits in %s at %i px, and axe has nothing to complain about',
    async (theme, width) => {
      const opened = await open(WORKER, { theme, width });
      expect(await opened.page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(width);
      expect(await opened.violations()).toEqual([]);
      await opened.screenshot(`details-${theme.split(' ').at(-1) ?? ''}-${width}`);
    },
  );

  it('keeps text from outside text', async () => {
    const { page } = await open({
      ...WORKER,
      title: HOSTILE,
      facts: [{ label: 'Task', text: HOSTILE }],
      texts: [
        { label: HOSTILE, text: HOSTILE, isCode: false },
        { label: 'Code', text: HOSTILE, isCode: true },
      ],
      files: { heading: 'Files', summary: '', rows: [{ path: HOSTILE, detail: '', opens: true }] },
    });
    expect(await page.locator('#root img, #root script, #root iframe, #root [onerror], #root a').count()).toBe(0);
    expect(await page.evaluate('window.pwned')).toBeUndefined();
    expect(await page.locator('.files button').textContent()).toBe(HOSTILE);
  });

  it('asks the host for what is clicked, by the keyboard too, and keeps what it is about', async () => {
    const opened = await open();
    const { page } = opened;
    expect(await opened.kept()).toEqual({ subject: WORKER.subject });
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    const first = (await opened.posted('request')) as { id: number; request: unknown };
    expect(first.request).toEqual({ kind: 'run', action: 'atlas.recoverWorker' });
    expect(await page.locator('.actions button').first().textContent()).toBe('Working…');
    await opened.send({ type: 'response', response: { type: 'done', id: first.id } });
    expect(await page.locator('.actions button').first().textContent()).toBe('Recover Worker…');
    await page.getByRole('button', { name: 'config/parser.go' }).click();
    expect(await opened.posted('request')).toMatchObject({ request: { kind: 'openFile', path: 'config/parser.go' } });
    expect(await page.getByRole('button', { name: 'config/old.go' }).count()).toBe(0);
  });

  it('says so when what it is about is gone, and keeps what was shown', async () => {
    const opened = await open();
    await opened.send({ type: 'unavailable', message: 'Worker translators/ada no longer exists.' });
    expect(await opened.page.getByRole('alert').textContent()).toBe('Worker translators/ada no longer exists.');
    await opened.page.getByRole('heading', { name: 'translators/ada' }).waitFor();
  });
});
