import { mkdirSync } from 'node:fs';
import path from 'node:path';
import { type Browser, type BrowserContext, type FrameLocator, type Locator, type Page, errors } from 'playwright-core';
import { OUT, PROJECT } from '../project';
import { makeHostData, type HostData, type Settings } from './hostData';
import { type HostVersion, type InstalledHost, hostVersion, installHost } from './install';
import { startServer, type Server } from './server';
import { openBrowser, workbenchUrl } from './window';

/** The themes that everything we draw must work in, and the class that the workbench then has. */
export const THEMES = {
  'Default Light Modern': 'vs',
  'Default Dark Modern': 'vs-dark',
  'Default High Contrast': 'hc-black',
  'Default High Contrast Light': 'hc-light',
} as const;

/** The name of one of {@link THEMES}. */
export type Theme = keyof typeof THEMES;

/** What the list of themes calls them. */
const LABELS: Readonly<Record<Theme, string>> = {
  'Default Light Modern': 'Light Modern',
  'Default Dark Modern': 'Dark Modern',
  'Default High Contrast': 'Dark High Contrast',
  'Default High Contrast Light': 'Light High Contrast',
};

/** What a workbench is opened with. */
export interface WorkbenchOptions {
  /** A folder or a `.code-workspace` file; an empty window when left out. */
  readonly workspace?: string;
  /** Added to the environment of server and extension host. */
  readonly env?: Readonly<Record<string, string>>;
  readonly settings?: Settings;
  /** Off by default: then every folder is trusted. */
  readonly workspaceTrust?: boolean;
  /** Folders of installed extensions; the project itself when left out. */
  readonly extensions?: readonly string[];
  /** The version that `HOST_VERSION` names when left out. */
  readonly version?: HostVersion;
  readonly viewport?: { readonly width: number; readonly height: number };
  readonly reconnectionGraceSeconds?: number;
}

const START_LIMIT_MS = 100_000;
/** How long the quick input, once opened, may take to answer. */
const QUICK = { timeout: 5000 };
const MAX_TRIES = 6;

/** Those that are open: what a failed test saw is told by {@link Workbench.tellWhatIsShown}. */
const opened = new Set<Workbench>();

/** A VS Code server and a window of it, driven as a person would. Close it in `afterAll` or a `finally`. */
export class Workbench {
  #server: Server;
  #page: Page | undefined;
  readonly #host: InstalledHost;
  readonly #browser: Browser;
  readonly #context: BrowserContext;
  readonly #options: WorkbenchOptions;

  private constructor(
    host: InstalledHost,
    /** The folders of this VS Code; they are kept until {@link close}. */
    readonly data: HostData,
    server: Server,
    browser: Browser,
    context: BrowserContext,
    options: WorkbenchOptions,
  ) {
    this.#host = host;
    this.#server = server;
    this.#browser = browser;
    this.#context = context;
    this.#options = options;
  }

  /** Starts the server with the extension installed and opens a window; its version comes from `HOST_VERSION`. */
  static async open(options: WorkbenchOptions = {}): Promise<Workbench> {
    const host = await installHost(options.version ?? hostVersion(process.env['HOST_VERSION']));
    const extensions = options.extensions ?? [PROJECT];
    const data = makeHostData({ extensions, ...(options.settings && { settings: options.settings }) });
    const server = await startServer({ host, data, ...options });
    const browser = await openBrowser();
    const context = await browser.newContext({ viewport: options.viewport ?? { width: 1280, height: 800 } });
    const workbench = new Workbench(host, data, server, browser, context, options);
    opened.add(workbench);
    try {
      await workbench.openWindow();
      return workbench;
    } catch (error) {
      await workbench.close(); // nobody else could
      throw error;
    }
  }

