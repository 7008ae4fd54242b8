const CREATE = /^(?:\w+=\S+\s+)*(?:gh\s+pr\s+(?:create|new)|glab\s+mr\s+(?:create|new))(?:\s|$)/u;
const HELP = /\s(?:--help|-h|--dry-run)(?:\s|$)/u;

/** Whether a command line opens a pull or merge request with GitHub's or GitLab's command. Only its first command counts. */
export function isPullRequestCommand(line: string): boolean {
  const trimmed = line.trim();
  return CREATE.test(trimmed) && !HELP.test(trimmed);
}
