import { type ComponentChild, type ComponentChildren, type VNode, Fragment, createElement, render } from 'preact';

export type { VNode };

/** An element or a text; a text is never parsed. */
export type Child = ComponentChild;

/** What can stand among children: lists are flattened, and `undefined` is nothing. */
export type Part = ComponentChildren;

/** Attributes by their names in HTML and SVG; `undefined` leaves one out, and `key` finds an element again among its siblings. */
export type Attributes = Readonly<Record<string, string | boolean | undefined>>;

/** Describes an element. */
export function h(tag: string, attributes: Attributes = {}, ...parts: readonly Part[]): VNode {
  return createElement(tag, attributes, ...parts);
}

/**
 * Makes the children of an element what they should be, touching only what differs: what stays keeps focus, selection
 * and scroll position.
 */
export function show(parent: Element, children: readonly Child[]): void {
  render(createElement(Fragment, null, ...children), parent);
}
