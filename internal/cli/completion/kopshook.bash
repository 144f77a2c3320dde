# bash completion for kopshook
_kopshook() {
  local cur=${COMP_WORDS[COMP_CWORD]} IFS=$'\n' words
  local -a asked=("${COMP_WORDS[@]:0:COMP_CWORD}")
  if [[ $cur == -* ]]; then
    asked+=("$cur")
  fi
  # in another shell's environment it would print what words mean, too
  words=$(SHELL=bash "${asked[@]}" --generate-bash-completion 2> /dev/null)
  mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}
complete -o default -F _kopshook kopshook
