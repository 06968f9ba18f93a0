"""The model of `pippin chat`, loaded with all that there is to say of it."""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from pippin.cli.flags import ChatFlags
from pippin.cli.remarks import say, say_where_from
from pippin.machine.drivers import prepare_environment

if TYPE_CHECKING:
    from pippin.commands.generator import Generator


def load(model: str, flags: ChatFlags, settings: dict[str, Any]) -> Generator:
    """Settings that transformers refuses are told before the model is loaded."""
    prepare_environment()
    from pippin.commands.generation.settings import check_settings
    from pippin.commands.generator import Generator

    check_settings(settings)
    if not flags.quiet:
        say_where_from(model)
    generator = Generator.load(model, flags.device)
    if flags.seed is None:  # else torch draws the same in every process
        generator.backend.seed(secrets.randbits(62))
    for note in () if flags.quiet else _notes(generator, flags):
        say(f"note: {note}.")
    return generator


def _notes(generator: Generator, flags: ChatFlags) -> Iterator[str]:
    is_for_texts = generator.run is not None and "--complete" in generator.run.data.command
    if is_for_texts and not flags.complete:
        yield "this model was trained on plain texts; --complete goes on from them"
    elif not generator.has_own_template and not flags.complete:
        yield "the model has no chat template, so it gets a plain one: User: …, Assistant: …"
