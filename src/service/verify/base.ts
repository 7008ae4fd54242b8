import { type Result, fail, ok } from '../../core/shared/errors';
import type { Repository } from '../../core/shared/ports';
import { POLICY_FILE, TRUSTED_KEYS_FILE, type VerifyPolicy, parsePolicy } from '../../core/verify/policy';
import { type TrustedEntry, parseTrustedKeys } from '../../core/verify/trustedKeys';
import { filesAt } from '../../git/notes/history';
import { gitOn, namedObjects, readBlobs } from '../../git/notes/objects';

/** Of either file; the YAML parser takes about a second for the worst one of this size. */
const MAX_POLICY_BYTES = 64 * 1024;
const MAX_KEYS_BYTES = 1024 * 1024;

/** Where CI systems say which branch a change is for: GitHub and Gitea, GitLab, Azure, Bitbucket, Jenkins, Buildkite. */
const TARGETS = ['GITHUB_BASE_REF', 'CI_MERGE_REQUEST_TARGET_BRANCH_NAME', 'SYSTEM_PULLREQUEST_TARGETBRANCH'].concat([
  'BITBUCKET_PR_DESTINATION_BRANCH',
  'CHANGE_TARGET',
  'BUILDKITE_PULL_REQUEST_BASE_BRANCH',
]);

/** The commit whose policy and keys hold. */
export interface Base {
  /** As a person knows it: `origin/main`. */
  readonly name: string;
  readonly commit: string;
}

/** What the base demands, and whose keys it trusts. */
export interface BasePolicy {
  readonly policy: VerifyPolicy;
  readonly trusted: readonly TrustedEntry[];
}

/** The names of a repository's remotes. */
export async function remotesOf(repository: Repository): Promise<Result<string[]>> {
  const run = await gitOn(repository, ['remote']);
  return run.ok ? ok(run.value.split('\n').filter((name) => name !== '')) : run;
}

/** The remote that is meant where none is named: the only one, or `origin`. */
export function defaultRemote(remotes: readonly string[]): string | undefined {
  return remotes.length === 1 ? remotes[0] : remotes.find((name) => name === 'origin');
}

/**
 * The commit whose policy holds: what was named, in CI the tip of the branch that the change is for, else the fetched
 * tip of the remote's default branch. Never the merge base, whose keys may have been revoked since.
 */
export async function findBase(
  repository: Repository,
  named: string | undefined,
  env: Readonly<Record<string, string | undefined>>,
): Promise<Result<Base>> {
  if (named !== undefined) {
    const [found] = unwrapOr(await namedObjects(repository, [`${named}^{commit}`]));
    if (found !== undefined) return ok({ name: named, commit: found.id });
    return fail('not_found', `There is no commit ${JSON.stringify(named).slice(0, 120)} to take the policy from.`, {
      hint: 'Fetch it first, or name another with --base.',
    });
  }
  const remotes = await remotesOf(repository);
  if (!remotes.ok) return remotes;
  const remote = defaultRemote(remotes.value);
  if (remote === undefined) {
    return fail('usage', 'There is no remote whose default branch could say what is demanded.', {
      hint: 'Name the branch that the change is for: atlas verify <commit> --base <ref>',
    });
  }
  const target = TARGETS.map((name) => env[name]).find((value) => value !== undefined && value !== '');
  const ref =
    target === undefined
      ? `refs/remotes/${remote}/HEAD`
      : `refs/remotes/${remote}/${target.replace(/^refs\/heads\//u, '')}`;
  const [found] = unwrapOr(await namedObjects(repository, [`${ref}^{commit}`]));
  if (found === undefined) {
    return fail('not_found', `${ref.slice('refs/remotes/'.length).slice(0, 120)} is not known here.`, {
      hint: target === undefined ? `Run: git remote set-head ${remote} --auto` : `Run: git fetch ${remote}`,
    });
  }
  const name = target === undefined ? await branchOf(repository, ref) : ref;
  return ok({ name: name.replace(/^refs\/remotes\//u, ''), commit: found.id });
}

async function branchOf(repository: Repository, ref: string): Promise<string> {
  const run = await gitOn(repository, ['symbolic-ref', '--quiet', ref]);
  return run.ok ? run.value.trim() : ref;
}

function unwrapOr<T>(result: Result<T[]>): T[] {
  return result.ok ? result.value : [];
}

const NO_POLICY_HINT = `A maintainer commits these two files to the base first: ${POLICY_FILE} with the checks below "verify:", and ${TRUSTED_KEYS_FILE}, which "atlas keys trust" writes.`;

/** The policy and keys of a commit. Fails with `no_policy`: both files are there, regular, and sound, or nothing holds. */
export async function readBase(repository: Repository, { name, commit }: Base): Promise<Result<BasePolicy>> {
  const files = await filesAt(repository, commit, [POLICY_FILE, TRUSTED_KEYS_FILE]);
  if (!files.ok) return files;
  const [policyFile, keysFile] = [files.value.get(POLICY_FILE), files.value.get(TRUSTED_KEYS_FILE)];
  const refuse = (message: string): ReturnType<typeof fail> =>
    fail('no_policy', `${name} has no policy that could be verified against. ${message}`, { hint: NO_POLICY_HINT });
  for (const [path, file] of [
    [POLICY_FILE, policyFile],
    [TRUSTED_KEYS_FILE, keysFile],
  ] as const) {
    if (file === undefined) return refuse(`${path} is not there.`);
    if (!file.mode.startsWith('100')) return refuse(`${path} is not a regular file.`);
  }
  const ids = [policyFile?.blob ?? '', keysFile?.blob ?? ''] as const;
  const blobs = await readBlobs(repository, ids, MAX_KEYS_BYTES);
  if (!blobs.ok) return blobs;
  const [policyText, keysText] = ids.map((id) => blobs.value.get(id));
  if (policyText === undefined || policyText.length > MAX_POLICY_BYTES) return refuse(`${POLICY_FILE} is too large.`);
  if (keysText === undefined) return refuse(`${TRUSTED_KEYS_FILE} is too large.`);
  const policy = await policyFrom(policyText);
  if (!policy.ok) return refuse(policy.error.message);
  const trusted = parseTrustedKeys(keysText.toString('utf8'));
  if (!trusted.ok) return refuse(trusted.error.message);
  return ok({ policy: policy.value, trusted: trusted.value });
}

/** The policy that a config.yaml states. Fails with `no_policy`. */
export async function policyFrom(text: Uint8Array): Promise<Result<VerifyPolicy>> {
  const { parseFields } = await import('../../store/config/yaml');
  const { data, error } = parseFields(Buffer.from(text).toString('utf8'));
  if (error === undefined) return parsePolicy(data);
  return fail('no_policy', `${POLICY_FILE} is not valid YAML: line ${error.position.line}: ${error.message}`);
}
