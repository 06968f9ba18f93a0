"""The script for bash, from 3.2 on, which macOS has."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from pippin.cli.commands import COMMANDS
from pippin.cli.completion.offers import HELP_FLAG, Flag, Offer, flags_of, words_of

_SCRIPT = r"""# Completion of `pippin` in bash, made by: pippin completion bash

_pippin_words() {
    COMPREPLY=($(compgen -W "$1" -- "$cur"))
}

_pippin_paths() {
    local path
    compopt -o filenames 2>/dev/null
    while IFS= read -r path; do COMPREPLY+=("$path"); done < <(compgen "$1" -- "$cur")
}

_pippin_runs() {
    local file
    compopt -o filenames 2>/dev/null
    for file in "$cur"*/run.json "$cur"*/*/run.json; do
        [[ -e $file ]] && COMPREPLY+=("${file%/run.json}")
    done
    ((${#COMPREPLY[@]})) || _pippin_paths -d
}

_pippin() {
    local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} flags
    local job="@JOB@"
    COMPREPLY=()
    # bash takes --flag=value apart into three words.
    if [[ $cur == = ]]; then
        cur=
    elif [[ $prev == = ]]; then
        prev=${COMP_WORDS[COMP_CWORD-2]}
    fi
    if ((COMP_CWORD == 1)); then
        _pippin_words "@COMMANDS@ --help --version"
        return
    fi
    case "$command $prev" in
@VALUES@
    esac
    case $command in
@FLAGS@
    *) return ;;
    esac
    if [[ $cur == -* ]]; then
        _pippin_words "$flags"
        return
    fi
    case $command in
@WORDS@
    *) _pippin_words "$flags" ;;
    esac
}

complete -F _pippin pippin
"""


def bash_script() -> str:
    """The whole script."""
    flags = {name: [*flags_of(it, of_recipe=False), HELP_FLAG] for name, it in COMMANDS.items()}
    job = flags_of(COMMANDS["train"], of_recipe=True)
    own = [
        f'    {name}) flags="{"$job " * command.takes_recipe}{_names(flags[name])}" ;;'
        for name, command in COMMANDS.items()
    ]
    words = [f"    {name}) {action} ;;" for name, command in COMMANDS.items() if (action := _action(words_of(command)))]
    values = _values(job, "*") + [line for name in COMMANDS for line in _values(flags[name], name)]
    # What a command calls so itself comes before a job's setting of that name.
    parts = {"JOB": _names(job), "COMMANDS": " ".join(COMMANDS), "VALUES": "\n".join(reversed(values)),
             "FLAGS": "\n".join(own), "WORDS": "\n".join(words)}  # fmt: skip
    script = _SCRIPT
    for place, text in parts.items():
        script = script.replace(f"@{place}@", text)
    return script


def _names(flags: Iterable[Flag]) -> str:
    return " ".join(name for flag in flags for name in flag.names)


def _values(flags: Iterable[Flag], command: str) -> list[str]:
    """Lines of a case: behind which flags what is offered."""
    names: dict[Offer, list[str]] = defaultdict(list)
    for flag in flags:
        if flag.value:
            names[flag.offer] += [f'{command}" {name}"' for name in flag.names]
    return [
        f"    {'|'.join(places)}) {(_action(offer) + '; ').lstrip('; ')}return ;;" for offer, places in names.items()
    ]


def _action(offer: Offer) -> str:
    if offer.words:
        return f'_pippin_words "{" ".join(offer.words)}"'
    return {"": "", "files": "_pippin_paths -f", "folders": "_pippin_paths -d", "runs": "_pippin_runs"}[offer.paths]
