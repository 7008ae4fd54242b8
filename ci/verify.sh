#!/bin/sh
# Verifies the receipts of a change in any CI system. See docs/verify.md.
#
# All values come in as environment variables. Nothing of the change is checked out or run: its commits, the base and
# the notes are fetched into an empty repository of its own.
#
#   ATLAS_URL          the repository that the change is for (git URL)
#   ATLAS_BASE         what says what is demanded: a branch of it, or for a push the commit that was there before
#   ATLAS_DEFAULT      the branch that is meant where ATLAS_BASE is empty or no commit (optional)
#   ATLAS_HEAD         the commit to verify (its whole id)
#   ATLAS_HEAD_URL     the repository that has it and its receipts (optional; a fork's)
#   ATLAS_HEAD_REF     a ref of ATLAS_URL that leads to it (optional; refs/pull/1/head)
#   ATLAS_REQUIRE      names of more checks, one a line (optional)
#   ATLAS_ALLOW_ANCESTOR  "true" to accept an ancestor from which only ignored paths differ (optional)
#   ATLAS_REPORT       a file for the report in Markdown (optional)
#   ATLAS_CLI          the path of cli.js, run by node (optional; else "atlas" on the PATH)
#   ATLAS_GIT_TOKEN    a token for ATLAS_URL over https (optional)
#
# It exits as "atlas verify" does: 0 verified, 5 not verified, 6 nothing demanded, 7 needs a human.
set -eu
umask 077

fail() {
  printf 'atlas: %s\n' "$1" >&2
  exit "${2:-2}"
}

[ -n "${ATLAS_URL:-}" ] || fail 'ATLAS_URL is not set.'
case "${ATLAS_HEAD:-}" in
  '' | *[!0-9a-f]*) fail 'ATLAS_HEAD is not the id of a commit.' ;;
esac
for url in "$ATLAS_URL" "${ATLAS_HEAD_URL:-}"; do
  case "$url" in
    -*) fail 'A URL may not begin with "-".' ;;
  esac
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 1' HUP INT TERM
# No setting of a repository and no hook of this machine takes part, and no store is used.
export ATLAS_HOME="$work/store" GIT_TERMINAL_PROMPT=0
git init -q --template= "$work/repository"
cd "$work/repository"

if [ -n "${ATLAS_GIT_TOKEN:-}" ]; then
  case "$ATLAS_URL" in
    https://*)
      # By environment, so that it stands in no file and no argument; only for the host that it is for.
      host=${ATLAS_URL#https://}
      GIT_CONFIG_KEY_0="http.https://${host%%/*}/.extraheader"
      GIT_CONFIG_VALUE_0="AUTHORIZATION: basic $(printf 'x-access-token:%s' "$ATLAS_GIT_TOKEN" | base64 | tr -d '\n')"
      export GIT_CONFIG_COUNT=1 GIT_CONFIG_KEY_0 GIT_CONFIG_VALUE_0
      unset ATLAS_GIT_TOKEN
      ;;
  esac
fi

# What a remote says is not printed as it is: a CI system would read orders in it.
fetch() {
  git fetch -q --no-tags --no-recurse-submodules "$@" 2>"$work/said"
}
said() {
  tr -d '\000-\010\013-\037\177' <"$work/said" | sed -e 's/::/: :/g' -e 's/##/# #/g' -e 's/^/  git: /' | head -n 20 >&2
}

git remote add base "$ATLAS_URL"
if ! fetch base '+refs/heads/*:refs/remotes/base/*'; then
  said
  fail 'The repository could not be fetched.' 1
fi
if ! git cat-file -e "$ATLAS_HEAD^{commit}" 2>/dev/null && [ -n "${ATLAS_HEAD_REF:-}" ]; then
  fetch base "+$ATLAS_HEAD_REF:refs/atlas/head" || said
fi
head_remote=base
if [ -n "${ATLAS_HEAD_URL:-}" ] && [ "$ATLAS_HEAD_URL" != "$ATLAS_URL" ]; then
  head_remote=head
  git remote add head "$ATLAS_HEAD_URL"
  if ! git cat-file -e "$ATLAS_HEAD^{commit}" 2>/dev/null; then
    fetch head '+refs/heads/*:refs/remotes/head/*' || said
  fi
fi
if ! git cat-file -e "$ATLAS_HEAD^{commit}" 2>/dev/null; then
  fetch "$head_remote" "$ATLAS_HEAD" || said
fi

# The tip of the target as it is now, never the commit that the change began at: a key may have been revoked since.
base_of() {
  case "$1" in
    '') return 1 ;;
    *[!0]*) ;;
    *) return 1 ;;
  esac
  if git rev-parse -q --verify "refs/remotes/base/${1#refs/heads/}^{commit}"; then return 0; fi
  case "$1" in
    *[!0-9a-f]*) return 1 ;;
    *) git rev-parse -q --verify "$1^{commit}" ;;
  esac
}
base=$(base_of "${ATLAS_BASE:-}" || base_of "${ATLAS_DEFAULT:-}") || fail 'ATLAS_BASE names neither a branch nor a commit that is there.' 3

atlas() {
  if [ -n "${ATLAS_CLI:-}" ]; then node "$ATLAS_CLI" "$@"; else command atlas "$@"; fi
}

atlas receipts fetch base --quiet || fail 'The receipts could not be fetched.' 1
# Whoever sends a change need not have receipts in a repository of their own.
if [ "$head_remote" = head ]; then atlas receipts fetch head --quiet || true; fi

set -- "$ATLAS_HEAD" --base "$base"
if [ "${ATLAS_ALLOW_ANCESTOR:-}" = true ]; then set -- "$@" --allow-ancestor; fi
if [ -n "${ATLAS_REQUIRE:-}" ]; then
  printf '%s\n' "$ATLAS_REQUIRE" >"$work/require"
  while IFS= read -r name; do
    if [ -n "$name" ]; then set -- "$@" "--require=$name"; fi
  done <"$work/require"
fi

code=0
atlas verify "$@" || code=$?
if [ -n "${ATLAS_REPORT:-}" ]; then
  # Where the base demands nothing there is nothing to report.
  atlas verify "$@" --format markdown >"$work/report" 2>/dev/null || true
  cat "$work/report" >"$ATLAS_REPORT"
fi
exit "$code"
