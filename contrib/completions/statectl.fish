function __statectl_should_offer_completions_for_flags_or_options -a expected_commands
    set -l non_repeating_flags_or_options $argv[2..]
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __statectl_parse_tokens
    test "$commands" = "$expected_commands"; and return $non_repeating_flags_or_options_absent
end

function __statectl_should_offer_completions_for_positional -a expected_commands positional_index_comparison expected_positional_index
    set -l non_repeating_flags_or_options
    set -l non_repeating_flags_or_options_absent 0
    set -l positional_index 0
    set -l commands
    __statectl_parse_tokens
    test "$commands" = "$expected_commands" -a \( "$positional_index" "$positional_index_comparison" "$expected_positional_index" \)
end

function __statectl_parse_tokens -S
    set -l unparsed_tokens (__statectl_tokens -pc)
    switch $unparsed_tokens[1]
    case 'statectl'
        __statectl_parse_subcommand 0 'runtime-directory=' 'json' 'color=' 'version' 'h/help'
        switch $unparsed_tokens[1]
        case 'get'
            __statectl_parse_subcommand 0 'runtime-directory=' 'json' 'color=' 'version' 'h/help'
        case 'set'
            __statectl_parse_subcommand -r 2 'runtime-directory=' 'json' 'color=' 'if-seq=' 'if-state=' 'reenter' 'cause=' 'version' 'h/help'
        case 'watch'
            __statectl_parse_subcommand -r 1 'runtime-directory=' 'json' 'color=' 'count=' 'since=' 'cursor-file=' 'latest' 'every=' 'beat=' 'until=+' 'exec=+' 'version' 'h/help'
        case 'wait'
            __statectl_parse_subcommand -r 1 'runtime-directory=' 'json' 'color=' 'fail=+' 'timeout=' 'since=' 'version' 'h/help'
        case 'is'
            __statectl_parse_subcommand -r 1 'runtime-directory=' 'json' 'color=' 'q/quiet' 'version' 'h/help'
        case 'describe'
            __statectl_parse_subcommand 0 'runtime-directory=' 'json' 'color=' 'version' 'h/help'
        case 'ping'
            __statectl_parse_subcommand 0 'runtime-directory=' 'json' 'color=' 'version' 'h/help'
        case 'history'
            __statectl_parse_subcommand -r 1 'runtime-directory=' 'json' 'color=' 'since=' 'limit=' 'version' 'h/help'
        case 'stats'
            __statectl_parse_subcommand 0 'runtime-directory=' 'json' 'color=' 'prometheus' 'version' 'h/help'
        case 'hold'
            __statectl_parse_subcommand -r 1 'runtime-directory=' 'json' 'color=' 'before=+' 'mode=' 'max=' 'why=' 'verbose' 'version' 'h/help'
        case 'release'
            __statectl_parse_subcommand 1 'runtime-directory=' 'json' 'color=' 'version' 'h/help'
        case 'guard'
            __statectl_parse_subcommand -r 1 'runtime-directory=' 'json' 'color=' 'before=+' 'timeout=' 'on-timeout=' 'why=' 'verbose' 'version' 'h/help'
        case 'help'
            __statectl_parse_subcommand -r 1 'version'
        end
    end
end

function __statectl_tokens
    if test (string split -m 1 -f 1 -- . "$FISH_VERSION") -gt 3
        commandline --tokens-raw $argv
    else
        commandline -o $argv
    end
end

function __statectl_parse_subcommand -S -a positional_count
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

function __statectl_complete_directories
    set -l token (commandline -t)
    string match -- '*/' $token
    set -l subdirs $token*/
    printf %s\n $subdirs
end

function __statectl_custom_completion
    set -x SAP_SHELL fish
    set -x SAP_SHELL_VERSION $FISH_VERSION
    set -l tokens (__statectl_tokens -p)
    if test -z "$(__statectl_tokens -t)"
        set -l index (count (__statectl_tokens -pc))
        set tokens $tokens[..$index] \'\' $tokens[(math $index + 1)..]
    end
    command $tokens[1] $argv $tokens
end