  /** The window's page. */
  get page(): Page {
    if (this.#page === undefined) throw new Error('the window is closed');
    return this.#page;
  }

  get server(): Server {
    return this.#server;
  }

  /** Opens the window (again); its storage is that of the last one. */
  async openWindow(workspace = this.#options.workspace): Promise<void> {
    this.#page = await this.#context.newPage();
    await this.#page.goto(workbenchUrl({ port: this.#server.port, workspace }));
    await shown(this.page);
  }

  /** Closes the window as a person does, so that its extension host ends in order. */
  async closeWindow(): Promise<void> {
    await this.page.close({ runBeforeUnload: false });
    this.#page = undefined;
  }

  /** Reloads the window: a new extension host, the same storage. */
  async reloadWindow(): Promise<void> {
    await this.page.reload();
    await shown(this.page);
  }

  /** Reloads the window by its own command, which also keeps what editors want to keep. */
  async reloadByCommand(): Promise<void> {
    const loaded = this.page.waitForEvent('load');
    await this.palette('Developer: Reload Window');
    await loaded;
    await shown(this.page);
  }

  /** Opens one more window on the same workspace; {@link page} stays the first one. */
  async openSecondWindow(): Promise<Page> {
    const page = await this.#context.newPage();
    await page.goto(workbenchUrl({ port: this.#server.port, workspace: this.#options.workspace }));
    await shown(page);
    return page;
  }

  /** Kills server and extension host without warning, starts them again on the same data, and reloads the window. */
  async crashAndRestart(): Promise<void> {
    await this.#server.kill();
    const { port } = this.#server;
    this.#server = await startServer({ host: this.#host, data: this.data, ...this.#options, port });
    await this.reloadWindow();
  }

  /** Runs a command of the palette by its title. */
  async palette(title: string): Promise<void> {
    await this.#whileOpen('F1', async () => {
      await this.quickInput.fill(`>${title}`, QUICK);
      await this.#row(title).click(QUICK);
    });
  }

  /** Runs a command of the palette by its title, without the mouse: once it is the row that Enter takes. */
  async paletteByKeys(title: string): Promise<void> {
    await this.#whileOpen('F1', async () => {
      await this.quickInput.fill(`>${title}`, QUICK);
      await this.page.locator('.quick-input-list .monaco-list-row.focused', { hasText: title }).waitFor(QUICK);
      await this.page.keyboard.press('Enter');
    });
  }

  /** Opens the palette and leaves it open with that text in it. */
  async searchPalette(text: string): Promise<void> {
    await this.#whileOpen('F1', async () => this.quickInput.fill(`>${text}`, QUICK));
  }

  /**
   * Opens the quick input by a key and uses it. A person is too slow for it, this program isn't: while a panel or an
   * editor takes the focus, the editor hears no key, or closes again what it has just opened. Then it is opened anew.
   */
  async #whileOpen(key: string, use: () => Promise<void>): Promise<void> {
    for (let tries = 1; ; tries += 1) {
      await this.page.keyboard.press(key);
      try {
        await this.quickInput.waitFor(QUICK);
        await use();
        return;
      } catch (error) {
        if (!(error instanceof errors.TimeoutError) || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** The text field of the quick pick or input box that is open. */
  get quickInput(): Locator {
    return this.page.locator('.quick-input-widget input[type="text"]').first();
  }

  /** Waits until the quick pick or input box with that text in its title shows: the one before it may still be there. */
  async quickTitle(text: string): Promise<void> {
    await this.page.locator('.quick-input-title', { hasText: text }).waitFor();
  }

  /** The rows of the open quick pick, all or those with that text. */
  quickRows(text?: string | RegExp): Locator {
    return this.page.locator('.quick-input-list .monaco-list-row', text === undefined ? {} : { hasText: text });
  }

  /** Chooses the row with that text in the open quick pick, once that has come to rest: its rows are those of the one before at first. */
  async quickPick(text: string | RegExp): Promise<void> {
    const row = this.#row(text);
    await row.waitFor();
    await row.evaluate(atRest);
    await row.click();
  }

  /** Types into the open input box and accepts. */
  async quickType(text: string): Promise<void> {
    await this.quickInput.fill(text);
    await this.page.keyboard.press('Enter');
  }

  /** Types key by key into the open input box or quick pick, once it has the focus: what is typed before goes elsewhere. */
  async quickKeys(text: string): Promise<void> {
    await this.quickInput.and(this.page.locator(':focus')).waitFor();
    await this.page.keyboard.type(text);
  }

  #row(text: string | RegExp): Locator {
    return this.quickRows(text).first();
  }

  /** Opens a file of the workspace by quick open. */
  async openFile(name: string): Promise<void> {
    await this.#whileOpen('Control+p', async () => {
      await this.quickInput.fill(name, QUICK);
      await this.#row(path.basename(name)).click(QUICK);
    });
  }

