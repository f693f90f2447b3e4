#compdef statectl

__statectl_complete() {
    local -ar non_empty_completions=("${@:#(|:*)}")
    local -ar empty_completions=("${(M)@:#(|:*)}")
    _describe -V '' non_empty_completions -- empty_completions -P $'\'\''
}

__statectl_custom_complete() {
    local -a completions
    completions=("${(@f)"$("${command_name}" "${@}" "${command_line[@]}")"}")
    if [[ "${#completions[@]}" -gt 1 ]]; then
        __statectl_complete "${completions[@]:0:-1}"
    fi
}

__statectl_cursor_index_in_current_word() {
    if [[ -z "${QIPREFIX}${IPREFIX}${PREFIX}" ]]; then
        printf 0
    else
        printf %s "${#${(z)LBUFFER}[-1]}"
    fi
}

_statectl() {
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
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
        '(-): :->command'
        '(-)*:: :->arg'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0
    case "${state}" in
    command)
        local -ar subcommands=(
            'get:Show the current state.'
            'set:Set the state.'
            'watch:Show the state and every change as it happens.'
            'wait:Wait until a state is reached.'
            'is:Tell whether the current state is one of these.'
            'describe:Show the states, what may follow what, the operations and the limits.'
            'ping:Ask the daemon for a sign of life.'
            'history:Show the changes that the daemon still has, oldest first.'
            'stats:Show who is connected, how far behind, and the daemon'\''s counters.'
            'hold:Keep states from being entered while a command runs.'
            'release:Give back a hold, one'\''s own or, for root, anybody'\''s.'
            'guard:Let a command decide whether states may be entered.'
            'help:Show subcommand help information.'
        )
        _describe -V subcommand subcommands && ret=0
        ;;
    arg)
        case "${words[1]}" in
        get|set|watch|wait|is|describe|ping|history|stats|hold|release|guard|help)
            "_statectl_${words[1]}" && ret=0
            ;;
        esac
        ;;
    esac

    return "${ret}"
}

_statectl_get() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_set() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        ':state:{__statectl_custom_complete ---completion set -- positional@0 "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '*:key=value:{__statectl_custom_complete ---completion set -- positional@1 "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--if-seq[Only if the machine is at this number.]:n:'
        '--if-state[Only if the current state matches.]:pattern:{__statectl_custom_complete ---completion set -- --if-state "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--reenter[Make a transition even if the state is the same.]'
        '--cause[Why, for those who see the change.]:text:'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_watch() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '*:pattern:{__statectl_custom_complete ---completion watch -- positional@0 "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--count[End after so many lines.]:n:'
        '--since[Begin with the changes after this cursor.]:cursor:'
        '--cursor-file[Go on from the cursor in this file, if it is there, and keep it up to date.]:file:_files'
        '--latest[Leave out changes that are not the newest any more.]'
        '--every[At most one change in so much time.]:seconds:'
        '--beat[A line after so much silence, too.]:seconds:'
        '--until[End, with exit code 0, once in this state.]:pattern:{__statectl_custom_complete ---completion watch -- --until "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--exec[Run this for each line; the last option.]:command:'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_wait() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '*:pattern:{__statectl_custom_complete ---completion wait -- positional@0 "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--fail[States that end the wait with exit code 1.]:pattern:{__statectl_custom_complete ---completion wait -- --fail "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--timeout[Give up after this time, with exit code 124.]:seconds:'
        '--since[Take the changes after this cursor into account.]:cursor:'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_is() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '*:pattern:{__statectl_custom_complete ---completion is -- positional@0 "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '(--quiet -q)'{--quiet,-q}'[Show nothing; the exit code is the answer.]'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_describe() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_ping() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_history() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '*:pattern:{__statectl_custom_complete ---completion history -- positional@0 "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--since[Only the changes after this cursor.]:cursor:'
        '--limit[At most so many (default\: 1000).]:n:'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_stats() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '--prometheus[Print the numbers in Prometheus'\''s text format 0.0.4.]'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_hold() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar ___mode=('block' 'delay')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '--before[States that are not to be entered.]:pattern:{__statectl_custom_complete ---completion hold -- --before "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--mode[Whether a set is refused or has to wait (default\: block).]:mode:{__statectl_complete "${___mode[@]}"}'
        '--max[With delay\: how long a set waits.]:seconds:'
        '--why[Why, for whoever is refused.]:text:'
        '--verbose[Say on standard error when the hold is taken.]'
        '*:command:'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_release() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        ':n:'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_guard() {
    local -i ret=1
    local -ar ___color=('auto' 'always' 'never')
    local -ar ___on_timeout=('allow' 'deny')
    local -ar arg_specs=(
        '--runtime-directory[Where the daemon'\''s sockets are.]:dir:_files -/'
        '--json[Print the protocol'\''s lines as they are.]'
        '--color[When to colour the text.]:color:{__statectl_complete "${___color[@]}"}'
        '--before[States to be asked about.]:pattern:{__statectl_custom_complete ---completion guard -- --before "${current_word_index}" "$(__statectl_cursor_index_in_current_word)"}'
        '--timeout[How long the daemon waits (default\: 1).]:seconds:'
        '--on-timeout[What no answer in time counts as (default\: allow).]:on-timeout:{__statectl_complete "${___on_timeout[@]}"}'
        '--why[The reason where the command gives none.]:text:'
        '--verbose[Say on standard error when the guard is registered.]'
        '*:command:'
        '--version[Show the version.]'
        '(-h --help)'{-h,--help}'[Show help information.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

_statectl_help() {
    local -i ret=1
    local -ar arg_specs=(
        '*:subcommands:'
        '--version[Show the version.]'
    )
    _arguments -w -s -S : "${arg_specs[@]}" && ret=0

    return "${ret}"
}

if [[ "${funcstack[1]}" = _statectl ]]; then
    _statectl "${@}"
else
    compdef _statectl statectl
fi
