function __statemachine_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __statemachine_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __statemachine_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __statemachine_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __statemachine_parse_tokens -S
    set -l unparsed_tokens (__statemachine_tokens -pc)
    switch $unparsed_tokens[1]
    case 'statemachine'
        __statemachine_parse_subcommand 0 'config=' 'check-config' 'runtime-directory=' 'log-level=' 'log-transitions=' 'state-directory=' 'ephemeral' 'durability=' 'keep-changes=' 'keep-days=' 'max-connections=' 'reserved-connections=' 'control-connections=' 'max-connections-per-uid=' 'accept-rate=' 'accept-burst=' 'max-watches=' 'max-waits=' 'max-holds=' 'max-guards=' 'max-replies=' 'ring-changes=' 'ring-bytes=' 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'help'
            __statemachine_parse_subcommand -r 1 'version'
        end
    end
end

function __statemachine_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __statemachine_parse_subcommand -S -a positional_count
    argparse -s r -- $argv
    set -l option_specs $argv[2..]
    set -l is_repeating_positional $_flag_r
    set -el _flag_r
    set -a commands $unparsed_tokens[1]
    set positional_index 0
    while true
        set -e unparsed_tokens[1]
        argparse -sn "$commands" $option_specs -- $unparsed_tokens 2> /dev/null
        set unparsed_tokens $argv
        set positional_index (math $positional_index + 1)
        for non_repeating_flag_or_option in $non_repeating_flags_or_options
            if set -ql "_flag_$(string replace -a - _ -- $non_repeating_flag_or_option)"
                set non_repeating_flags_or_options_absent 1
                break
            end
        end
        test (count $unparsed_tokens) -eq 0 -o \( -z "$is_repeating_positional" -a "$positional_index" -gt "$positional_count" \) && break
    end
end

function __statemachine_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __statemachine_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__statemachine_tokens -p)
    if test -z "$(__statemachine_tokens -t)"
        set -l index (count (__statemachine_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'statemachine' -f
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" config' -l 'config' -d 'The configuration file. (default: $STATEMACHINE_CONFIG, else /etc/statemachine/config.yaml if it is there)' -rfa '(for p in (string match -e -- \'*/\' (commandline -t);or printf \n)*.\'yaml\';printf %s\n $p;end;__fish_complete_directories (commandline -t) \'\')'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" check-config' -l 'check-config' -d 'Print what is in force and where each value came from, and end.'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" runtime-directory' -l 'runtime-directory' -d 'The directory for the sockets. (default: $RUNTIME_DIRECTORY where systemd sets it, else /run/statemachine for root, else $XDG_RUNTIME_DIR/statemachine)' -rfa '(__statemachine_complete_directories)'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" log-level' -l 'log-level' -d 'How much to log. (default: info)' -rfka 'trace debug info notice warning error critical'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" log-transitions' -l 'log-transitions' -d 'Changes of a second that are logged one by one; the rest is one line. (default: 20)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" state-directory' -l 'state-directory' -d 'The directory for the history; without one the state lives as long as the daemon. (default: $STATE_DIRECTORY where systemd sets it, else none)' -rfa '(__statemachine_complete_directories)'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" ephemeral' -l 'ephemeral' -d 'Keep nothing, whatever else is set.'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" durability' -l 'durability' -d 'What an answered set survives: commit, the daemon\'s death; disk, a power cut too. (default: commit)' -rfka 'commit disk'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" keep-changes' -l 'keep-changes' -d 'Changes kept in the history. (default: 1000000)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" keep-days' -l 'keep-days' -d 'Days for which they are kept. (default: 30)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" max-connections' -l 'max-connections' -d 'Connections at a time. (default: 512)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" reserved-connections' -l 'reserved-connections' -d 'How many of them only root and the daemon\'s own user may take. (default: 16)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" control-connections' -l 'control-connections' -d 'How many of them only clients of control.sock may take. (default: 16)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" max-connections-per-uid' -l 'max-connections-per-uid' -d 'Connections at a time of any other user. (default: 64)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" accept-rate' -l 'accept-rate' -d 'Connections a second of any other user; past it an accept waits. (default: 200)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" accept-burst' -l 'accept-burst' -d 'How many of them may come at once. (default: 100)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" max-watches' -l 'max-watches' -d 'Watches of a connection. (default: 8)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" max-waits' -l 'max-waits' -d 'Waits of a connection. (default: 32)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" max-holds' -l 'max-holds' -d 'Holds of a connection. (default: 8)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" max-guards' -l 'max-guards' -d 'Guards of a connection. (default: 8)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" max-replies' -l 'max-replies' -d 'Replies that may wait for a client; past it the client is not read. (default: 32)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" ring-changes' -l 'ring-changes' -d 'Changes kept for readers that fall behind. (default: 4096)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" ring-bytes' -l 'ring-bytes' -d 'Bytes of encoded changes kept for them. (default: 4194304)' -rfka ''
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" version' -l 'version' -d 'Show the version.'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_positional "statemachine" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'statemachine' -n '__statemachine_should_offer_completions_for_flags_or_options "statemachine help" version' -l 'version' -d 'Show the version.'
