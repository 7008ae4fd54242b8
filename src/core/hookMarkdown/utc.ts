/** `2026-01-17T14:45:33Z`: to the second, as people and agents read it. */
export function utc(timestamp: string): string {
  return timestamp.replace(/\.\d+Z$/u, 'Z');
}
