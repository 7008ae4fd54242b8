import type { Browser } from 'playwright-core';
import type * as vscode from 'vscode';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { type WebviewName, webviewPage } from '../../../src/extension/shared/webviewPage';
import { PAGE_WEBVIEW, PanelPage, bundleWebview } from '../../support/vscode/panelPage';
import { openBrowser } from '../../support/vscode/window';

const EXTENSION = { path: '/ext' };

/** In which theme, width and state a panel is opened. */
export type Look = Parameters<typeof PanelPage.open>[3];

/**
 * Has the tests of a `describe` open a panel's page in one browser. The page is closed after each test, which fails where the
 * page complained of something.
 * @param name of the webview's script
 * @returns opens the page
 */
export function panelInBrowser(name: WebviewName, title: string): (look?: Look) => Promise<PanelPage> {
  let browser: Browser;
  let folder: string;
  let panel: PanelPage | undefined;

  beforeAll(async () => {
    [browser, folder] = await Promise.all([openBrowser(), bundleWebview(name)]);
  });
  afterAll(async () => {
    await browser.close();
  });
  afterEach(async () => {
    const complaints = panel?.complaints ?? [];
    await panel?.close();
    panel = undefined;
    expect(complaints).toEqual([]);
  });

  return async (look) => {
    const html = webviewPage(
      PAGE_WEBVIEW as unknown as vscode.Webview,
      EXTENSION as unknown as vscode.Uri,
      name,
      title,
    );
    panel = await PanelPage.open(browser, html, folder, look);
    return panel;
  };
}
