"""The script for fish."""

from __future__ import annotations

from pippin.cli.commands import COMMANDS
from pippin.cli.completion.offers import HELP_FLAG, Flag, Offer, flags_of, words_of

_START = r"""# Completion of `pippin` in fish, made by: pippin completion fish

function __pippin_is
    set -l words (commandline -opc)
    test (count $words) -gt 1; and contains -- $words[2] $argv
end

function __pippin_begins
    test (count (commandline -opc)) -eq 1
end

function __pippin_runs
    set -l start (commandline -ct)
    set -l runs $start*/run.json $start*/*/run.json
    if set -q runs[1]
        string replace -r '/run\.json$' '' -- $runs
    else
        __fish_complete_directories
    end
end

complete -c pippin -f
complete -c pippin -n __pippin_begins -s h -l help -d 'Show the commands'
complete -c pippin -n __pippin_begins -s V -l version -d 'Print the version'
"""


def fish_script() -> str:
    """The whole script."""
    lines = [f"complete -c pippin -n __pippin_begins -a {it.name} -d {_quoted(it.summary)}" for it in COMMANDS.values()]
    takers = " ".join(name for name, command in COMMANDS.items() if command.takes_recipe)
    lines += [_flag(flag, takers) for flag in flags_of(COMMANDS["train"], of_recipe=True)]
    for name, command in COMMANDS.items():
        lines += [_flag(flag, name) for flag in [*flags_of(command, of_recipe=False), HELP_FLAG]]
        if action := _action(words_of(command)):
            lines.append(f"complete -c pippin -n '__pippin_is {name}' {action}")
    return _START + "\n".join(lines) + "\n"


def _flag(flag: Flag, commands: str) -> str:
    names = " ".join(f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in flag.names)
    value = "-x " * bool(flag.value) + _action(flag.offer)
    value = value.replace("-x -F", "-r -F").strip()  # -x would say: no files
    return f"complete -c pippin -n '__pippin_is {commands}' {names} -d {_quoted(flag.help)} {value}".rstrip()


def _action(offer: Offer) -> str:
    if offer.words:
        return f"-a {_quoted(' '.join(offer.words))}"
    return {
        "": "",
        "files": "-F",
        "folders": "-a '(__fish_complete_directories)'",
        "runs": "-a '(__pippin_runs)'",
    }[offer.paths]


def _quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
