#!/bin/bash

__statectl_cursor_index_in_current_word() {
    local remaining="${COMP_LINE}"

    local word
    for word in "${COMP_WORDS[@]::COMP_CWORD}"; do
        remaining="${remaining##*([[:space:]])"${word}"*([[:space:]])}"
    done

    local -ir index="$((COMP_POINT - ${#COMP_LINE} + ${#remaining}))"
    if [[ "${index}" -le 0 ]]; then
        printf 0
    else
        printf %s "${index}"
    fi
}

# positional arguments:
#
# - 1: the current (sub)command's count of positional arguments
#
# required variables:
#
# - repeating_flags: the repeating flags that the current (sub)command can accept
# - non_repeating_flags: the non-repeating flags that the current (sub)command can accept
# - repeating_options: the repeating options that the current (sub)command can accept
# - non_repeating_options: the non-repeating options that the current (sub)command can accept
# - positional_number: value ignored
# - unparsed_words: unparsed words from the current command line
#
# modified variables:
#
# - non_repeating_flags: remove flags for this (sub)command that are already on the command line
# - non_repeating_options: remove options for this (sub)command that are already on the command line
# - positional_number: set to the current positional number
# - unparsed_words: remove all flags, options, and option values for this (sub)command
__statectl_offer_flags_options() {
    local -ir positional_count="${1}"
    positional_number=0

    local was_flag_option_terminator_seen=false
    local is_parsing_option_value=false

    local -ar unparsed_word_indices=("${!unparsed_words[@]}")
    local -i word_index
    for word_index in "${unparsed_word_indices[@]}"; do
        if "${is_parsing_option_value}"; then
            # This word is an option value:
            # Reset marker for next word iff not currently the last word
            [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]] && is_parsing_option_value=false
            unset "unparsed_words[${word_index}]"
            # Do not process this word as a flag or an option
            continue
        fi

        local word="${unparsed_words["${word_index}"]}"
        if ! "${was_flag_option_terminator_seen}"; then
            case "${word}" in
            --)
                unset "unparsed_words[${word_index}]"
                # by itself -- is a flag/option terminator, but if it is the last word, it is the start of a completion
                if [[ "${word_index}" -ne "${unparsed_word_indices[${#unparsed_word_indices[@]} - 1]}" ]]; then
                    was_flag_option_terminator_seen=true
                fi
                continue
                ;;
            -*)
                # ${word} is a flag or an option
                # If ${word} is an option, mark that the next word to be parsed is an option value
                local option
                for option in "${repeating_options[@]}" "${non_repeating_options[@]}"; do
                    [[ "${word}" = "${option}" ]] && is_parsing_option_value=true && break
                done

                # Remove ${word} from ${non_repeating_flags} or ${non_repeating_options} so it isn't offered again
                local not_found=true
                local -i index
                for index in "${!non_repeating_flags[@]}"; do
                    if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                        unset "non_repeating_flags[${index}]"
                        non_repeating_flags=("${non_repeating_flags[@]}")
                        not_found=false
                        break
                    fi
                done
                if "${not_found}"; then
                    for index in "${!non_repeating_flags[@]}"; do
                        if [[ "${non_repeating_flags[${index}]}" = "${word}" ]]; then
                            unset "non_repeating_flags[${index}]"
                            non_repeating_flags=("${non_repeating_flags[@]}")
                            break
                        fi
                    done
                fi
                unset "unparsed_words[${word_index}]"
                continue
                ;;
            esac
        fi

        # ${word} is neither a flag, nor an option, nor an option value
        if [[ "${positional_number}" -lt "${positional_count}" || "${positional_count}" -lt 0 ]]; then
            # ${word} is a positional
            ((positional_number++))
            unset "unparsed_words[${word_index}]"
        else
            if [[ -z "${word}" ]]; then
                # Could be completing a flag, option, or subcommand
                positional_number=-1
            else
                # ${word} is a subcommand or invalid, so stop processing this (sub)command
                positional_number=-2
            fi
            break
        fi
    done

    unparsed_words=("${unparsed_words[@]}")

    if\
        ! "${was_flag_option_terminator_seen}"\
        && ! "${is_parsing_option_value}"\
        && [[ ("${cur}" = -* && "${positional_number}" -ge 0) || "${positional_number}" -eq -1 ]]
    then
        COMPREPLY+=($(compgen -W "${repeating_flags[*]} ${non_repeating_flags[*]} ${repeating_options[*]} ${non_repeating_options[*]}" -- "${cur}"))
    fi
}

__statectl_add_completions() {
    local completion
    while IFS='' read -r completion; do
        COMPREPLY+=("${completion}")
    done < <(IFS=$'\n' compgen "${@}" -- "${cur}")
}

__statectl_custom_complete() {
    if [[ -n "${cur}" || -z ${COMP_WORDS[${COMP_CWORD}]} || "${COMP_LINE:${COMP_POINT}:1}" != ' ' ]]; then
        local -ar words=("${COMP_WORDS[@]}")
    else
        local -ar words=("${COMP_WORDS[@]::${COMP_CWORD}}" '' "${COMP_WORDS[@]:${COMP_CWORD}}")
    fi

    # compgen expands its list: a word that could be anything else is not offered.
    local word
    while IFS= read -r word; do
        [[ "${word}" = *[!A-Za-z0-9_.:=-]* ]] || printf '%s\n' "${word}"
    done < <("${COMP_WORDS[0]}" "${@}" "${words[@]}")
}

