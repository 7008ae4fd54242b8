const SESSION_ID = /^[A-Za-z0-9][A-Za-z0-9_.:@+-]{0,199}$/u;

/** A text that can name a session; it becomes part of files. */
export function sessionIdOf(text: string | undefined): string | undefined {
  return text !== undefined && SESSION_ID.test(text) ? text : undefined;
}
