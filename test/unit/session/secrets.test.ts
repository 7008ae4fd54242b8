import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { REDACTED, redacted } from '../../../src/core/session/secrets';
import { keptText } from '../../../src/core/session/observe';
import { SECRETS } from '../../support/fixtures/secrets';

describe('secrets in what agents are asked and run', () => {
  it.each(SECRETS)('$kind are replaced, alone and among other words', ({ text, secret }) => {
    for (const around of [text, `Use ${text} for it`, `first line\n${text}\nlast line`, JSON.stringify({ said: text })])
      expect(redacted(around), around).not.toContain(secret);
    expect(redacted(`before ${text}`)).toContain('before');
    expect(redacted(text)).toContain(REDACTED);
  });

  it('are found again in no text that was cut', () => {
    fc.assert(
      fc.property(fc.constantFrom(...SECRETS), fc.nat(5000), (secret, before) => {
        const kept = keptText(`${'word '.repeat(before / 5)} ${secret.text} ${'tail '.repeat(100)}`);
        expect(kept).not.toContain(secret.secret);
        // Nor does its first half show where the text ends.
        expect(kept).not.toContain(secret.secret.slice(0, Math.ceil(secret.secret.length * 0.6)));
      }),
      { numRuns: 300 },
    );
  });

  it('that were replaced stay replaced, and nothing else changes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary', maxLength: 300 }),
        fc.constantFrom(...SECRETS),
        (text, { text: secret }) => {
          const once = redacted(`${text} ${secret}`);
          expect(redacted(once)).toBe(once);
        },
      ),
      { numRuns: 500 },
    );
  });

  it.each([
    'Fix the token parser in src/lexer.ts',
    'The password field is too short; rename passwordInput to secretInput',
    'git commit -m "feat: keys are rotated"',
    'curl https://example.com/api/v1/users?page=2',
    'const tokens = tokenize(text);',
    'npm run test -- --token-limit',
    'cat ~/.ssh/config && ls -la',
    'echo $API_KEY',
    'export TOKEN=$(cat file)',
  ])('are not seen in %s', (text) => {
    expect(redacted(text)).toBe(text);
  });

  it('are looked for without trying again and again what fails', () => {
    // Each of these takes minutes with a pattern that backtracks over all that follows.
    const texts = ['a_key-', '-----BEGIN ', 'eyJ-', 'a_key="', 'https://x:', 'token ', '--password '];
    for (const text of texts) expect(redacted(text.repeat(20_000)).length).toBeGreaterThan(0);
  });
});
