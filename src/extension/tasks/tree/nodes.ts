import type { TaskRef } from '../../../core/task/taskRef';

/** What a row of the Tasks tree stands for. Commands get these as arguments, and check them again. */
export type TreeNode =
  | { readonly kind: 'needsYou' }
  | { readonly kind: 'workspace'; readonly workspace: string }
  | { readonly kind: 'task'; readonly ref: TaskRef }
  | { readonly kind: 'step'; readonly ref: TaskRef; readonly index: number }
  | { readonly kind: 'checkpoint'; readonly ref: TaskRef; readonly id: string }
  | { readonly kind: 'receipt'; readonly ref: TaskRef; readonly id: string }
  | { readonly kind: 'points'; readonly ref: TaskRef }
  | { readonly kind: 'history'; readonly ref: TaskRef }
  | { readonly kind: 'event'; readonly ref: TaskRef; readonly index: number }
  | { readonly kind: 'finished'; readonly workspace: string }
  | { readonly kind: 'more'; readonly workspace: string; readonly shown: number };

/** A stable id of a row, so that it stays open and selected over a refresh. */
export function nodeId(node: TreeNode): string {
  switch (node.kind) {
    case 'needsYou':
      return node.kind;
    case 'workspace':
    case 'finished':
      return `${node.kind}:${node.workspace}`;
    case 'more':
      return `more:${node.workspace}:${node.shown}`;
    case 'task':
    case 'points':
    case 'history':
      return `${node.kind}:${node.ref.workspace}/${node.ref.id}`;
    case 'step':
    case 'event':
      return `${node.kind}:${node.ref.workspace}/${node.ref.id}:${node.index}`;
    case 'checkpoint':
    case 'receipt':
      return `${node.kind}:${node.ref.workspace}/${node.ref.id}:${node.id}`;
  }
}
