/** A line of the table: something measured, what it is compared with in the same run, and the bar it has to clear. */
export interface Row {
  readonly what: string;
  readonly amount: number;
  /** `ms` unless given. */
  readonly unit?: 'ms' | 'µs' | 'MB';
  readonly beside?: {
    readonly what: string;
    readonly amount: number;
    /** How the ratio is read: how many times the other (`times`), or how many times faster or less than it. */
    readonly ratio: 'times' | 'faster' | 'less';
  };
  readonly bar?: { readonly text: string; readonly met: boolean };
}

/** The middle one of some numbers. */
export function medianOf(numbers: readonly number[]): number {
  const sorted = [...numbers].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? NaN;
}

/** What only one in twenty of some numbers is above. */
export function percentile95(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length * 0.95)] ?? NaN;
}

const RUNS = 40;
const WARM_UP = 5;

/** How long something takes, in ms. */
export async function timed(run: () => unknown): Promise<number> {
  const start = performance.now();
  await run();
  return performance.now() - start;
}

/** The median of `runs` runs in ms, after a warm-up. */
export async function median(run: () => unknown, runs = RUNS): Promise<number> {
  const times: number[] = [];
  for (let count = 0; count < runs + WARM_UP; count += 1) {
    const time = await timed(run);
    if (count >= WARM_UP) times.push(time);
  }
  return medianOf(times);
}

function short(amount: number): string {
  return amount >= 100 ? amount.toFixed(0) : amount >= 10 ? amount.toFixed(1) : amount.toFixed(2);
}

function ratioOf({ amount, beside }: Row): string {
  if (beside === undefined) return '';
  if (beside.ratio === 'times') return `${short(amount / beside.amount)} times`;
  return `${short(beside.amount / amount)} times ${beside.ratio}`;
}

/** Prints the rows as one table. */
export function print(rows: readonly Row[]): void {
  console.table(
    rows.map((row) => ({
      what: row.what,
      measured: `${short(row.amount)} ${row.unit ?? 'ms'}`,
      beside: row.beside === undefined ? '' : `${row.beside.what}: ${short(row.beside.amount)} ${row.unit ?? 'ms'}`,
      ratio: ratioOf(row),
      bar: row.bar === undefined ? '' : `${row.bar.text}: ${row.bar.met ? 'pass' : 'FAIL'}`,
    })),
  );
}