complete -c 'statectl' -f
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'get' -d 'Show the current state.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'set' -d 'Set the state.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'watch' -d 'Show the state and every change as it happens.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'wait' -d 'Wait until a state is reached.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'is' -d 'Tell whether the current state is one of these.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'describe' -d 'Show the states, what may follow what, the operations and the limits.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'ping' -d 'Ask the daemon for a sign of life.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'history' -d 'Show the changes that the daemon still has, oldest first.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'stats' -d 'Show who is connected, how far behind, and the daemon\'s counters.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'hold' -d 'Keep states from being entered while a command runs.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'release' -d 'Give back a hold, one\'s own or, for root, anybody\'s.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'guard' -d 'Let a command decide whether states may be entered.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl" -eq 1' -fa 'help' -d 'Show subcommand help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl get" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl get" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl get" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl get" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl get" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl set" -eq 1' -fka '(__statectl_custom_completion ---completion set -- positional@0 (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl set" -ge 2' -fka '(__statectl_custom_completion ---completion set -- positional@1 (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" if-seq' -l 'if-seq' -d 'Only if the machine is at this number.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" if-state' -l 'if-state' -d 'Only if the current state matches.' -rfka '(__statectl_custom_completion ---completion set -- --if-state (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" reenter' -l 'reenter' -d 'Make a transition even if the state is the same.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" cause' -l 'cause' -d 'Why, for those who see the change.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl set" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl watch" -ge 1' -fka '(__statectl_custom_completion ---completion watch -- positional@0 (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" count' -l 'count' -d 'End after so many lines.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" since' -l 'since' -d 'Begin with the changes after this cursor.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" cursor-file' -l 'cursor-file' -d 'Go on from the cursor in this file, if it is there, and keep it up to date.' -rF
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" latest' -l 'latest' -d 'Leave out changes that are not the newest any more.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" every' -l 'every' -d 'At most one change in so much time.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" beat' -l 'beat' -d 'A line after so much silence, too.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch"' -l 'until' -d 'End, with exit code 0, once in this state.' -rfka '(__statectl_custom_completion ---completion watch -- --until (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch"' -l 'exec' -d 'Run this for each line; the last option.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl watch" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl wait" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl wait" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl wait" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl wait" -ge 1' -fka '(__statectl_custom_completion ---completion wait -- positional@0 (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl wait"' -l 'fail' -d 'States that end the wait with exit code 1.' -rfka '(__statectl_custom_completion ---completion wait -- --fail (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl wait" timeout' -l 'timeout' -d 'Give up after this time, with exit code 124.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl wait" since' -l 'since' -d 'Take the changes after this cursor into account.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl wait" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl wait" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl is" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl is" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl is" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl is" -ge 1' -fka '(__statectl_custom_completion ---completion is -- positional@0 (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl is" q quiet' -l 'quiet' -s 'q' -d 'Show nothing; the exit code is the answer.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl is" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl is" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl describe" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl describe" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl describe" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl describe" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl describe" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl ping" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl ping" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl ping" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl ping" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl ping" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl history" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl history" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl history" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_positional "statectl history" -ge 1' -fka '(__statectl_custom_completion ---completion history -- positional@0 (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl history" since' -l 'since' -d 'Only the changes after this cursor.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl history" limit' -l 'limit' -d 'At most so many (default: 1000).' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl history" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl history" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl stats" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl stats" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl stats" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl stats" prometheus' -l 'prometheus' -d 'Print the numbers in Prometheus\'s text format 0.0.4.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl stats" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl stats" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold"' -l 'before' -d 'States that are not to be entered.' -rfka '(__statectl_custom_completion ---completion hold -- --before (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" mode' -l 'mode' -d 'Whether a set is refused or has to wait (default: block).' -rfka 'block delay'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" max' -l 'max' -d 'With delay: how long a set waits.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" why' -l 'why' -d 'Why, for whoever is refused.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" verbose' -l 'verbose' -d 'Say on standard error when the hold is taken.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl hold" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl release" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl release" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl release" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl release" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl release" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" runtime-directory' -l 'runtime-directory' -d 'Where the daemon\'s sockets are.' -rfa '(__statectl_complete_directories)'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" json' -l 'json' -d 'Print the protocol\'s lines as they are.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" color' -l 'color' -d 'When to colour the text.' -rfka 'auto always never'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard"' -l 'before' -d 'States to be asked about.' -rfka '(__statectl_custom_completion ---completion guard -- --before (count (__statectl_tokens -pc)) (__statectl_tokens -tC))'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" timeout' -l 'timeout' -d 'How long the daemon waits (default: 1).' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" on-timeout' -l 'on-timeout' -d 'What no answer in time counts as (default: allow).' -rfka 'allow deny'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" why' -l 'why' -d 'The reason where the command gives none.' -rfka ''
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" verbose' -l 'verbose' -d 'Say on standard error when the guard is registered.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" version' -l 'version' -d 'Show the version.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl guard" h help' -s 'h' -l 'help' -d 'Show help information.'
complete -c 'statectl' -n '__statectl_should_offer_completions_for_flags_or_options "statectl help" version' -l 'version' -d 'Show the version.'