  /** Scrolls the editor that is shown until something in it is to be seen. */
  async scrollTo(target: Locator): Promise<void> {
    await this.page.locator('.editor-instance .view-lines').first().hover();
    await this.#scroll(target, 150);
  }

  /** Turns the wheel over a tree until it shows that row: a tree draws only the rows that fit. */
  async revealRow(tree: Locator, target: Locator, direction: 'down' | 'up'): Promise<void> {
    await tree.locator('.monaco-list').hover();
    await this.#scroll(target, direction === 'down' ? 60 : -60);
  }

  /**
   * Turns the wheel over what the mouse is on until something is to be seen; and again from where it began, as what is
   * drawn late may have been passed. Found on the way back, it might lie under what sticks to the upper edge.
   */
  async #scroll(target: Locator, pixels: number): Promise<void> {
    for (let turns = 0; turns < 1000; turns += 1) {
      const isBack = Math.floor(turns / 100) % 2 === 1;
      if (!isBack && (await this.#staysVisible(target))) return;
      await this.page.mouse.wheel(0, isBack ? -pixels : pixels);
      // A turn of the page, in which it draws what it scrolled to.
      await this.page.evaluate('new Promise(requestAnimationFrame)');
    }
    await target.waitFor();
  }

  /** What is drawn above something may push it out of sight as soon as it was seen. */
  async #staysVisible(target: Locator): Promise<boolean> {
    if (!(await target.isVisible())) return false;
    try {
      await target.evaluate(atRest, undefined, QUICK);
    } catch (error) {
      if (error instanceof errors.TimeoutError) return false;
      throw error;
    }
    return target.isVisible();
  }

  /** Shows a view container by the beginning of its activity bar label. */
  async openSidebar(label: string, page = this.page): Promise<void> {
    const item = page.locator('.activitybar .action-item', { has: page.locator(`a[aria-label^="${label}"]`) });
    await item.waitFor();
    // A click on the one that is shown would close the side bar.
    if ((await item.getAttribute('aria-selected')) !== 'true') await item.click();
  }

  /** The badge of a view container in the activity bar; another one's may have the same number. */
  activityBadge(label: string): Locator {
    const item = this.page.locator('.activitybar .action-item', {
      has: this.page.locator(`a.action-label[aria-label^="${label}"]`),
    });
    return item.locator('.badge-content');
  }

  /** Rows of the tree views that are shown, all or those with that text. */
  treeRows(text?: string | RegExp): Locator {
    return this.page.locator('.pane-body .monaco-list-row', text === undefined ? {} : { hasText: text });
  }

