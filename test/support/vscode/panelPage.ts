import { readFileSync } from 'node:fs';
import path from 'node:path';
import axe, { type AxeResults } from 'axe-core';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import type { WebviewName } from '../../../src/extension/shared/webviewPage';
import { OUT, PROJECT } from '../project';
import { WEBVIEW_THEMES, type WebviewTheme } from './themes';

const ORIGIN = 'http://panel.test';

/** Bundles a webview as the build does; gives the folder. */
export async function bundleWebview(name: WebviewName): Promise<string> {
  const outdir = path.join(OUT, 'webview-test', name);
  await build({
    absWorkingDir: PROJECT,
    entryPoints: [
      { in: 'webview/main.ts', out: 'panel' },
      { in: `webview/${name}/${name}.css`, out: name },
    ],
    outdir,
    bundle: true,
    minify: true,
    platform: 'browser',
    target: 'es2022',
    format: 'iife',
    logLevel: 'silent',
  });
  return outdir;
}

/** A page in a browser that is to a webview what the editor is: it has the page's one global and its messages. */
export class PanelPage {
  private constructor(
    readonly page: Page,
    /** Everything that the browser complained about: blocked by the policy, thrown, or logged as an error. */
    readonly complaints: readonly string[],
  ) {}

  /** Opens the page that the extension makes, its script and style taken from `folder`. */
  static async open(
    browser: Browser,
    html: string,
    folder: string,
    look: {
      readonly theme?: WebviewTheme;
      readonly width?: number;
      readonly reducedMotion?: boolean;
      readonly now?: number;
      /** What the editor kept of the panel. */
      readonly state?: unknown;
    } = {},
  ): Promise<PanelPage> {
    const page = await browser.newPage({
      viewport: { width: look.width ?? 900, height: 1000 },
      reducedMotion: look.reducedMotion === true ? 'reduce' : 'no-preference',
    });
    if (look.now !== undefined) await page.clock.install({ time: look.now });
    const complaints: string[] = [];
    page.on('pageerror', (error) => complaints.push(error.message));
    page.on('console', (message) => {
      if (message.type() === 'error') complaints.push(message.text());
    });
    await page.route('**', async (route) => {
      const { origin, pathname } = new URL(route.request().url());
      if (origin !== ORIGIN) {
        complaints.push(`requested ${route.request().url()}`);
        await route.abort();
        return;
      }
      const type = pathname.endsWith('.js') ? 'text/javascript' : pathname.endsWith('.css') ? 'text/css' : 'text/html';
      const body = pathname === '/' ? html : readFileSync(path.join(folder, path.basename(pathname)), 'utf8');
      await route.fulfill({ contentType: `${type}; charset=utf-8`, body });
    });
    await page.addInitScript(`
      globalThis.posted = [];
      globalThis.kept = ${look.state === undefined ? 'undefined' : JSON.stringify(look.state)};
      globalThis.acquireVsCodeApi = () => ({
        postMessage: (message) => { globalThis.posted.push(structuredClone(message)); },
        getState: () => globalThis.kept,
        setState: (state) => { globalThis.kept = state; },
      });
      addEventListener('DOMContentLoaded', () => {
        document.documentElement.style.cssText = ${JSON.stringify(WEBVIEW_THEMES[look.theme ?? 'vscode-dark'])};
        document.body.className = ${JSON.stringify(look.theme ?? 'vscode-dark')};
      });
    `);
    await page.goto(`${ORIGIN}/`);
    const opened = new PanelPage(page, complaints);
    await opened.posted('ready');
    return opened;
  }

  /** Sends a message of the host; the webview has dealt with it, as its listener is older. */
  async send(message: unknown): Promise<void> {
    await this.page.evaluate(
      `new Promise((done) => { addEventListener('message', () => { done(); }, { once: true }); postMessage(${JSON.stringify(message)}, '*'); })`,
    );
  }

  /** Waits for the first message of a type that the webview posted and that was not taken yet, and takes it. */
  async posted(type: string): Promise<unknown> {
    const found = `globalThis.posted.findIndex((message) => message.type === ${JSON.stringify(type)})`;
    await this.page.waitForFunction(`${found} !== -1`);
    return this.page.evaluate(`globalThis.posted.splice(${found}, 1)[0]`);
  }

  /** What the webview asked the editor to keep. */
  async kept(): Promise<unknown> {
    return this.page.evaluate('globalThis.kept');
  }

  async screenshot(name: string, fullPage = false): Promise<void> {
    await this.page.screenshot({ path: path.join(OUT, 'screenshots', `${name}.png`), fullPage });
  }

  /** What axe finds wrong for people who see little, or nothing, or use no mouse: a line for each. */
  async violations(): Promise<string[]> {
    if (!(await this.page.evaluate<boolean>("'axe' in globalThis"))) await this.page.evaluate(axe.source);
    const found = await this.page.evaluate<AxeResults>("axe.run({ resultTypes: ['violations'] })");
    return found.violations.flatMap(({ id, help, nodes }) =>
      nodes.map(({ html, any }) => `${id}: ${help}: ${html} ${any.map(({ message }) => message).join(' ')}`),
    );
  }

  async close(): Promise<void> {
    await this.page.close();
  }
}

/** What the extension's page maker needs of a webview. */
export const PAGE_WEBVIEW = {
  cspSource: ORIGIN,
  asWebviewUri: (uri: { readonly path: string }) => ({ toString: () => `${ORIGIN}/${path.basename(uri.path)}` }),
};
