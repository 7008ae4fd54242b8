/** What stands where a secret stood. */
export const REDACTED = '[redacted]';

/**
 * Secrets that are told by how they begin, after what stays. The prefixes are the makers' own; see
 * https://docs.github.com/en/code-security/secret-scanning/introduction/supported-secret-scanning-patterns. No pattern
 * begins in the middle of a run that it could match, and none repeats without a bound: what agents are asked may be
 * written to make this slow.
 */
const KNOWN: readonly RegExp[] = [
  // A whole key, and one whose end is missing.
  /()-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----[^]*?(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|$)/gu,
  /()\bAGE-SECRET-KEY-1[0-9A-Z]{20,}/gu,
  // OpenAI, Anthropic, OpenRouter and others: sk-, sk-ant-, sk-proj-; Stripe: sk_live_, rk_test_.
  /()(?<![\w-])sk-[A-Za-z0-9_-]{16,}/gu,
  /()\b(?:sk|rk|pk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}/gu,
  /()\b(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_\w{20,})/gu,
  /()(?<![\w-])(?:glpat|gldt|glrt|glcbt)-[\w-]{16,}/gu,
  /()\b(?:AKIA|ASIA|AROA|AIDA)[A-Z0-9]{16}\b/gu,
  /()(?<![\w-])AIza[\w-]{30,}/gu,
  /()\bya29\.[\w-]{20,}/gu,
  /()(?<![\w-])xox[abeoprs]-[A-Za-z0-9-]{10,}/gu,
  /()(?<![\w-])xapp-\d-[A-Za-z0-9-]{10,}/gu,
  /()\bnpm_[A-Za-z0-9]{30,}/gu,
  /()(?<![\w-])pypi-[\w-]{30,}/gu,
  /()\bhf_[A-Za-z0-9]{20,}/gu,
  /()(?<![\w.-])(?:gsk|xai|pplx|r8|nvapi|dop_v1|lin_api|figd|shpat|SG)[-_.][\w.-]{20,}/gu,
  /()(?<![\w-])eyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?/gu,
  // https://user:password@host
  /((?<![a-z0-9+.-])[a-z][a-z0-9+.-]{1,20}:\/\/[^\s:/@"'<>]{0,100}:)[^\s@/"'<>]{1,300}(?=@)/giu,
  /(\bauthorization\b["']?\s{0,3}[:=]\s{0,3}["']?(?:(?:bearer|basic|token|digest)\s{1,3})?)(?!(?:bearer|basic|token|digest)\b)[\w.~+/=-]{6,}/giu,
  /(\bbearer\s{1,3})[\w.~+/=-]{12,}/giu,
  /((?<=^|\s)(?:-u|--user|--proxy-user)[\s=]{1,3}["']?[^\s:"']{1,100}:)[^\s"']{1,200}/gu,
  // In files of settings, what names end in, whatever it is for.
  /((?<=^|[\s"'])[A-Z][A-Z0-9_]{0,80}_(?:KEY|PASS|PAT|DSN)\s{0,3}=\s{0,3})(?!\s*\[redacted\])[^\s$"']{1,2000}/gu,
];

/** A name with what ties a value to it: `token=`, `"apiKey": `, `export DB_PASSWORD=`, `--token=`. */
const ASSIGNED = /(?<![\w.-])(-{0,2}[A-Za-z_][\w.-]{0,80})(\\?["']?\s{0,3}(?::=|=>|[:=])\s{0,3})/gu;
/** An option before its value: `--password `. */
const OPTION = /(?<![\w.-])(-{1,2}[A-Za-z][\w.-]{0,80})(\s{1,3})(?!-)/gu;
/** A value ends where a shell, a file of settings or JSON ends it; a variable that holds one is none. */
const VALUE =
  /\\"(?:(?!\\")[^\n]){1,1000}\\"|"(?:[^"\\\n]|\\.){1,1000}"|'[^'\n]{1,1000}'|[^\s"'`$<>|;&,(){}[\]\\]{1,1000}/uy;
const SECRET_NAME =
  /api[-_]?key|access[-_]?key|account[-_]?key|secret|token|passwd|password|passphrase|pwd$|credential|private[-_]?key|auth[-_]?key|encryption[-_]?key|signing[-_]?key|connection[-_]?string/iu;
/** What names the like of a secret, but no secret. */
const HARMLESS_NAME = /(?:tokens|limit|count|length|size|type|name|file|path|url|policy|field|input)$/iu;
const HARMLESS_VALUE =
  /^(?:string|number|boolean|null|undefined|true|false|none|any|unknown|the|a|an|is|was|are|to|for)$/iu;

/** The text with the values of names that stand for secrets replaced; what is no secret's value is looked at again by itself. */
function withoutNamed(text: string, names: RegExp): string {
  const kept: string[] = [];
  let done = 0;
  for (const match of text.matchAll(names)) {
    const [all, name = '', mark = ''] = match;
    const start = match.index + all.length;
    if (match.index < done || !SECRET_NAME.test(name) || HARMLESS_NAME.test(name)) continue;
    VALUE.lastIndex = start;
    const value = VALUE.exec(text)?.[0];
    // In prose and in types, short words follow a colon. What is called returns the secret.
    const isNone = value === undefined || text[start + value.length] === '(' || HARMLESS_VALUE.test(value);
    if (isNone || (mark.includes(':') && value.length < 4) || value.includes(REDACTED)) continue;
    kept.push(text.slice(done, start), REDACTED);
    done = start + value.length;
  }
  return done === 0 ? text : [...kept, text.slice(done)].join('');
}

/**
 * A text without the kinds of secrets that are known. Best effort: a secret that looks like none stays. Applying it
 * twice changes nothing more.
 */
export function redacted(text: string): string {
  let result = text;
  for (const pattern of KNOWN) result = result.replace(pattern, (_all, kept: string) => `${kept}${REDACTED}`);
  return [OPTION, ASSIGNED].reduce(withoutNamed, result);
}
