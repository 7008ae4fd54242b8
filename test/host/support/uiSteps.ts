import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { OUT } from '../../support/project';

/** What the in-host suite can have done in the window; these run in the runner's process, see `callUi`. */
export const uiSteps = {
  /** The text of the status bar item with that id (`publisher.extension.itemId`). */
  statusText: (page: Page, id: string) => page.locator(`.statusbar-item[id="${id}"]`).innerText(),
  /** The classes of the icons of that status bar item. */
  statusIcons: async (page: Page, id: string): Promise<string> => {
    const icons = page.locator(`.statusbar-item[id="${id}"] .codicon`);
    return (await icons.evaluateAll((found) => found.map((icon) => (icon as { className: string }).className))).join(
      ' ',
    );
  },
  /** Waits until that status bar item has an icon; gives when that was (ms). */
  statusShows: async (page: Page, { id, icon }: { id: string; icon: string }): Promise<number> => {
    await page.locator(`.statusbar-item[id="${id}"] .codicon-${icon}`).waitFor();
    return Date.now();
  },
  /** Waits until the panel shows a text; gives when that was (ms). */
  panelShows: async (page: Page, text: string): Promise<number> => {
    const panel = page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
    await panel.getByText(text).first().waitFor({ state: 'attached' });
    return Date.now();
  },
  /** The label of the status bar item that shows Git's branch. */
  branch: (page: Page) => page.locator('.statusbar-item[id^="status.scm"]', { hasText: /\S/ }).first().innerText(),
  /** The rows of the open quick pick, once one of them holds a text. */
  quickPickRows: async (page: Page, text: string): Promise<string[]> => {
    const rows = page.locator('.quick-input-list .monaco-list-row');
    await rows.filter({ hasText: text }).first().waitFor();
    return rows.allInnerTexts();
  },
  /** Waits for the quick pick or input box with that title. */
  quickTitle: (page: Page, title: string) => page.locator('.quick-input-title', { hasText: title }).waitFor(),
  /** Answers it: chooses the row with that text where there are rows, else types it. */
  quickAnswer: async (page: Page, { title, text }: { title: string; text: string }): Promise<void> => {
    await page.locator('.quick-input-title').getByText(title, { exact: true }).waitFor();
    const row = page.locator('.quick-input-list .monaco-list-row', { hasText: text }).first();
    if (text !== '' && (await row.isVisible())) await row.click();
    else {
      await page.locator('.quick-input-widget input[type="text"]').first().fill(text);
      await page.keyboard.press('Enter');
    }
    // What has the same title comes next only once this one is gone.
    await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
  },
  /** Clicks what the selector finds in the workbench. */
  click: (page: Page, selector: string) => page.locator(selector).first().click(),
  /** Takes a picture of the window; returns its path. */
  screenshot: async (page: Page, name: string): Promise<string> => {
    const file = path.join(OUT, 'screenshots', `${name}.png`);
    mkdirSync(path.dirname(file), { recursive: true });
    await page.screenshot({ path: file });
    return file;
  },
} as const;
