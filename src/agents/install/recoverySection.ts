const BEGIN = '<!-- atlas:recovery begin -->';
const END = '<!-- atlas:recovery end -->';

const SECTION = `${BEGIN}
## ATLAS Task Recovery

**Before starting any work**, ask whether a task is under way:

\`\`\`bash
atlas hook synopsis
\`\`\`

If it prints a line:

1. Read the ENTIRE HOOK.md that it names
2. Follow the "What To Do Now" section EXACTLY
3. Do NOT restart from the beginning
4. Do NOT repeat completed steps

HOOK.md is the source of truth for the task's state: your memory may be stale or empty after a crash. If nothing is printed, no task is under way.
${END}`;

const OURS = new RegExp(String.raw`(?:\r?\n){0,2}${BEGIN}[^]*?${END}(?:\r?\n)?`, 'u');

/** An agent's instructions with the section that has it ask for its task; what is there already is brought up to date. */
export function withSection(text: string): string {
  const lineEnd = /\r?\n/u.exec(text)?.[0] ?? '\n';
  const section = SECTION.replaceAll('\n', lineEnd);
  if (text.includes(BEGIN) && text.includes(END)) {
    const start = text.indexOf(BEGIN);
    const end = text.indexOf(END, start);
    if (end !== -1) return text.slice(0, start) + section + text.slice(end + END.length);
  }
  if (text === '') return `${section}${lineEnd}`;
  // How it ends tells how it ended before, so that it can be taken out again.
  return text.endsWith('\n') ? `${text}${lineEnd}${section}${lineEnd}` : `${text}${lineEnd}${lineEnd}${section}`;
}

/** The instructions without the section; everything else stays as it is. */
export function withoutSection(text: string): string {
  return text.replace(OURS, (found, at: number) => {
    const rest = text.slice(at + found.length);
    const ended = /\r?\n$/u.exec(found)?.[0] ?? '';
    return at === 0 || (rest === '' && ended === '') ? '' : ended;
  });
}
