# bash completion for kopshook
_kopshook() {
  local cur=${COMP_WORDS[COMP_CWORD]} words
  local IFS=$'\n'
  if [[ $cur == -* ]]; then
    words=$("${COMP_WORDS[@]:0:COMP_CWORD}" "$cur" --generate-bash-completion 2> /dev/null)
  else
    words=$("${COMP_WORDS[@]:0:COMP_CWORD}" --generate-bash-completion 2> /dev/null)
  fi
  mapfile -t COMPREPLY < <(compgen -W "${words//:*/}" -- "$cur")
}
complete -o default -F _kopshook kopshook
