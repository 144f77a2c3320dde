# bash completion for kopshook
_kopshook() {
  local cur=${COMP_WORDS[COMP_CWORD]} word
  local -a asked=("${COMP_WORDS[@]:0:COMP_CWORD}")
  if [[ $cur == -* ]]; then
    asked+=("$cur")
  fi
  COMPREPLY=()
  # compgen -W would run what is in words; in another shell's environment kopshook would print what they mean, too
  while IFS= read -r word; do
    [[ $word != "$cur"* ]] || COMPREPLY+=("$word")
  done < <(SHELL=bash "${asked[@]}" --generate-bash-completion 2> /dev/null)
}
complete -o default -F _kopshook kopshook
