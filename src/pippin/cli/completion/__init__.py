"""`pippin completion SHELL`: a script by which a shell completes the words of `pippin` without starting Python."""

from __future__ import annotations

from pippin.cli.command_line import CommandLine
from pippin.cli.completion.bash import bash_script
from pippin.cli.completion.fish import fish_script
from pippin.cli.completion.offers import SHELLS
from pippin.cli.completion.zsh import zsh_script
from pippin.errors import PippinError, nearest

_SCRIPTS = dict(zip(SHELLS, (zsh_script, bash_script, fish_script), strict=True))


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    line.refuse()
    shell = line.words[0]
    if shell not in _SCRIPTS:
        raise PippinError(f"pippin completion {shell}: there are {', '.join(SHELLS)}.{nearest(shell, SHELLS)}")
    print(_SCRIPTS[shell](), end="")
    return 0
