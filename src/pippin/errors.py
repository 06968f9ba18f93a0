"""What Pippin raises when the user can put it right: one plain message, exit code 2, no traceback."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

#: Where errors go that are nobody's mistake at the keyboard. Ours gets its address when the project is published.
OUR_TRACKER = "Pippin's issue tracker"
TORCH_TRACKER = "https://github.com/pytorch/pytorch/issues"


class PippinError(Exception):
    """An error that the user can fix. The message says what happened, the value, and what to type next."""

    def _render_traceback_(self) -> list[str]:
        """What IPython and notebooks show: the message, without the frames that led to it."""
        return [f"PippinError: {self}"]


class Mistakes(PippinError):
    """Several mistakes found in one go, so that the user can fix them in one go."""

    def __init__(self, mistakes: Sequence[str]):
        self.mistakes = tuple(mistakes)
        if len(self.mistakes) == 1:
            super().__init__(self.mistakes[0])
        else:
            lines = "\n".join(f"  {number}. {text}" for number, text in enumerate(self.mistakes, 1))
            super().__init__(f"{len(self.mistakes)} things to put right:\n{lines}")


@contextmanager
def collecting(mistakes: list[str]) -> Iterator[None]:
    """An error in here is one more mistake, and the others are looked for."""
    try:
        yield
    except PippinError as error:
        mistakes += error.mistakes if isinstance(error, Mistakes) else [str(error)]


@contextmanager
def readable(said: object) -> Iterator[None]:
    """A file that cannot be read is a mistake that names it; ``said`` is what the user called it."""
    try:
        yield
    except FileNotFoundError:
        raise PippinError(f"{said}: there is no such file.") from None
    except OSError as error:
        raise PippinError(f"{said} cannot be read: {error.strerror or error}.") from None


def shown(value: Any, most: int = 60) -> str:
    """A value for a message: as Python writes it, cut short where it is long.

    >>> shown("a" * 99, most=8), shown(3)
    ("'aaaaaa…", '3')
    """
    try:
        text = repr(value[: most + 1] if isinstance(value, (str, bytes)) else value)
    except (ValueError, RecursionError):  # whole numbers of thousands of digits, lists within lists
        return f"a {type(value).__name__} of unusual size"
    return text if len(text) <= most else text[: most - 1] + "…"


def nearest(word: str, known: Sequence[str], prefix: str = "") -> str:
    """A sentence that names the known word closest to a mistyped one, or nothing.

    >>> nearest("lerning_rate", ["learning_rate", "seed"], prefix="--")
    ' Did you mean --learning_rate?'
    """
    matches = get_close_matches(word, known, n=1, cutoff=0.6)
    return f" Did you mean {prefix}{matches[0]}?" if matches and prefix + matches[0] != word else ""


def not_a_run(folder: object) -> PippinError:
    """For a folder that is named where a run's is wanted."""
    return PippinError(
        f"{folder} is not the folder of a run: it has no run.json that can be read. Name a folder that `pippin train` "
        "wrote, such as runs/demo. `pippin runs` lists them."
    )
