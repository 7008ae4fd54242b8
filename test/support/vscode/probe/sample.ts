import { readFileSync, readdirSync } from 'node:fs';
import { EventEmitter } from 'node:events';
import * as v8 from 'node:v8';
import { runInNewContext } from 'node:vm';
import type * as vscode from 'vscode';

/** What an extension host holds, after a collection. */
export interface Sample {
  /** JavaScript heap in use, MB. */
  readonly heap: number;
  /** Memory outside of the heap that JavaScript objects hold (buffers, WebAssembly), MB. */
  readonly external: number;
  /** Resident memory of the process, MB. */
  readonly rss: number;
  /** Open file descriptors. */
  readonly descriptors: number;
  readonly inotifyWatches: number;
  /** What keeps the event loop: handles, requests and timers. */
  readonly resources: number;
  /** Listeners on VS Code's own events, of all extensions and of the host. */
  readonly listeners: number;
  /** Living event emitters of Node: streams, sockets, watchers, processes. */
  readonly emitters: number;
}

const MB = 1024 * 1024;

/** Present since Node 20.13; `@types/node` knows it later. */
type QueryObjects = (constructor: unknown) => number;
const { queryObjects } = v8 as unknown as { queryObjects: QueryObjects };

v8.setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;

/**
 * The class in which VS Code keeps each listener. It isn't exported, but an emitter with one listener holds one of its
 * instances.
 */
function listenerClass(probe: vscode.EventEmitter<void>): unknown {
  const listener = (): void => undefined;
  const subscription = probe.event(listener);
  const holder: unknown = Object.values(probe).find(
    (value: unknown) =>
      typeof value === 'object' && value !== null && 'value' in value && typeof value.value === 'function',
  );
  subscription.dispose();
  if (typeof holder !== 'object' || holder === null) throw new Error('VS Code keeps listeners in another way now');
  return holder.constructor;
}

function inotifyWatches(): number {
  const infos = readdirSync('/proc/self/fdinfo').map((fd) => {
    try {
      return readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8');
    } catch {
      return ''; // the one that the listing itself had open
    }
  });
  return infos.join('\n').match(/^inotify /gmu)?.length ?? 0;
}

/** Collects garbage and looks. Linux only. @param probe a fresh emitter of VS Code's */
export function takeSample(probe: vscode.EventEmitter<void>): Sample {
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  return {
    heap: heapUsed / MB,
    external: external / MB,
    rss: rss / MB,
    descriptors: readdirSync('/proc/self/fd').length,
    inotifyWatches: inotifyWatches(),
    resources: process.getActiveResourcesInfo().length,
    listeners: queryObjects(listenerClass(probe)),
    emitters: queryObjects(EventEmitter),
  };
}
