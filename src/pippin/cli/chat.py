"""`pippin chat`: talk with a language model on a terminal, or have it answer prompts."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from pippin.cli.command_line import CommandLine
from pippin.cli.device_errors import device_errors
from pippin.cli.flags import ChatFlags
from pippin.cli.output_file import output_problem
from pippin.cli.remarks import say
from pippin.data.kinds import kind_of
from pippin.errors import collecting
from pippin.machine.drivers import check_device_name
from pippin.text import visible

#: Flags that are settings of transformers' generate, the least value of each, and words for it.
_SETTINGS: dict[str, tuple[float, str]] = {
    "max_new_tokens": (1, "at least 1"),
    "temperature": (0, "0 or more"),
    "top_p": (0, "between 0 and 1"),
    "top_k": (0, "0 (all tokens) or more"),
    "repetition_penalty": (1e-6, "more than 0"),
}


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    flags: ChatFlags = line.flags
    talks = flags.text is None and flags.file is None and _is_terminal()
    line.refuse([*_contradictions(flags, talks), *_settings_problems(flags), *_output_problems(flags)])
    settings = {name: getattr(flags, name) for name in _SETTINGS if getattr(flags, name) is not None}
    settings |= flags.generate or {}
    if talks:
        _talk(line.words[0], flags, settings)
    else:
        from pippin.cli.chat_answers import answer

        answer(line.words[0], flags, settings)
    return 0


def _is_terminal() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _contradictions(flags: ChatFlags, talks: bool) -> Iterator[str]:
    if flags.text and flags.file:
        yield "--text and --file exclude each other."
    if any(not text.strip() for text in flags.text or ()):
        yield "--text is empty: there is nothing to answer."
    for name in ("text_column", "column_names", "no_header"):
        if getattr(flags, name) and not flags.file:
            yield f"--{name} goes with --file: it is about that file."
    if flags.complete and flags.system:
        yield "--complete and --system exclude each other: without a chat there is no system message."
    if flags.output and talks:
        yield "--output goes with --text, --file or prompts on standard input."


def _settings_problems(flags: ChatFlags) -> Iterator[str]:
    for name, (least, words) in _SETTINGS.items():
        value = getattr(flags, name)
        if value is not None and (value < least or (name == "top_p" and value > 1)):
            yield f"--{name} {value} must be {words}."
        if value is not None and name in (flags.generate or {}):
            yield f"--{name} stands in --generate too. Keep one."
    if flags.seed is not None and not 0 <= flags.seed < 2**63:
        yield f"--seed {flags.seed} must be between 0 and 2**63."


def _output_problems(flags: ChatFlags) -> list[str]:
    found = []
    if flags.overwrite and not flags.output:
        found.append("--overwrite goes with --output: it is about that file.")
    if flags.output:
        path, standard_input = Path(flags.output), 0
        if kind_of(path) not in (".csv", ".jsonl"):
            found.append(f"--output {path}: the name must end in .csv or .jsonl.")
        problem = output_problem("--output", path, flags.overwrite, [flags.file or standard_input, standard_input])
        found += [problem] if problem else []
    if flags.device:
        with collecting(found):
            check_device_name(flags.device)
    return found


def _talk(model: str, flags: ChatFlags, settings: dict[str, Any]) -> None:
    from pippin.cli.chat_model import load

    with suppress(ImportError):  # lines can be typed without its keys too
        import readline  # noqa: F401
    generator = load(model, flags, settings)
    from pippin.commands.chat.conversation import Conversation, settings_for_talk
    from pippin.commands.chat.loop import Loop

    if not flags.quiet:
        say(f"{model}: {generator.facts}. /help lists commands, Ctrl-D leaves.")
        if (settings.get("num_beams") or 1) > 1:
            say("note: with num_beams, an answer comes all at once.")
    asked = settings_for_talk(generator, settings)
    conversation = Conversation(generator, flags.system or "", flags.seed, asked, flags.complete)
    guard = partial(device_errors, model, generator.run, generator.backend)
    Loop(conversation, _read, _show, _remark, guard).run()


def _read() -> str:
    try:
        return input("> ")
    except UnicodeDecodeError:
        _remark("That was not UTF-8.")
        return ""
    except (EOFError, KeyboardInterrupt):
        print()  # else what follows stands behind the prompt
        raise


def _show(piece: str) -> None:
    sys.stdout.write(visible(piece))
    sys.stdout.flush()


def _remark(text: str) -> None:
    sys.stdout.flush()
    say(text)
