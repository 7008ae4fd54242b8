import type { PanelMessage, Parser } from '../../src/protocol/panel';
import { showAges, tickAges } from './ages';
import { requestKey } from './buttons';
import { RequestError, Requests, hostApi } from './connection';
import { type Child, show } from './dom';
import type { Failure } from './failure';

const NO_ANSWER = "The extension doesn't answer.";

/** What every page needs of its model. */
interface Model {
  readonly announcement: string;
  readonly strings: { readonly timedOut: string };
}

/** What every page is drawn from. */
export interface PageState<M> {
  readonly model: M | undefined;
  /** Why the task can't be read now. */
  readonly unavailable: Failure | undefined;
  /** Why the last request came to nothing. */
  readonly failure: Failure | undefined;
  /** The requests that are under way, by `requestKey`. */
  readonly busy: ReadonlySet<string>;
}

/** How a page begins. */
export function emptyPage<M>(): PageState<M> {
  return { model: undefined, unavailable: undefined, failure: undefined, busy: new Set() };
}

/** What makes a page the page of its panel. */
export interface PageParts<S, Own, Request> {
  readonly initial: S;
  readonly view: (state: S) => readonly Child[];
  /** Where the focus goes when what had it is gone. */
  readonly refuge: string;
  readonly messages: Parser<Own | PanelMessage>;
  readonly requests: Parser<Request>;
  /** Takes a message that is the panel's own. */
  readonly take: (message: Own) => void;
  /** Does what needs no host; says whether that was what was clicked. */
  readonly local?: (name: string) => boolean;
  /** Called when the page shows its state. */
  readonly drawn?: () => void;
}

/** A panel's page: draws its state, sends what is clicked, takes what the host says. */
export class Page<M extends Model, S extends PageState<M>, Own extends { readonly type: string }, Request> {
  readonly host = hostApi();
  readonly element = document.createElement('main');
  private readonly live = document.createElement('div');
  private current: S;
  private readonly requests: Requests<Request>;

  constructor(private readonly parts: PageParts<S, Own, Request>) {
    this.current = parts.initial;
    this.live.className = 'hidden';
    this.live.setAttribute('role', 'status');
    this.requests = new Requests(
      (message) => {
        this.host.postMessage(message);
      },
      () => this.current.model?.strings.timedOut ?? NO_ANSWER,
    );
  }

  get state(): S {
    return this.current;
  }

  /** Puts the page up and tells the host that it is there. */
  open(): void {
    document.querySelector('#root')?.append(this.live, this.element);
    const onClick = this.onClick.bind(this);
    this.element.addEventListener('click', onClick);
    this.element.addEventListener('auxclick', onClick);
    window.addEventListener('message', (event: MessageEvent<unknown>) => {
      this.receive(event.data);
    });
    tickAges();
    this.host.postMessage({ type: 'ready' });
  }

  /** Changes the state and draws what differs. */
  show(change: Partial<S>): void {
    const focused = document.activeElement;
    const hadFocus = focused instanceof HTMLElement && this.element.contains(focused);
    const before = this.current.model?.announcement;
    this.current = { ...this.current, ...change };
    show(this.element, this.parts.view(this.current));
    showAges();
    this.parts.drawn?.();
    // A button that had the focus and is gone: the next Tab goes on from where it was, not from the top. Only where the
    // keyboard is in this page: an element remains the active one of a page that has lost the focus, and to focus
    // another would take the keyboard from an input box that the person types into.
    if (hadFocus && document.hasFocus() && !this.element.contains(focused)) {
      this.element.querySelector<HTMLElement>(this.parts.refuge)?.focus({ preventScroll: true });
    }
    const now = this.current.model?.announcement;
    if (before !== undefined && now !== undefined && before !== now) this.live.textContent = now;
  }

  /** Sends a request, once at a time, and shows why it came to nothing. */
  send(request: Request): void {
    const key = requestKey(request);
    if (this.current.busy.has(key)) return;
    this.showBase({ busy: new Set([...this.current.busy, key]), failure: undefined });
    const settled = (failure?: Failure): void => {
      const busy = new Set([...this.current.busy].filter((each) => each !== key));
      this.showBase({ busy, ...(failure && { failure }) });
    };
    this.requests.send(request).then(
      () => {
        settled();
      },
      (error: unknown) => {
        settled(error instanceof RequestError ? error : { message: NO_ANSWER, hint: undefined });
      },
    );
  }

  /** Clicks on links end here: the host opens them, and the editor's own handling would open them twice. */
  onClick(event: Event): void {
    const target = event.target instanceof Element ? event.target.closest<HTMLElement>('[data-do]') : null;
    const name = target?.dataset['do'];
    if (name === undefined) return;
    // Of the other buttons, only the middle one on a link asks for something.
    const other = event instanceof MouseEvent && event.button !== 0;
    if (other && (event.button !== 1 || !(target instanceof HTMLAnchorElement))) return;
    event.preventDefault();
    event.stopPropagation();
    if (target?.getAttribute('aria-disabled') === 'true') return;
    if (name === 'dismiss') this.showBase({ failure: undefined });
    else if (this.parts.local?.(name) !== true) this.sendNamed(name);
  }

  private sendNamed(name: string): void {
    const request = this.parts.requests.safeParse(JSON.parse(name));
    if (request.success) this.send(request.data);
  }

  private receive(data: unknown): void {
    const message = this.parts.messages.safeParse(data);
    if (!message.success) return;
    const told = message.data;
    if (!isCommon(told)) this.parts.take(told);
    else if (told.type === 'response') this.requests.settle(told.response);
    else this.showBase({ unavailable: { message: told.message, hint: told.hint } });
  }

  private showBase(change: Partial<PageState<M>>): void {
    this.show(change as Partial<S>);
  }
}

function isCommon(message: { readonly type: string }): message is PanelMessage {
  return message.type === 'response' || message.type === 'unavailable';
}
