#compdef statemachine

__statemachine_complete() {
    local -ar non_empty_completions=("${@:#(|:*)}")
    local -ar empty_completions=("${(M)@:#(|:*)}")
    _describe -V '' non_empty_completions -- empty_completions -P $'\'\''
}

__statemachine_custom_complete() {
    local -a completions
    completions=("${(@f)"$("${command_name}" "${@}" "${command_line[@]}")"}")
    if [[ "${#completions[@]}" -gt 1 ]]; then
        __statemachine_complete "${completions[@]:0:-1}"
    fi
}

__statemachine_cursor_index_in_current_word() {
    if [[ -z "${QIPREFIX}${IPREFIX}${PREFIX}" ]]; then
        printf 0
    else
        printf %s "${#${(z)LBUFFER}[-1]}"
    fi
}

_statemachine() {
    emulate -RL zsh -G
    setopt extendedglob nullglob numericglobsort
    unsetopt aliases banghist

    local -xr SAP_SHELL=zsh
    local -x SAP_SHELL_VERSION
    SAP_SHELL_VERSION="$(builtin emulate zsh -c 'printf %s "${ZSH_VERSION}"')"
    local -r SAP_SHELL_VERSION

    local context state state_descr line
    local -A opt_args

    local -r command_name="${words[1]}"
    local -ar command_line=("${words[@]}")
    local -ir current_word_index="$((CURRENT - 1))"

    local -i ret=1
    local -ar ___log_level=('trace' 'debug' 'info' 'notice' 'warning' 'error' 'critical')
    local -ar ___durability=('commit' 'disk')
    local -ar arg_specs=(
        '--config[The configuration file. (default\: $STATEMACHINE_CONFIG, else /etc/statemachine/config.yaml if it is there)]:file:_files -g '\''*.yaml'\'''
        '--check-config[Print what is in force and where each value came from, and end.]'
        '--runtime-directory[The directory for the sockets. (default\: $RUNTIME_DIRECTORY where systemd sets it, else /run/statemachine for root, else $XDG_RUNTIME_DIR/statemachine)]:dir:_files -/'
        '--log-level[How much to log. (default\: info)]:level:{__statemachine_complete "${___log_level[@]}"}'
        '--log-transitions[Changes of a second that are logged one by one; the rest is one line. (default\: 20)]:n:'
        '--state-directory[The directory for the history; without one the state lives as long as the daemon. (default\: $STATE_DIRECTORY where systemd sets it, else none)]:dir:_files -/'
        '--ephemeral[Keep nothing, whatever else is set.]'
        '--durability[What an answered set survives\: commit, the daemon'\''s death; disk, a power cut too. (default\: commit)]:durability:{__statemachine_complete "${___durability[@]}"}'
        '--keep-changes[Changes kept in the history. (default\: 1000000)]:n:'
        '--keep-days[Days for which they are kept. (default\: 30)]:n:'
        '--max-connections[Connections at a time. (default\: 512)]:n:'
        '--reserved-connections[How many of them only root and the daemon'\''s own user may take. (default\: 16)]:n:'
        '--control-connections[How many of them only clients of control.sock may take. (default\: 16)]:n:'
        '--max-connections-per-uid[Connections at a time of any other user. (default\: 64)]:n:'
        '--accept-rate[Connections a second of any other user; past it an accept waits. (default\: 200)]:n:'
        '--accept-burst[How many of them may come at once. (default\: 100)]:n:'
        '--max-watches[Watches of a connection. (default\: 8)]:n:'
        '--max-waits[Waits of a connection. (default\: 32)]:n:'
        '--max-holds[Holds of a connection. (default\: 8)]:n:'
        '--max-guards[Guards of a connection. (default\: 8)]:n:'
        '--max-replies[Replies that may wait for a client; past it the client is not read. (default\: 32)]:n:'
        '--ring-changes[Changes kept for readers that fall behind. (default\: 4096)]:n:'
        '--ring-bytes[Bytes of encoded changes kept for them. (default\: 4194304)]:n:'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
        '(-): :->command'
        '(-)*:: :->arg'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0
    case "${state}" in
    command)
        local -ar subcommands=(
            'help:Show subcommand help information.'
        )
        _describe -V subcommand subcommands && ret=0
        ;;
    arg)
        case "${words[1]}" in
        help)
            "_statemachine_${words[1]}" && ret=0
            ;;
        esac
        ;;
    esac

    return "${ret}"
}

_statemachine_help() {
    local -i ret=1
    local -ar arg_specs=(
        '*:subcommands:'
        '--version[Show the version.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

if [[ "${funcstack[1]}" = _statemachine ]]; then
    _statemachine "${@}"
else
    compdef _statemachine statemachine
fi
