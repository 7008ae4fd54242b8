import { describe, expect, it } from 'vitest';
import { isPullRequestCommand } from '../../../src/git/hooks/pullRequestCommand';

describe('a command line that opens a pull request', () => {
  it.each(['gh pr create', 'gh pr create --fill', '  gh pr new -t x', 'GH_TOKEN=x gh pr create', 'glab mr create -y'])(
    'is %j',
    (line) => expect(isPullRequestCommand(line)).toBe(true),
  );

  it.each(['gh pr list', 'gh pr create --help', 'gh pr create --dry-run', 'echo gh pr create', 'gh pr created', ''])(
    'is not %j',
    (line) => expect(isPullRequestCommand(line)).toBe(false),
  );
});
