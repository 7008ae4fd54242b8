import { mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Page } from 'playwright-core';
import { OUT } from '../support/project';

/** What the in-host suite can have done in the window; these run in the runner's process, see `callUi`. */
export const uiSteps = {
  /** The text of the status bar item with that id (`publisher.extension.itemId`). */
  statusText: (page: Page, id: string) => page.locator(`.statusbar-item[id="${id}"]`).innerText(),
  /** The label of the status bar item that shows Git's branch. */
  branch: (page: Page) => page.locator('.statusbar-item[id^="status.scm"]', { hasText: /\S/ }).first().innerText(),
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