  /** Opens a tree row, if it is closed. A row that is drawn again just then does not take the click, which then comes anew. */
  async expand(row: Locator): Promise<void> {
    await row.waitFor();
    for (let tries = 1; (await row.getAttribute('aria-expanded')) === 'false'; tries += 1) {
      await this.clickRow(row);
      try {
        await row.and(this.page.locator('[aria-expanded="true"]')).waitFor(QUICK);
      } catch (error) {
        if (!(error instanceof errors.TimeoutError) || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** Clicks a tree row. */
  async clickRow(row: Locator): Promise<void> {
    await this.#pointAway();
    await row.click();
  }

  /** Points at a tree row, which then shows its buttons. */
  async hoverRow(row: Locator): Promise<void> {
    await this.#pointAway();
    await row.hover();
  }

  /** Takes the pointer into the editor: what a row tells where the pointer rests lies over the rows below for as long. */
  async #pointAway(): Promise<void> {
    const { width, height } = this.page.viewportSize() ?? { width: 1280, height: 800 };
    // To a place rather than an element: a webview may lie over it.
    await this.page.mouse.move(width * 0.75, height / 2);
  }

  /** Presses one of the buttons that a tree row shows while the pointer is on it, by the beginning of its label. */
  async rowAction(row: Locator, label: string): Promise<void> {
    await this.hoverRow(row);
    await row.locator(`.actions a.action-label[aria-label^="${label}"]`).click();
  }

  /** What the editor tells of a row while the pointer rests on it. A row that is drawn again forgets the pointer, which then comes anew. */
  async hoverOf(row: Locator): Promise<Locator> {
    // What the extension tells comes a moment after the hover opens.
    const hover = this.page.locator('.workbench-hover .hover-contents', { hasNotText: /^Loading/u });
    for (let tries = 1; ; tries += 1) {
      await this.hoverRow(row);
      try {
        await hover.waitFor(QUICK);
        return hover;
      } catch (error) {
        if (!(error instanceof errors.TimeoutError) || tries === MAX_TRIES) throw error;
      }
    }
  }

  /** The modal dialog that is open. */
  get dialog(): Locator {
    return this.page.locator('.monaco-dialog-box');
  }

  /** A status bar item by its id (`publisher.extension.itemId`). */
  statusItem(id: string): Locator {
    return this.page.locator(`.statusbar-item[id="${id}"]`);
  }

  /** The document of the webview that is shown. */
  webview(): FrameLocator {
    return this.page.frameLocator('iframe.webview.ready').frameLocator('iframe#active-frame');
  }

  /** Waits until the webview that is shown has the focus: it takes that when it has loaded, also from what was opened meanwhile. */
  async webviewFocused(): Promise<void> {
    await this.webview().locator('body').evaluate(`new Promise((resolve) => {
      const look = () => (document.hasFocus() ? resolve() : requestAnimationFrame(look));
      look();
    })`);
  }

  /**
   * Notifications that are shown, all or those with that text. The editor hides them after ten seconds: what is looked at
   * later is looked for in the {@link notifications}.
   */
  toast(text?: string | RegExp): Locator {
    return this.page.locator('.notification-toast', text === undefined ? {} : { hasText: text });
  }

  /** Opens the list of all notifications that nobody has dismissed; those with that text in it. */
  async notifications(text: string | RegExp): Promise<Locator> {
    await this.palette('Notifications: Show Notifications');
    return this.page.locator('.notifications-center .notification-list-item', { hasText: text });
  }

  /** Dismisses all notifications, also those that are hidden. */
  async dismissNotifications(): Promise<void> {
    await this.palette('Notifications: Clear All Notifications');
    await this.toast().first().waitFor({ state: 'detached' });
  }

  /** Code lenses in the editors that are shown. */
  codeLens(text: string | RegExp): Locator {
    return this.page.locator('.codelens-decoration', { hasText: text });
  }

  /** Switches the colour theme as a person does, and waits until it shows. */
  async useTheme(theme: Theme): Promise<void> {
    const themed = this.page.locator(`.monaco-workbench.${THEMES[theme]}`);
    if ((await themed.count()) > 0) return;
    await this.palette('Preferences: Color Theme');
    // The list comes in the place of the palette's, and shows only some of its rows.
    await this.quickRows('Modern').first().waitFor();
    await this.quickInput.fill(LABELS[theme]);
    await this.quickPick(LABELS[theme]);
    await themed.waitFor();
    await this.quickInput.waitFor({ state: 'hidden' });
  }

  /** Takes a picture of the window into `out/screenshots/`; returns its path. */
  async screenshot(name: string): Promise<string> {
    const file = path.join(OUT, 'screenshots', `${name}.png`);
    mkdirSync(path.dirname(file), { recursive: true });
    await this.page.screenshot({ path: file });
    return file;
  }

  /** Prints what the open windows show and where the focus is, and takes pictures of them: a failure elsewhere leaves nothing else. */
  static async tellWhatIsShown(name: string): Promise<void> {
    for (const workbench of opened) {
      if (workbench.#page === undefined) continue;
      await workbench.screenshot(`failed ${name.replaceAll(/[^\w ]+/gu, ' ').slice(0, 80)}`);
      console.log(`What the window shows: ${JSON.stringify(await workbench.#page.evaluate(whatIsShown), null, 2)}`);
      console.log(`All notifications: ${JSON.stringify(await workbench.#allNotifications(), null, 2)}`);
    }
  }

  /** The texts of those that nobody has dismissed, also of those that are hidden; an error in their place. */
  async #allNotifications(): Promise<readonly string[]> {
    try {
      const texts = await (await this.notifications(/./u)).allTextContents();
      await this.palette('Notifications: Hide Notifications');
      return texts;
    } catch (error) {
      return [String(error)];
    }
  }

  /** Ends window, browser and server, and deletes the data. */
  async close(): Promise<void> {
    opened.delete(this);
    await this.#browser.close();
    await this.#server.stop();
    this.data.dispose();
  }
}

/**
 * Waits until a window has all that it shows. These are the workbench's own performance marks: extensions' contributions are listed, and
 * its own of the last phase before the window rests are made, such as the key that says whether the folder is trusted; on a busy
 * machine they come long after the rest.
 */
async function shown(page: Page): Promise<void> {
  await page.locator('.monaco-workbench').waitFor();
  for (const mark of ['code/didLoadExtensions', 'code/didCreateWorkbenchContributions/3'])
    await page.waitForFunction(`performance.getEntriesByName('${mark}').length > 0`, undefined, {
      timeout: START_LIMIT_MS,
    });
}

/** What has the focus, and the texts of what may lie over everything else. Runs in the page. */
const whatIsShown = `(() => {
  const texts = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility()).map((each) => each.innerText);
  const focused = document.activeElement;
  return {
    focused: focused === null ? null : focused.tagName + '.' + focused.className + ' ' + (focused.getAttribute('aria-label') ?? ''),
    pageHasFocus: document.hasFocus(),
    dialogs: texts('.monaco-dialog-box'),
    quickInput: texts('.quick-input-widget'),
    notifications: texts('.notification-toast'),
    panel: texts('.part.panel'),
    sideBar: texts('.part.sidebar'),
    tabs: texts('.tab'),
    statusBar: texts('.part.statusbar'),
  };
})()`;

/** What {@link atRest} needs of the browser that it runs in. */
interface Drawn {
  readonly isConnected: boolean;
  readonly textContent: string | null;
  getBoundingClientRect(): unknown;
}

declare const requestAnimationFrame: (frame: () => void) => void;

/**
 * Resolves once an element was the same, where it is and what it says, for ten frames. Runs in the page, so it names no
 * function: a script runner would wrap it in a helper that the page doesn't have.
 */
async function atRest(element: Drawn): Promise<void> {
  let [last, same] = ['', 0];
  while (same < 10 && element.isConnected) {
    await new Promise<void>((resolve) => requestAnimationFrame(resolve));
    const now = JSON.stringify([element.getBoundingClientRect(), element.textContent]);
    [last, same] = [now, now === last ? same + 1 : 0];
  }
}
