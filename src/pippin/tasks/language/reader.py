"""One split after another from columns to chats or texts, or a stop with file, row and what is wrong."""

from __future__ import annotations

from array import array
from typing import Any

import numpy as np

from pippin.data.examples import Examples
from pippin.data.tables import Table, listed
from pippin.errors import PippinError
from pippin.recipe import Recipe
from pippin.tasks.language.chats import Chat, NoChat
from pippin.tasks.language.columns import Form
from pippin.tasks.language.encoding import ChatExamples

#: Bad rows that a message names.
_MOST_SHOWN = 5


class TextReader:
    """Reads split after split in one form."""

    split_at = "drawn at random"

    def __init__(self, form: Form, recipe: Recipe):
        self.form, self.recipe = form, recipe
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def read(self, table: Table, split: str, labels_optional: bool = False) -> Examples:
        self.notes += table.notes
        missing = [name for name in self.form.columns if name not in table.columns]
        if missing:
            raise PippinError(
                f"{table.origin} has no column {missing[0]!r}, as the training rows have; it has "
                f"{listed(table.columns)}. Name its columns as in training."
            )
        texts, places, problems = list[str](), array("q"), dict[int, str]()
        for place in range(len(table)):
            try:
                row = self.form.read(
                    {name: table.columns[name][place] for name in self.form.every if name in table.columns}
                )
            except NoChat as error:
                problems[place] = str(error)
                continue
            texts.append(row.to_text() if isinstance(row, Chat) else row)
            places.append(place + 1)
        self._tell(table, problems)
        if not texts:
            raise PippinError(f"{table.origin}: no row can be learnt. Give rows with {self.form.kind}.")
        kind = Examples if self.form.kind == "text" else ChatExamples
        # What is learnt stands in the texts themselves: every row has something.
        return kind(texts, None, np.zeros(len(texts), np.int8), places, table.origin)

    def strata(self, examples: Any) -> np.ndarray | None:
        return None

    def single_rows(self, examples: Any) -> str:
        return " holds one text again and again"

    def _tell(self, table: Table, problems: dict[int, str]) -> None:
        if not problems:
            return
        named = "; ".join(f"{table.row_name(place)} {problems[place]}" for place in list(problems)[:_MOST_SHOWN])
        more = f"; and {len(problems) - _MOST_SHOWN} rows more" if len(problems) > _MOST_SHOWN else ""
        if not self.recipe.skip_bad_rows:
            them = "them" if len(problems) > 1 else "it"
            raise PippinError(f"{table.origin}: {named}{more}. Fix {them}, or add --skip_bad_rows to leave {them} out.")
        self.notes.append(f"{table.origin}: {len(problems)} rows are left out: {named}{more}.")
