import * as vscode from 'vscode';
import { LruCache } from '../../core/shared/lru';

/** So many are kept, those that were asked for last: more than the editor shows at once. */
const KEPT = 10_000;

interface BoundCommand {
  readonly id: string;
  readonly registration: vscode.Disposable;
}

/**
 * Commands without arguments, each of which calls another one with an argument. The editor keeps the arguments of what it
 * shows (a code lens, a row) apart from it, and drops them before it shows what comes in its place: a click in between
 * would fail. A command's id has no such second half.
 */
export class BoundCommands implements vscode.Disposable {
  private readonly bound = new LruCache<BoundCommand>(KEPT);
  private count = 0;

  /** The id of a command that calls `command` with `argument`, which JSON can tell from others. */
  idOf(command: string, argument: object): string {
    const key = JSON.stringify([command, argument]);
    const known = this.bound.get(key);
    if (known !== undefined) return known.id;
    const made = this.register(command, argument);
    this.bound.set(key, made)?.registration.dispose();
    return made.id;
  }

  private register(command: string, argument: object): BoundCommand {
    this.count += 1;
    const id = `${command}.${this.count}`;
    const registration = vscode.commands.registerCommand(id, async () =>
      vscode.commands.executeCommand(command, argument),
    );
    return { id, registration };
  }

  dispose(): void {
    for (const { registration } of this.bound.values()) registration.dispose();
  }
}
