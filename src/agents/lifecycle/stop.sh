# `atlas lifecycle stop --host <host>`, as the launcher first tries it: where no step runs and the agent queue is empty, the
# answer is given here, since Node takes longer to start than all the rest. In any doubt it returns 1, and Node answers.
# The markers are those of every writer: `open/<workspace>@<task>` is on disk before its task, and is there until that is over.
# Only builtins but for `head` and `date`, and `mv` once in a session.

# Sets $v to the text of a key of the host's JSON, if that holds nothing that JSON writes differently.
atlas_text() {
  v=
  for c in '":"' '": "'; do
    case $i in *"\"$1$c"*) v=${i#*"\"$1$c"} && v=${v%%\"*} && break ;; esac
  done
  case $v in '' | *[\\[:cntrl:]]*) return 1 ;; esac
}

# Sets $n to the workspace whose repository is $m.
atlas_workspace() {
  n=
  for f in "$r/workspaces/${m##*/}/workspace.json" "$r/workspaces/${m##*/}"-??????/workspace.json; do
    [ -f "$f" ] || continue
    while read -r l; do
      case $l in "\"repo_path\": \"$m\"" | "\"repo_path\": \"$m\",") n=${f%/*} && n=${n##*/} && return ;; esac
    done <"$f"
  done
  # Its name isn't that of the folder.
  f=$(grep -lsF "\"repo_path\": \"$m\"" "$r"/workspaces/*/workspace.json) || return 1
  n=${f%/*}
  n=${n##*/}
  [ "$f" = "$r/workspaces/$n/workspace.json" ]
}

# Succeeds where there is nothing to gate and nothing to say of a task; sets $later where Node has something to do all the same.
atlas_is_quiet() {
  [ $# -eq 4 ] && [ "$3" = --host ] && [ ! -t 0 ] || return 1
  case $4 in claude | vscode | codex | gemini | cursor) ;; *) return 1 ;; esac
  [ -z "${ATLAS_TASK-}${ATLAS_CLEANUP-}${ATLAS_TRIGGER-}${ATLAS_HOOK_CHECK-}${CLAUDE_SESSION_ID-}" ] || return 1
  case ${ATLAS_HOME-} in '') r=${HOME:-.}/.atlas ;; *) r=$ATLAS_HOME ;; esac
  p=$PWD
  cd -P . || return 1
  case $r$PWD in [!/]* | *[\"\\[:cntrl:]]*) return 1 ;; esac

  # The repository, as git finds it.
  w=$PWD
  until [ -e "$w/.git" ]; do
    case $w in /*/*) w=${w%/*} ;; *) return 1 ;; esac
  done
  m=$w
  if [ ! -f "$w/.git/HEAD" ]; then
    read -r l <"$w/.git" || return 1
    case $l in 'gitdir: /'*/.git/worktrees/*) m=${l#gitdir: } && m=${m%/.git/worktrees/*} ;; *) return 1 ;; esac
  fi
  [ ! -L "$m/.git" ] && [ -f "$m/.git/HEAD" ] && atlas_workspace || return 1

  later=
  [ ! -e "$r/open" ] || [ -r "$r/open" ] || return 1
  for f in "$r/open/$n@"*; do
    [ -e "$f" ] || continue
    s=
    while read -r k v; do
      case $k in '"state":') s=$v && break ;; esac
    done <"$r/workspaces/$n/tasks/${f##*@}/hook.json"
    case $s in '"step_pending",' | '"awaiting_human",') later=1 ;; *) return 1 ;; esac
  done
  q=$r/workspaces/$n/inbox
  if [ -e "$q" ]; then
    [ -d "$q" ] && [ -r "$q" ] && [ -x "$q" ] || return 1
    for f in "$q"/*.json; do [ ! -e "$f" ] || return 1; done
  fi
  # The reminder names another folder there. One that is long isn't read to its end.
  if [ -e "$r/config.yaml" ]; then
    k=0
    while read -r l || [ -n "$l" ]; do
      k=$((k + 1))
      [ "$k" -le 40 ] || return 1
      case $l in *memory_folder*) return 1 ;; esac
    done <"$r/config.yaml" || return 1
  fi
  # What was reported is taken in when a session stops; what a session was told is forgotten.
  for f in "$r/observed" "$r/workspaces/$n/stop-gate"/*; do [ ! -e "$f" ] || later=1; done
}

# Succeeds where the host's JSON is read and says nothing that asks for more; sets $s to the session.
atlas_is_plain() {
  case $i in '{'*'}') ;; *) return 1 ;; esac
  case $i in *'"source"'* | *'"trigger"'* | *'"error"'* | *'"reason"'*) return 1 ;; esac
  # VS Code runs Claude Code's hooks too, and is answered in its own form.
  case $1$i in claude*'"timestamp"'* | claude*'"hookEventName"'*) return 1 ;; esac
  case $i in
  *"\"cwd\":\"$p\""* | *"\"cwd\": \"$p\""* | *"\"cwd\":\"$PWD\""* | *"\"cwd\": \"$PWD\""*) ;;
  *"\"workspace_roots\":[\"$p\""* | *"\"workspace_roots\":[\"$PWD\""*) ;;
  *) return 1 ;;
  esac
  atlas_text session_id || atlas_text sessionId || atlas_text conversation_id || return 1
  s=$v
  case $s in *[!A-Za-z0-9_.:@+-]* | [!A-Za-z0-9]*) return 1 ;; esac
  [ ${#s} -le 200 ]
}

# Notes the call, as Node does.
atlas_note() {
  l=
  f=$r/workspaces/$n/.last-session-id
  [ ! -f "$f" ] || read -r l <"$f"
  [ "$l" = "$s" ] || { printf '%s\n' "$s" >"$f.$$.tmp" && mv "$f.$$.tmp" "$f"; }
  k=
  ! atlas_text status || k="\"cause\":\"$v\","
  printf '{"at":"%s","event":"stop","host":"%s","session_id":"%s","folder":"%s","workspace":"%s",%s"exit":0}\n' \
    "${t%??}:${t#"${t%??}"}" "$1" "$s" "$w" "$n" "$k" >>"$r/lifecycle.jsonl"
}

if atlas_is_quiet "$@" 2>/dev/null; then
  i=$(head -c 1048576)
  if ! atlas_is_plain "$4"; then
    { printf '%s' "$i" && cat; } | "$node" "$cli" "$@"
    exit
  fi
  t=$(date +%FT%T%z)
  l="No pending tasks. Write a short journal entry to .atlas/memory/${t%%T*}.md if you accomplished something relevant today."
  case $4 in
  claude) printf '%s\n' "$l" ;;
  cursor) printf '{}\n' ;;
  *) printf '{"systemMessage":"%s"}\n' "$l" ;;
  esac
  if [ -z "$later" ]; then
    atlas_note "$4" 2>/dev/null
  else
    # Nobody waits for it, so it keeps nobody.
    { printf '%s' "$i" | ATLAS_STOP_GATE=0 "$node" "$cli" "$@"; } >/dev/null 2>&1 &
  fi
  exit 0
fi
