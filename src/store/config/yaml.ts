import type { TextPosition } from '../../core/config/configIssue';
import { LineCounter, isMap, isNode, isScalar, parseDocument } from 'yaml';

/** A YAML text as plain data, with the places of its fields. */
export interface ParsedYaml {
  readonly data: unknown;
  /** The first syntax error. */
  readonly error: { readonly message: string; readonly position: TextPosition } | undefined;
  /** Where the field at a path stands, or the nearest field above it that is there. */
  positionOf(path: readonly (string | number)[]): TextPosition;
}

/** Parses one YAML document. Aliases are limited, so that a small file can't become a huge one. */
export function parseYaml(text: string): ParsedYaml {
  const lines = new LineCounter();
  // Its warnings would go to the process's standard error, where nobody knows which file they are about.
  const document = parseDocument(text, { lineCounter: lines, prettyErrors: false, logLevel: 'error' });
  const at = (offset: number): TextPosition => {
    const { line, col } = lines.linePos(offset);
    return { line, column: col };
  };
  const problem = document.errors[0];
  const error = problem === undefined ? undefined : { message: problem.message, position: at(problem.pos[0]) };
  return {
    data: error === undefined ? (document.toJS({ maxAliasCount: 100 }) as unknown) : undefined,
    error,
    positionOf: (path) => {
      for (let length = path.length; length > 0; length -= 1) {
        const parent = document.getIn(path.slice(0, length - 1), true);
        const key = path[length - 1];
        const pair = isMap(parent)
          ? parent.items.find((item) => (isScalar(item.key) ? item.key.value : item.key) === key)
          : undefined;
        const node: unknown = pair?.key ?? document.getIn(path.slice(0, length), true);
        const start = isScalar(node) || isMap(node) ? node.range?.[0] : undefined;
        if (start !== undefined) return at(start);
      }
      return { line: 1, column: 1 };
    },
  };
}

/**
 * Parses a text that has to hold fields, or nothing. A text or a list is a mistake that must not pass for an empty file.
 */
export function parseFields(text: string): ParsedYaml {
  const yaml = parseYaml(text);
  const { data } = yaml;
  if (data === undefined || data === null || (typeof data === 'object' && !Array.isArray(data))) return yaml;
  const message = 'The file has no settings. Write "hooks:" with the settings below it.';
  return { ...yaml, data: undefined, error: { message, position: yaml.positionOf([]) } };
}

/** A setting of a section, and its value as YAML has it on one line. */
export interface SettingText {
  readonly name: string;
  readonly value: string;
}

/**
 * The text with settings put into one of its sections; every other byte stays.
 * @returns `undefined` where the text is no YAML with fields, or the section isn't written as a block
 */
export function withSettings(text: string, section: string, settings: readonly SettingText[]): string | undefined {
  const document = parseDocument(text, { prettyErrors: false, logLevel: 'error' });
  const { contents } = document;
  if (document.errors.length > 0 || (contents !== null && !isMap(contents))) return undefined;
  const pair = contents?.items.find(({ key }) => isScalar(key) && key.value === section);
  const block = (indent: string): string => settings.map(({ name, value }) => `${indent}${name}: ${value}\n`).join('');
  if (pair === undefined) {
    const gap = text === '' || text.endsWith('\n') ? '' : '\n';
    return `${text}${gap}${section}:\n${block('  ')}`;
  }
  const { key, value: inside } = pair;
  if (isScalar(key) && (inside === null || (isScalar(inside) && inside.value === null))) {
    const end = text.indexOf('\n', key.range[1]);
    return end === -1 ? `${text}\n${block('  ')}` : text.slice(0, end + 1) + block('  ') + text.slice(end + 1);
  }
  const start = isMap(inside) && inside.flow !== true ? inside.range[0] : undefined;
  if (!isMap(inside) || start === undefined) return undefined;
  const indent = text.slice(text.lastIndexOf('\n', start - 1) + 1, start);
  const edits = settings.map(({ name, value }) => {
    const item = inside.items.find((each) => isScalar(each.key) && each.key.value === name);
    const node: unknown = item?.value;
    const range = isNode(node) ? node.range : undefined;
    return range === undefined || range === null
      ? { at: start, end: start, put: `${name}: ${value}\n${indent}` }
      : { at: range[0], end: range[1], put: value };
  });
  const sorted = edits.sort((a, b) => b.at - a.at || b.end - a.end);
  return sorted.reduce((result, { at, end, put }) => result.slice(0, at) + put + result.slice(end), text);
}
