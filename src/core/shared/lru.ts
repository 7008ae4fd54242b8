import type { Clock } from './ports';

/** For how long what nobody asks for is kept at least, in ms; at most it is twice that. */
const KEPT_MS = 120_000;

/** Values that were asked for lately. A window stays open for weeks while tasks come and go. */
export class RecentCache<T> {
  private values = new Map<string, T>();
  private older = new Map<string, T>();
  private turned = 0;

  constructor(private readonly clock: Clock) {}

  get(key: string): T | undefined {
    const now = this.clock.now();
    if (Math.abs(now - this.turned) > KEPT_MS) {
      [this.older, this.values, this.turned] = [this.values, new Map<string, T>(), now];
    }
    const value = this.values.get(key) ?? this.older.get(key);
    if (value !== undefined) this.values.set(key, value);
    return value;
  }

  set(key: string, value: T): void {
    this.values.set(key, value);
  }
}

/** At most `limit` values, the one that was asked for longest ago forgotten first. */
export class LruCache<V> {
  private readonly entries = new Map<string, V>();

  constructor(private readonly limit: number) {}

  get(key: string): V | undefined {
    const value = this.entries.get(key);
    if (value === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, value);
    return value;
  }

  /** Returns the value that is forgotten for it, if one is. */
  set(key: string, value: V): V | undefined {
    this.entries.delete(key);
    this.entries.set(key, value);
    const [oldest] = this.entries.size > this.limit ? this.entries : [];
    if (oldest !== undefined) this.entries.delete(oldest[0]);
    return oldest?.[1];
  }

  delete(key: string): void {
    this.entries.delete(key);
  }

  /** The values, the one that was asked for longest ago first. */
  values(): readonly V[] {
    return [...this.entries.values()];
  }
}
