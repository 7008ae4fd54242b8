import * as z from 'zod/mini';
import { isZeroTime, normalizeTimestamp } from '../shared/time';

/** A time of any zone and precision, normalised to UTC on reading. */
export const timestamp = z.pipe(
  z.string(),
  z.transform((text, context) => {
    const normal = normalizeTimestamp(text);
    if (normal !== undefined) return normal;
    context.issues.push({ code: 'custom', message: 'not an RFC 3339 time', input: text });
    return z.NEVER;
  }),
);

/** As `timestamp`, but Go's zero time and null read as absent. */
export const optionalTimestamp = z.optional(
  z.pipe(
    z.nullish(z.string()),
    z.transform((text, context) => {
      if (text === null || text === undefined || text === '' || isZeroTime(text)) return undefined;
      const normal = normalizeTimestamp(text);
      if (normal !== undefined) return normal;
      context.issues.push({ code: 'custom', message: 'not an RFC 3339 time', input: text });
      return z.NEVER;
    }),
  ),
);

/** A list for which `null`, as Go writes an empty one, reads as empty. */
export function listOf<T extends z.core.$ZodType>(item: T) {
  return z.pipe(
    z.nullish(z.array(item)),
    z.transform((list) => list ?? []),
  );
}

/** A list that may be left out; `null` reads as empty. */
export function optionalListOf<T extends z.core.$ZodType>(item: T) {
  return z.optional(listOf(item));
}

/** A text that may be left out; `null` reads as absent. */
export const optionalText = z.optional(
  z.pipe(
    z.nullish(z.string()),
    z.transform((text) => text ?? undefined),
  ),
);
