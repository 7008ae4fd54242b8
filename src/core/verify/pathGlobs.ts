import picomatch from 'picomatch/posix';

/** Matches paths of a repository against globs, names with a leading dot included: a hidden file runs as well as any. */
export function pathMatcher(globs: readonly string[]): (path: string) => boolean {
  const matchers = globs.map((glob) => picomatch(spelledOut(glob), { dot: true, nonegate: true }));
  return (path) => matchers.some((matches) => matches(path));
}

/** As people write them: `test/` means all that is in it. */
function spelledOut(glob: string): string {
  const relative = glob.replace(/^\.?\//u, '');
  return relative.endsWith('/') ? `${relative}**` : relative;
}
