/** The arguments that a command was given. */
export class Call {
  constructor(
    readonly operands: readonly (string | undefined)[],
    /** What a last operand with `…` took. */
    readonly rest: readonly string[],
    private readonly options: Readonly<Record<string, unknown>>,
  ) {}

  /** An option's value by its long name in camelCase; `undefined` where it wasn't given. */
  text(name: string): string | undefined {
    const value = this.options[name];
    return typeof value === 'string' ? value : undefined;
  }

  /** The values of an option that may be given several times. */
  list(name: string): readonly string[] {
    const value = this.options[name];
    return Array.isArray(value) ? value.filter((each): each is string => typeof each === 'string') : [];
  }

  /** Whether a flag was given. */
  flag(name: string): boolean {
    return this.options[name] === true;
  }
}
