/** An element as it should be. `key` finds it again among its siblings. */
export interface VNode {
  readonly tag: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: readonly Child[];
  readonly svg: boolean;
  readonly key: string | undefined;
  /** Its content is somebody else's: it is left alone. */
  readonly opaque: boolean;
}

/** An element or a text; a text is never parsed. */
export type Child = VNode | string;

/** What can stand among children: lists are flattened, and `undefined` is nothing. */
export type Part = Child | undefined | readonly Part[];

/** Attributes; `undefined` leaves one out. `key` and `opaque` are for the patching. */
export type Attributes = Readonly<Record<string, string | undefined>> & { readonly key?: string; readonly opaque?: '' };

const SVG = 'http://www.w3.org/2000/svg';

function isList(part: Part): part is readonly Part[] {
  return Array.isArray(part);
}

function flatten(parts: readonly Part[]): Child[] {
  return parts.flatMap((part) => (part === undefined ? [] : isList(part) ? flatten(part) : [part]));
}

function node(svg: boolean, tag: string, given: Attributes, parts: readonly Part[]): VNode {
  const { key, opaque, ...rest } = given;
  const attributes: Record<string, string> = {};
  for (const [name, value] of Object.entries(rest)) if (value !== undefined) attributes[name] = value;
  return { tag, attributes, children: flatten(parts), svg, key, opaque: opaque !== undefined };
}

/** Describes an HTML element. */
export function h(tag: string, attributes: Attributes = {}, ...parts: readonly Part[]): VNode {
  return node(false, tag, attributes, parts);
}

/** Describes an SVG element. */
export function s(tag: string, attributes: Attributes = {}, ...parts: readonly Part[]): VNode {
  return node(true, tag, attributes, parts);
}

/** What each node was made from, to see at once what is the same. */
const made = new WeakMap<Node, { readonly child: Child; readonly signature: string }>();

function signatureOf(child: Child): string {
  return typeof child === 'string' ? `t${child}` : `e${JSON.stringify(child)}`;
}

function remember(dom: Node, child: Child): void {
  made.set(dom, { child, signature: signatureOf(child) });
}

function create(child: Child): Node {
  if (typeof child === 'string') {
    const text = document.createTextNode(child);
    remember(text, child);
    return text;
  }
  const element = child.svg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  for (const [name, value] of Object.entries(child.attributes)) element.setAttribute(name, value);
  if (!child.opaque) for (const each of child.children) element.append(create(each));
  remember(element, child);
  return element;
}

function canBecome(dom: Node, child: Child): boolean {
  const before = made.get(dom)?.child;
  if (before === undefined) return false;
  if (typeof before === 'string' || typeof child === 'string') return typeof before === typeof child;
  return before.tag === child.tag && before.svg === child.svg && before.key === child.key;
}

function update(dom: Node, child: Child): void {
  if (made.get(dom)?.signature === signatureOf(child)) return;
  if (typeof child === 'string') {
    (dom as Text).data = child;
  } else {
    const element = dom as Element;
    for (const { name } of [...element.attributes]) if (!(name in child.attributes)) element.removeAttribute(name);
    for (const [name, value] of Object.entries(child.attributes)) {
      if (element.getAttribute(name) !== value) element.setAttribute(name, value);
    }
    if (!child.opaque) patch(element, child.children);
  }
  remember(dom, child);
}

/**
 * Makes the children of an element what they should be, touching only what differs: what stays keeps focus, selection
 * and scroll position, and what begins and ends the same is not even looked into.
 */
export function patch(parent: Element, next: readonly Child[]): void {
  const signatures = next.map(signatureOf);
  const old = [...parent.childNodes];
  const same = (dom: Node | undefined, at: number): boolean =>
    dom !== undefined && made.get(dom)?.signature === signatures[at];
  let start = 0;
  while (start < old.length && start < next.length && same(old[start], start)) start += 1;
  let end = 0;
  while (
    end < old.length - start &&
    end < next.length - start &&
    same(old[old.length - 1 - end], next.length - 1 - end)
  ) {
    end += 1;
  }
  patchMiddle(parent, old.slice(start, old.length - end), next.slice(start, next.length - end), old[old.length - end]);
}

function patchMiddle(parent: Element, old: readonly Node[], next: readonly Child[], before: Node | undefined): void {
  const left = [...old];
  const targets = next.map((child) => {
    const at = left.findIndex((dom) => canBecome(dom, child));
    return at === -1 ? undefined : left.splice(at, 1)[0];
  });
  // What goes is taken out first: then what stays in order never moves, and moving would cost it the focus.
  for (const dom of left) dom.parentNode?.removeChild(dom);
  let following: Node | null = before ?? null;
  for (let at = next.length - 1; at >= 0; at -= 1) {
    const child = next[at];
    if (child === undefined) continue;
    const target = targets[at];
    const dom = target ?? create(child);
    if (target !== undefined) update(target, child);
    if (dom.nextSibling !== following || dom.parentNode !== parent) parent.insertBefore(dom, following);
    following = dom;
  }
}
