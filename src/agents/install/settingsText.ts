import { type Result, fail, ok } from '../../core/shared/errors';
import { type Node, type ParseError, parseTree, printParseErrorCode } from './jsonc';

/** A change of a text: what stands from `offset` on is replaced. In UTF-16 units. */
export interface TextEdit {
  readonly offset: number;
  readonly length: number;
  readonly text: string;
}

/** Applies edits that don't overlap. */
export function applyEdits(text: string, edits: readonly TextEdit[]): string {
  let result = text;
  for (const { offset, length, text: put } of [...edits].sort((a, b) => b.offset - a.offset))
    result = result.slice(0, offset) + put + result.slice(offset + length);
  return result;
}

/** A settings file's text with the values in it. Comments and trailing commas are allowed. */
export class SettingsText {
  private constructor(
    readonly text: string,
    readonly root: Node,
  ) {}

  /** Fails with `damaged` where it isn't one whole object, and where a key that is looked for stands twice. */
  static parse(text: string): Result<SettingsText> {
    const errors: ParseError[] = [];
    // A mark at the beginning is none of the text's characters to the parser.
    const root = parseTree(text.replace(/^\uFEFF/u, ' '), errors, { allowTrailingComma: true });
    const [first] = errors;
    if (first !== undefined) {
      const line = text.slice(0, first.offset).split('\n').length;
      return fail('damaged', `It is not valid JSON: ${printParseErrorCode(first.error)} in line ${line}.`);
    }
    if (root?.type !== 'object') return fail('damaged', 'It does not contain a JSON object.');
    return ok(new SettingsText(text, root));
  }

  /** The value of an object's key. */
  member(object: Node | undefined, key: string): Node | undefined {
    return this.property(object, key)?.children?.[1];
  }

  private property(object: Node | undefined, key: string): Node | undefined {
    // Of two with the same key, the last one counts.
    return object?.type === 'object'
      ? object.children?.findLast((each) => each.children?.[0]?.value === key)
      : undefined;
  }

  /** How lines end here. */
  get lineEnd(): string {
    return /\r?\n/u.exec(this.text)?.[0] ?? '\n';
  }

  /** One level of indentation, as the first indented line has it. */
  get indent(): string {
    return /\n([ \t]+)(?=\S)/u.exec(this.text)?.[1] ?? '  ';
  }

  private indentAt(offset: number): string {
    const start = this.text.lastIndexOf('\n', offset - 1) + 1;
    return /^[ \t]*/u.exec(this.text.slice(start, offset))?.[0] ?? '';
  }

  /** Adds a value at the end of a list, or under a key at the end of an object; nothing that is there is touched. */
  add(container: Node, key: string | undefined, value: unknown): TextEdit[] {
    const { lineEnd } = this;
    const outer = this.indentAt(container.offset);
    const inner = outer + this.indent;
    const json = JSON.stringify(value, null, this.indent).replaceAll('\n', lineEnd + inner);
    const entry = `${lineEnd}${inner}${key === undefined ? '' : `${JSON.stringify(key)}: `}${json}`;
    const last = container.children?.at(-1);
    if (last === undefined) return this.addFirst(container, entry, lineEnd + outer);
    const end = last.offset + last.length;
    const comma = this.commaAfter(end, container);
    const at = this.endOfLineComment(comma === undefined ? end : comma + 1);
    if (comma !== undefined) return [{ offset: at, length: 0, text: `${entry},` }];
    return at === end
      ? [{ offset: end, length: 0, text: `,${entry}` }]
      : [
          { offset: end, length: 0, text: ',' },
          { offset: at, length: 0, text: entry },
        ];
  }

  private addFirst(container: Node, entry: string, close: string): TextEdit[] {
    const open = container.offset + 1;
    const inside = this.text.slice(open, container.offset + container.length - 1);
    return [{ offset: open, length: 0, text: inside.includes('\n') ? entry : entry + close }];
  }

  /** Takes a list's item or an object's property out, with the comma and the white space that belong to it. */
  remove(item: Node): TextEdit[] {
    const container = item.parent;
    const siblings = container?.children ?? [];
    const index = siblings.indexOf(item);
    if (container === undefined || index === -1) return [];
    const end = item.offset + item.length;
    const comma = this.commaAfter(end, container);
    const start = this.spaceBefore(item.offset);
    const before = siblings[index - 1];
    const stop = comma === undefined ? end : comma + 1;
    const edits = [{ offset: start, length: stop - start, text: '' }];
    const previous = before === undefined ? undefined : this.commaAfter(before.offset + before.length, container);
    if (comma !== undefined || previous === undefined) return this.alone(container, edits);
    return previous + 1 === start
      ? [{ offset: previous, length: stop - previous, text: '' }]
      : [{ offset: previous, length: 1, text: '' }, ...edits];
  }

  /** Of a container that becomes empty, the white space before its end goes too. */
  private alone(container: Node, edits: TextEdit[]): TextEdit[] {
    const [edit] = edits;
    if (edit === undefined || (container.children ?? []).length !== 1) return edits;
    const close = container.offset + container.length - 1;
    const end = edit.offset + edit.length;
    const blank = this.text.slice(end, close).trim() === '' && edit.offset === container.offset + 1;
    return blank ? [{ ...edit, length: close - edit.offset }] : edits;
  }

  private commaAfter(offset: number, container: Node): number | undefined {
    const at = this.skip(offset);
    return this.text[at] === ',' && at < container.offset + container.length ? at : undefined;
  }

  /** The next place that is neither white space nor in a comment. */
  private skip(offset: number): number {
    return offset + (/^(?:\s|\/\/[^\n]*|\/\*[^]*?\*\/)*/u.exec(this.text.slice(offset))?.[0].length ?? 0);
  }

  /** The end of comments that stand behind something on its line. */
  private endOfLineComment(offset: number): number {
    return offset + (/^(?:[ \t]*(?:\/\/[^\r\n]*|\/\*[^\r\n]*?\*\/))*/u.exec(this.text.slice(offset))?.[0].length ?? 0);
  }

  private spaceBefore(offset: number): number {
    return offset - (/\s*$/u.exec(this.text.slice(0, offset))?.[0].length ?? 0);
  }
}
