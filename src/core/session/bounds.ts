import { MAX_RECORD_BYTES, type SessionRecord } from './sessionRecord';

/** How many bytes a record takes as it is written. */
export function recordBytes(record: SessionRecord): number {
  return new TextEncoder().encode(JSON.stringify(record)).length;
}

const LISTS = ['files', 'commands', 'compactions'] as const;

/** A record that fits: of the largest list, the older half is folded into its count until it does. */
export function bounded(record: SessionRecord, max: number = MAX_RECORD_BYTES): SessionRecord {
  let result = record;
  while (recordBytes(result) > max) {
    const current = result;
    const size = (name: (typeof LISTS)[number]): number => JSON.stringify(current[name]).length;
    const largest = [...LISTS].sort((a, b) => size(b) - size(a))[0] ?? 'files';
    const list = current[largest];
    if (list.length === 0) return emptied(current, max);
    const drop = Math.ceil(list.length / 2);
    const folded = { ...current.folded, [largest]: current.folded[largest] + drop };
    result = { ...current, [largest]: list.slice(drop), folded };
  }
  return result;
}

/** Without what is told elsewhere, for records whose other parts are too large by themselves. */
function emptied(record: SessionRecord, max: number): SessionRecord {
  const { list: _list, changes, base, ...rest } = record;
  const small: SessionRecord = {
    ...rest,
    ...(changes === undefined ? {} : { changes: { ...changes, files: changes.files.slice(0, 100) } }),
    ...(base === undefined ? {} : { base: { ...base, dirty: base.dirty.slice(0, 100) } }),
  };
  return recordBytes(small) <= max ? small : { ...rest, tools: [] };
}
