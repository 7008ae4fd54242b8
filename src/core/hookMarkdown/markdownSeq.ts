/** The journal sequence number that a HOOK.md was made at; `undefined` if its footer doesn't say. */
export function markdownSeq(markdown: string): number | undefined {
  const found = /\u00b7 journal seq (\d{1,15})\*\s*$/u.exec(markdown);
  return found?.[1] === undefined ? undefined : Number(found[1]);
}
