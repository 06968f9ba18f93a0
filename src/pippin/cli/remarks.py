"""What commands say: results where a terminal shows them, and remarks beside them on standard error."""

from __future__ import annotations

import io
import sys

from pippin.text import visible


def say(text: str) -> None:
    print(visible(text), file=sys.stderr)


def say_where_from(model: str) -> None:
    """Why it may take a while: a model's name that is no folder here, and was not fetched before."""
    from pippin.commands.named_model import is_hub_name, is_in_hub_cache

    if is_hub_name(model) and not is_in_hub_cache(model):
        say(f"there is no folder {model} here: asking the Hub")


class Screen(io.StringIO):
    """Standard output where it is a terminal: control characters in the texts are written out."""

    def write(self, text: str) -> int:
        return sys.stdout.write(visible(text))
