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
const made = new WeakMap<Node, Child>();

/** Whether two descriptions say the same; at once for one that is used again. */
function equal(a: Child, b: Child): boolean {
  if (a === b) return true;
  if (typeof a === 'string' || typeof b === 'string') return false;
  if (a.tag !== b.tag || a.svg !== b.svg || a.key !== b.key || a.opaque !== b.opaque) return false;
  const names = Object.keys(a.attributes);
  return (
    names.length === Object.keys(b.attributes).length &&
    names.every((name) => a.attributes[name] === b.attributes[name]) &&
    a.children.length === b.children.length &&
    a.children.every((child, at) => equal(child, b.children[at] ?? ''))
  );
}

function create(child: Child): Node {
  if (typeof child === 'string') {
    const text = document.createTextNode(child);
    made.set(text, child);
    return text;
  }
  const element = child.svg ? document.createElementNS(SVG, child.tag) : document.createElement(child.tag);
  for (const [name, value] of Object.entries(child.attributes)) element.setAttribute(name, value);
  if (!child.opaque) for (const each of child.children) element.append(create(each));
  made.set(element, child);
  return element;
}

function canBecome(dom: Node, child: Child): boolean {
  const before = made.get(dom);
  if (before === undefined) return false;
  if (typeof before === 'string' || typeof child === 'string') return typeof before === typeof child;
  return before.tag === child.tag && before.svg === child.svg && before.key === child.key;
}

function update(dom: Node, child: Child): void {
  const before = made.get(dom);
  if (before !== undefined && equal(before, child)) return;
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
  made.set(dom, child);
}

/**
 * Makes the children of an element what they should be, touching only what differs: what stays keeps focus, selection
 * and scroll position, and what begins and ends the same is not even looked into.
 */
export function patch(parent: Element, next: readonly Child[]): void {
  const old = [...parent.childNodes];
  const same = (dom: Node | undefined, at: number): boolean => {
    const [before, after] = [dom && made.get(dom), next[at]];
    return before !== undefined && after !== undefined && equal(before, after);
  };
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
