"""One split after another from lists of words and tags to checked examples, or a stop with file, row and value."""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from pippin.data.examples import WordExamples, join_words
from pippin.data.tables import Table, listed
from pippin.errors import PippinError, shown
from pippin.models.labels import Labels
from pippin.recipe import Recipe
from pippin.tasks.base import Columns
from pippin.tasks.tokens.tags import IN_WORDS, Scheme, as_bio, broken, parts_of, scheme_of

#: Broken sequences of tags, or bad rows, that a message names.
_MOST_SHOWN = 5
#: So many tags are believed without asking whether the column is the right one.
_MOST_TAGS = 1000


class TagReader:
    """Reads split after split; what is known of the tags is found in all of them beforehand."""

    def __init__(self, columns: Columns, recipe: Recipe, known: Labels | None):
        self.columns, self.recipe = columns, recipe
        self.labels = known or Labels(())
        self.scheme: Scheme = "plain"
        self.keeps_tags = recipe.is_classic
        """Whether tags are learnt as they are written, as run_ner.py does."""
        self.notes: list[str] = []
        self.warnings: list[str] = []

    def look(self, train: Table | None, others: Sequence[Table]) -> None:
        """Find out how tags are written and which there are; the training rows say which may be."""
        tables = [table for table in (train, *others) if table is not None and self.columns.label in table.columns]
        if not tables:
            return
        sentences = [tags for table in tables for _, tags in self._tagged(table)]
        self.scheme = scheme_of(sentences, {tag for tags in sentences for tag in tags})
        self.notes.append(f"tags: {IN_WORDS[self.scheme]}.")
        if self.labels.names:  # the model's
            self.keeps_tags = self.keeps_tags or any(parts_of(name)[0] in ("E", "S") for name in self.labels.names)
            return
        first = train or tables[0]
        trained = {tag for _, tags in self._tagged(first) for tag in self._learnt(tags)}
        if train is not None:
            kinds = {parts_of(tag)[1] for tag in trained}
            every = {tag for tags in sentences for tag in self._learnt(tags)}
            added = sorted(tag for tag in every - trained if parts_of(tag)[0] and parts_of(tag)[1] in kinds)
            if added:
                self.notes.append(f"{listed(added)} stands in no training row, and is kept for its kind.")
            trained.update(added)
        self._check_tags(first, trained)
        carried = first.class_names.get(self.columns.label, ())
        # A file's own order, where it has one and its tags are learnt as they are.
        names = carried if carried and trained <= set(carried) else tuple(sorted(trained))
        self.labels = Labels(tuple(names))

    def read(self, table: Table, split: str, labels_optional: bool = False) -> WordExamples:
        self.notes += table.notes
        words, label = self.columns.text[0], self.columns.label
        for name in (words, *(() if labels_optional else (label,))):
            if name not in table.columns:
                raise PippinError(
                    f"{table.origin} has no column {name!r}, as the training rows have; it has {listed(table.columns)}."
                    " Name its columns as in training."
                )
        has_tags = label in table.columns and not (labels_optional and not any(table.columns[label]))
        problems = dict(self._problems(table, has_tags))
        if problems and not self.recipe.skip_bad_rows:
            raise PippinError(self._describe(table, problems))
        self._say_left_out(table, problems)
        good = [place for place in range(len(table)) if place not in problems and table.columns[words][place]]
        if not good:
            raise PippinError(f"{table.origin}: no row has words. Give a list of words in each.")
        if has_tags:
            self._warn_of_broken(table, good)
        return WordExamples(
            [join_words(table.columns[words][place]) for place in good],
            None,
            self._numbers(table, good, split) if has_tags else None,
            array("q", (place + 1 for place in good)),
            table.origin,
        )

    @property
    def split_at(self) -> str:
        return "stratified by each sentence's rarest tag"

    def strata(self, examples: Any) -> np.ndarray | None:
        """Of each sentence the rarest tag, so that every tag finds its way into both parts."""
        if examples.labels is None:
            return None
        counts = np.bincount(np.concatenate(list(examples.labels)), minlength=len(self.labels.names))
        return np.array([tags[counts[tags].argmin()] for tags in examples.labels], np.int64)

    def single_rows(self, examples: Any) -> str:
        return ": each sentence has a tag that no other has"

    def _tags(self, table: Table, place: int) -> list[str] | None:
        """The tags of a row as words; None where it has none that could be."""
        cell = table.columns[self.columns.label][place]
        if not isinstance(cell, (list, tuple)):
            return None
        names = table.class_names.get(self.columns.label, ())
        found = [_tag(item, names) for item in cell]
        return None if None in found else found  # type: ignore[return-value]

    def _tagged(self, table: Table) -> Iterator[tuple[int, list[str]]]:
        for place in range(len(table)):
            if tags := self._tags(table, place):
                yield place, tags

    def _learnt(self, tags: Sequence[str]) -> Sequence[str]:
        """The tags as the model learns them."""
        return tags if self.keeps_tags or self.scheme in ("BIO", "plain") else as_bio(tags)

    def _check_tags(self, table: Table, tags: set[str]) -> None:
        column = f"{table.origin}, column {self.columns.label!r}"
        if len(tags) < 2:
            what = f"the only tag is {shown(min(tags))}" if tags else "no word has a tag"
            raise PippinError(f"{column}: {what}, so there is nothing to learn. Name another with --label_column.")
        if len(tags) > _MOST_TAGS:
            raise PippinError(f"{column} has {len(tags)} different tags. Is it the right one? Name another with "
                              "--label_column.")  # fmt: skip

    def _problems(self, table: Table, has_tags: bool) -> Iterator[tuple[int, str]]:
        words = self.columns.text[0]
        for place, cell in enumerate(table.columns[words]):
            if not isinstance(cell, (list, tuple)):
                yield place, f"column {words!r} holds {shown(cell)}, not a list of words"
                continue
            bad = next((word for word in cell if not isinstance(word, str) or not word.strip()), None)
            if any(not isinstance(word, str) or not word.strip() for word in cell):
                yield place, f"column {words!r} holds {shown(bad)} in its list, which is no word"
            elif has_tags:
                problem = self._problem_of_tags(table, place, len(cell))
                if problem:
                    yield place, f"column {self.columns.label!r} {problem}"

    def _problem_of_tags(self, table: Table, place: int, words: int) -> str:
        cell = table.columns[self.columns.label][place]
        if not isinstance(cell, (list, tuple)):
            return f"holds {shown(cell)}, not a list of tags"
        if len(cell) != words:
            return f"has {len(cell)} tags for {words} words"
        names = table.class_names.get(self.columns.label, ())
        bad = [item for item in cell if _tag(item, names) is None]
        return f"holds {shown(bad[0])} in its list, which is no tag" if bad else ""

    def _describe(self, table: Table, problems: dict[int, str]) -> str:
        named = "; ".join(f"{table.row_name(place)}: {problems[place]}" for place in list(problems)[:_MOST_SHOWN])
        more = f"; and {len(problems) - _MOST_SHOWN} rows more" if len(problems) > _MOST_SHOWN else ""
        them = "them" if len(problems) > 1 else "it"
        return f"{table.origin}, {named}{more}. Fix {them}, or add --skip_bad_rows to leave {them} out."

    def _say_left_out(self, table: Table, problems: dict[int, str]) -> None:
        if problems:
            first = min(problems)
            self.notes.append(
                f"{table.origin}: {len(problems)} of {len(table)} rows left out, "
                f"the first being {table.row_name(first)}: {problems[first]}."
            )
        empty = sum(cell == [] for cell in table.columns[self.columns.text[0]])
        if empty:
            self.notes.append(f"{table.origin}: {empty} of {len(table)} rows have no words and are left out.")

    def _warn_of_broken(self, table: Table, good: Sequence[int]) -> None:
        """Tags that cannot stand where they do, by file and line."""
        found = [
            (place, word, why) for place in good for word, why in broken(self._tags(table, place) or [], self.scheme)
        ]
        if not found:
            return
        named = "; ".join(f"{self._place(table, place, word)}: {why}" for place, word, why in found[:_MOST_SHOWN])
        more = f"; and {len(found) - _MOST_SHOWN} more" if len(found) > _MOST_SHOWN else ""
        one = "tag doesn't" if len(found) == 1 else "tags don't"
        self.warnings.append(
            f"{table.origin}: {len(found)} {one} follow from the one before ({named}{more}). Such a tag counts as the "
            "beginning of an entity."
        )

    def _place(self, table: Table, place: int, word: int) -> str:
        lines = getattr(table.columns[self.columns.text[0]][place], "lines", ())
        return f"line {lines[word]}" if len(lines) else f"{table.row_name(place)}, word {word + 1}"

    def _numbers(self, table: Table, good: Sequence[int], split: str) -> np.ndarray:
        """For each row the numbers of its tags."""
        numbers = {name: number for number, name in enumerate(self.labels.names)}
        found = np.empty(len(good), object)
        for row, place in enumerate(good):
            tags = self._tags(table, place) or []
            learnt = self._learnt(tags)
            unknown = next((word for word, tag in enumerate(learnt) if tag not in numbers), None)
            if unknown is not None:
                raise PippinError(
                    f"{table.file_of(place)}, {self._place(table, place, unknown)}: the tag {learnt[unknown]!r} of the "
                    f"{split} rows is not among the known ones: {listed(self.labels.names, 10)}. Correct it, or add "
                    "training rows that have it."
                )
            found[row] = np.array([numbers[tag] for tag in learnt], np.int16)
        return found


def _tag(item: Any, names: tuple[str, ...]) -> str | None:
    """A tag as a word; None for what is none."""
    if isinstance(item, bool) or item is None:
        return None
    if isinstance(item, int):
        if names:
            return names[item] if 0 <= item < len(names) else None
        return str(item)
    word = item.strip() if isinstance(item, str) else ""
    return word if word and "\x00" not in word else None
