/** A place in a text; both count from 1. */
export interface TextPosition {
  readonly line: number;
  readonly column: number;
}

/** A setting that could not be used, with the place where it stands. */
export interface ConfigIssue {
  readonly file: string;
  readonly position: TextPosition;
  readonly message: string;
}
