// Puts the report of verify.sh into one comment on a pull request (GitHub's API, which Gitea and Forgejo have too). The
// comment is found by its marker and its author, and updated; there is never a second one.
//
//   ATLAS_REPORT           the file that verify.sh wrote
//   ATLAS_API              https://api.github.com
//   ATLAS_REPOSITORY       owner/name
//   ATLAS_PULL_REQUEST     its number
//   ATLAS_TOKEN            may write comments
//   ATLAS_COMMENT_AUTHOR   the login that the token writes as (default: github-actions[bot])
import { readFileSync } from 'node:fs';

const MARKER = '<!-- atlas-verify -->';
const PER_PAGE = 100;
const MAX_PAGES = 100;
/** What a comment may hold, in characters. */
const MAX_COMMENT = 65_000;

/** @param {string} name @param {RegExp} form */
function value(name, form) {
  const text = process.env[name] ?? '';
  if (!form.test(text)) throw new Error(`${name} is not set as it should be.`);
  return text;
}

const api = value('ATLAS_API', /^https?:\/\/\S+$/u).replace(/\/$/u, '');
const repository = value('ATLAS_REPOSITORY', /^[\w.-]+\/[\w.-]+$/u);
const number = value('ATLAS_PULL_REQUEST', /^\d+$/u);
const token = value('ATLAS_TOKEN', /^\S+$/u);
const author = process.env['ATLAS_COMMENT_AUTHOR'] || 'github-actions[bot]';

/**
 * @param {string} method
 * @param {string} path
 * @param {object} [body]
 * @returns {Promise<unknown>}
 */
async function ask(method, path, body) {
  const response = await fetch(`${api}/repos/${repository}/issues/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${token}`,
      accept: 'application/vnd.github+json',
      'content-type': 'application/json',
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!response.ok) throw new Error(`The comment could not be written: ${method} answered ${response.status}.`);
  return response.json();
}

/** Our own comment, where there is one. */
async function ownComment() {
  for (let page = 1; page <= MAX_PAGES; page += 1) {
    const comments = /** @type {{ id: number, body?: string, user?: { login?: string } }[]} */ (
      await ask('GET', `${number}/comments?per_page=${PER_PAGE}&page=${page}`)
    );
    const own = comments.find(({ body, user }) => user?.login === author && body?.startsWith(MARKER) === true);
    if (own !== undefined || comments.length < PER_PAGE) return own;
  }
  return undefined;
}

const report = readFileSync(value('ATLAS_REPORT', /./u), 'utf8').slice(0, MAX_COMMENT);
if (report.startsWith(MARKER)) {
  const own = await ownComment();
  if (own === undefined) await ask('POST', `${number}/comments`, { body: report });
  else if (own.body !== report) await ask('PATCH', `comments/${own.id}`, { body: report });
}
