"""The script for zsh: sourced, or as a file `_pippin` in a folder of $fpath."""

from __future__ import annotations

from pippin.cli.commands import COMMANDS, Command
from pippin.cli.completion.offers import HELP_FLAG, Flag, Offer, flags_of, words_of

_SCRIPT = r"""#compdef pippin
# Completion of `pippin` in zsh, made by: pippin completion zsh

_pippin_runs() {
    local -a runs expl
    runs=(${(Q)PREFIX}*/run.json(N:h) ${(Q)PREFIX}*/*/run.json(N:h))
    if (($#runs)); then
        _wanted runs expl 'run' compadd -f -a runs
    else
        _files -/
    fi
}

_pippin() {
    local curcontext=$curcontext state line ret=1
    typeset -A opt_args
    local -a commands=(
@COMMANDS@
    )
    local -a job=(
@JOB@
    )
    _arguments -C '(- *)'{-h,--help}'[Show the commands]' '(- *)'{-V,--version}'[Print the version]' \
        '1:command:->command' '*::word:->words' && ret=0
    case $state in
    command) _describe -t commands command commands && ret=0 ;;
    words)
        case $words[1] in
@CASES@
        esac ;;
    esac
    return ret
}

if [[ $funcstack[1] == _pippin ]]; then
    _pippin "$@"
else
    compdef _pippin pippin
fi
"""


def zsh_script() -> str:
    """The whole script."""
    parts = {
        "COMMANDS": [f"        {_quoted(f'{it.name}:{it.summary}')}" for it in COMMANDS.values()],
        "JOB": [f"        {spec}" for flag in flags_of(COMMANDS["train"], of_recipe=True) for spec in _specs(flag)],
        "CASES": [_case(command) for command in COMMANDS.values()],
    }
    script = _SCRIPT
    for place, lines in parts.items():
        script = script.replace(f"@{place}@", "\n".join(lines))
    return script


def _case(command: Command) -> str:
    own = [*flags_of(command, of_recipe=False), HELP_FLAG]
    specs = [spec for flag in own for spec in _specs(flag)]
    if command.word:
        specs.append(_quoted(f"{'*' if command.most != 1 else '1'}:{command.word}:{_action(words_of(command))}"))
    every = [*(["$job"] if command.takes_recipe else []), *specs]
    return f"        {command.name}) _arguments {' '.join(every)} && ret=0 ;;"


def _specs(flag: Flag) -> list[str]:
    """How `_arguments` is told of a flag, once for each of its names."""
    others = "*" if flag.repeats else f"({' '.join(flag.names)})" if len(flag.names) > 1 else ""
    help = "".join(f"\\{letter}" if letter in "[]:\\" else letter for letter in flag.help)
    value = f":{flag.value}:{_action(flag.offer)}" if flag.value else ""
    equals = "=" if flag.value else ""
    return [_quoted(f"{others}{name}{equals * name.startswith('--')}[{help}]{value}") for name in flag.names]


def _action(offer: Offer) -> str:
    if offer.words:
        return f"({' '.join(offer.words)})"
    return {"": " ", "files": "_files", "folders": "_files -/", "runs": "_pippin_runs"}[offer.paths]


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"
