import { cut } from '../shared/text';

/** What CI systems read from a log as an order: GitHub and Gitea (`::`, `##[`), Azure Pipelines, TeamCity. */
const WORKFLOW_COMMAND = /:(?=:)|#(?=#(?:\[|vso\[|teamcity\[))/gu;

/** Shown as they are within backticks: printable, and no backtick among them. */
const PLAIN = /^[!-_a-~](?:[ -_a-~]*[!-_a-~])?$/u;

/**
 * The text of others with what a CI system would act on broken, as an escape of JSON: `::set-output` becomes
 * `\u003a:set-output`.
 */
export function withoutOrders(text: string): string {
  return text.replace(WORKFLOW_COMMAND, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** A text of others, in quotes and on one line: what can't be seen, or would be acted on, is escaped as in JSON. */
function quotedForeign(text: string, max: number): string {
  const escaped = JSON.stringify(cut(text, max)).replace(/(?! )[\p{C}\p{Z}\p{DI}]/gu, (character) =>
    Array.from({ length: character.length }, (_, index) => character.charCodeAt(index))
      .map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`)
      .join(''),
  );
  return `${withoutOrders(escaped)}${text.length > max ? '…' : ''}`;
}

/** A command of others as a log may have it: in backticks where it is plain, else in quotes and escaped. */
export function foreignCommand(text: string, max = 200): string {
  const isPlain = PLAIN.test(text) && text.length <= max && withoutOrders(text) === text;
  return isPlain ? `\`${text}\`` : quotedForeign(text, max);
}

/** A name or path of others as a log may have it: bare where it can only be a name, else in quotes and escaped. */
export function foreignName(text: string, max = 200): string {
  return /^[\p{L}\p{N}_][\p{L}\p{N} ._/@+-]*$/u.test(text) && text.length <= max && !text.endsWith(' ')
    ? text
    : quotedForeign(text, max);
}

/** Letters, digits and what means nothing to Markdown or to a forge's comments: everything else is an entity. */
const NOT_PLAIN = /[^\p{L}\p{N} ./,=]/gu;

/** A text of others as a comment in Markdown may have it: code, in which nothing is a link, a mention or markup. */
export function markdownCode(text: string, max = 200): string {
  const quoted = quotedForeign(text, max);
  const shown = quoted === `"${text}"` ? text : quoted;
  return `<code>${shown.replace(NOT_PLAIN, (character) => `&#${String(character.codePointAt(0))};`)}</code>`;
}