_statectl() {
    local state
    state="$(shopt -p;shopt -po)"
    trap "${state//$'\n'/;}" RETURN
    shopt -s extglob
    set +o history +o posix

    local -xr SAP_SHELL=bash
    local -x SAP_SHELL_VERSION
    SAP_SHELL_VERSION="$(IFS='.';printf %s "${BASH_VERSINFO[*]}")"
    local -r SAP_SHELL_VERSION

    local -r cur="${2}"
    local -r prev="${3}"

    local -i positional_number
    local -a unparsed_words=("${COMP_WORDS[@]:1:${COMP_CWORD}}")

    local -a repeating_flags=()
    local -a non_repeating_flags=(--json --version -h --help)
    local -a repeating_options=()
    local -a non_repeating_options=(--runtime-directory --color)
    __statectl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer subcommand / subcommand argument completions
    local -r subcommand="${unparsed_words[0]}"
    unset 'unparsed_words[0]'
    unparsed_words=("${unparsed_words[@]}")
    case "${subcommand}" in
    get|set|watch|wait|is|describe|ping|history|stats|hold|release|guard|help)
        # Offer subcommand argument completions
        "_statectl_${subcommand}"
        ;;
    *)
        # Offer subcommand completions
        COMPREPLY+=($(compgen -W 'get set watch wait is describe ping history stats hold release guard help' -- "${cur}"))
        ;;
    esac
}

_statectl_get() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--runtime-directory --color)
    __statectl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac
}

_statectl_set() {
    repeating_flags=()
    non_repeating_flags=(--json --reenter --version -h --help)
    repeating_options=()
    non_repeating_options=(--runtime-directory --color --if-seq --if-state --cause)
    __statectl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    '--if-seq')
        return
        ;;
    '--if-state')
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion set -- --if-state "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    '--cause')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    1)
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion set -- positional@0 "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    *)
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion set -- positional@1 "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_statectl_watch() {
    repeating_flags=()
    non_repeating_flags=(--json --latest --version -h --help)
    repeating_options=(--until --exec)
    non_repeating_options=(--runtime-directory --color --count --since --cursor-file --every --beat)
    __statectl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    '--count')
        return
        ;;
    '--since')
        return
        ;;
    '--cursor-file')
        __statectl_add_completions -f
        return
        ;;
    '--every')
        return
        ;;
    '--beat')
        return
        ;;
    '--until')
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion watch -- --until "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    '--exec')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion watch -- positional@0 "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_statectl_wait() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=(--fail)
    non_repeating_options=(--runtime-directory --color --timeout --since)
    __statectl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    '--fail')
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion wait -- --fail "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    '--timeout')
        return
        ;;
    '--since')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion wait -- positional@0 "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_statectl_is() {
    repeating_flags=()
    non_repeating_flags=(--json --quiet -q --version -h --help)
    repeating_options=()
    non_repeating_options=(--runtime-directory --color)
    __statectl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion is -- positional@0 "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_statectl_describe() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--runtime-directory --color)
    __statectl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac
}

_statectl_ping() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--runtime-directory --color)
    __statectl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac
}

_statectl_history() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--runtime-directory --color --since --limit)
    __statectl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    '--since')
        return
        ;;
    '--limit')
        return
        ;;
    esac

    # Offer positional completions
    case "${positional_number}" in
    *)
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion history -- positional@0 "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    esac
}

_statectl_stats() {
    repeating_flags=()
    non_repeating_flags=(--json --prometheus --version -h --help)
    repeating_options=()
    non_repeating_options=(--runtime-directory --color)
    __statectl_offer_flags_options 0

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac
}

_statectl_hold() {
    repeating_flags=()
    non_repeating_flags=(--json --verbose --version -h --help)
    repeating_options=(--before)
    non_repeating_options=(--runtime-directory --color --mode --max --why)
    __statectl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    '--before')
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion hold -- --before "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    '--mode')
        __statectl_add_completions -W 'block'$'\n''delay'
        return
        ;;
    '--max')
        return
        ;;
    '--why')
        return
        ;;
    esac
}

_statectl_release() {
    repeating_flags=()
    non_repeating_flags=(--json --version -h --help)
    repeating_options=()
    non_repeating_options=(--runtime-directory --color)
    __statectl_offer_flags_options 1

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    esac
}

_statectl_guard() {
    repeating_flags=()
    non_repeating_flags=(--json --verbose --version -h --help)
    repeating_options=(--before)
    non_repeating_options=(--runtime-directory --color --timeout --on-timeout --why)
    __statectl_offer_flags_options -1

    # Offer option value completions
    case "${prev}" in
    '--runtime-directory')
        __statectl_add_completions -d
        return
        ;;
    '--color')
        __statectl_add_completions -W 'auto'$'\n''always'$'\n''never'
        return
        ;;
    '--before')
        __statectl_add_completions -W "$(__statectl_custom_complete ---completion guard -- --before "${COMP_CWORD}" "$(__statectl_cursor_index_in_current_word)")"
        return
        ;;
    '--timeout')
        return
        ;;
    '--on-timeout')
        __statectl_add_completions -W 'allow'$'\n''deny'
        return
        ;;
    '--why')
        return
        ;;
    esac
}

_statectl_help() {
    repeating_flags=()
    non_repeating_flags=(--version)
    repeating_options=()
    non_repeating_options=()
    __statectl_offer_flags_options -1
}

complete -o filenames -F _statectl statectl
