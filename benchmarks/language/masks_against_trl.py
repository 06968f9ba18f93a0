"""What is learnt of a chat: Pippin beside TRL's assistant_only_loss, with every chat template that TRL brings.

    python benchmarks/language/masks_against_trl.py TOKENIZER [--chats demo/about_pippin.jsonl]

TRL marks the answers in a changed copy of a model's template, its training template. Pippin gets the model's own, and
then the marked one too (--chat_template). Compared are the tokens that are learnt, chat by chat. Chats have one to four
turns; every second one has a system message, where the template takes one. The tokenizer gets the marks of each
template as special tokens. Where both learn the same answers, they may still differ in what surrounds them:

- each in a row of its own: the template rewrites earlier turns once more follows, which TRL's copy does not;
- TRL learns the prompt's end too: its marks begin before the end of the prompt that the template writes for an answer;
- another end: the template ends the last answer otherwise than earlier ones, or with no token of its own.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from recording import RESULTS, record  # noqa: E402

COUNT = 100
#: How templates write their special tokens.
_MARK = re.compile(
    r"<\w+\|>|<[|｜][^<>|｜'\"{}]+[|｜]>|</?(?:start_of_turn|end_of_turn|end_of_utterance|think|s|bos|eos|turn)>"
)


def chats_of(path: Path) -> list[list[dict[str, str]]]:
    rows = [json.loads(line)["messages"] for line in path.read_text(encoding="utf-8").splitlines()]
    turns = [turn for row in rows for turn in zip(row[::2], row[1::2], strict=False)]
    found, place = list[list[dict[str, str]]](), 0
    while len(found) < COUNT:
        several = 1 + len(found) % 4
        picked = [turns[(place + number) % len(turns)] for number in range(several)]
        place += several
        system = [{"role": "system", "content": "Answer briefly."}] if len(found) % 2 else []
        found.append([*system, *(message for turn in picked for message in turn)])
    return found


def learnt_by_trl(tokenizer: Any, template: str, chat: list[dict[str, str]]) -> tuple[list[int], list[bool]]:
    found = tokenizer.apply_chat_template(
        chat, chat_template=template, return_dict=True, return_assistant_tokens_mask=True
    )
    return found["input_ids"], [bool(each) for each in found["assistant_masks"]]


def learnt_by_pippin(tokenizer: Any, template: str, chat: list[dict[str, str]]) -> list[tuple[list[int], list[bool]]]:
    """A row of tokens, or several, and what is learnt of each."""
    from pippin.data.collate import NO_LABEL
    from pippin.tasks.language.chats import chat_of
    from pippin.tasks.language.encoding import ChatExamples, encode_text

    tokenizer.chat_template = template
    examples = ChatExamples([chat_of(chat).to_text()], None, None, [1], "chats")
    encoded = encode_text(examples, tokenizer, 10**6, "answers")
    rows = []
    for start, stop in zip(encoded.offsets, encoded.offsets[1:], strict=False):
        labels = encoded.labels[start:stop]
        rows.append((encoded.tokens[start:stop].tolist(), [False, *(label != NO_LABEL for label in labels[:-1])]))
    return rows


def compare(tokenizer: Any, own: str, training: str, chat: list[dict[str, str]]) -> str:
    from pippin.errors import PippinError

    try:
        ids, mask = learnt_by_trl(tokenizer, training, chat)
    except Exception as error:
        return f"not by TRL: {type(error).__name__}"
    try:
        rows = learnt_by_pippin(tokenizer, own, chat)
    except PippinError as error:
        return "refused: " + str(error).split(": ", 1)[1][:90]
    if len(rows) == 1 and rows[0] == (ids, mask):
        return "equal"
    ours = [text for row in rows for text in answers(tokenizer, *row)]
    theirs = answers(tokenizer, ids, mask)
    if ours == theirs:
        return "same, each in a row of its own" if len(rows) > 1 else "same, after other prompts"
    if len(ours) == len(theirs):
        if all(longer.endswith(own) for own, longer in zip(ours, theirs, strict=True)):
            return "same, TRL learns the prompt's end too"
        if all(without_end(one) == without_end(other) for one, other in zip(ours, theirs, strict=True)):
            return "same, another end"
        if all(without_end(longer).endswith(without_end(own)) for own, longer in zip(ours, theirs, strict=True)):
            return "same, another end, TRL learns the prompt's end too"
    return f"other: {ours} / {theirs}"


def without_end(answer: str) -> str:
    return re.sub(rf"({_MARK.pattern}|\s)+$", "", answer)


def answers(tokenizer: Any, ids: list[int], mask: list[bool]) -> list[str]:
    found, last = list[list[int]](), False
    for token, learnt in zip(ids, mask, strict=True):
        if learnt:
            found = [*found, []] if not last else found
            found[-1].append(token)
        last = learnt
    return [tokenizer.decode(each) for each in found]


def main() -> None:
    from transformers import AutoTokenizer
    from trl import chat_template_utils

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tokenizer")
    parser.add_argument("--chats", type=Path, default=Path(__file__).resolve().parents[2] / "demo/about_pippin.jsonl")
    parser.add_argument("--results", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    folder = Path(chat_template_utils.__file__).parent / "chat_templates"
    figures: dict[str, dict[str, dict[str, int]]] = {}
    for path in sorted(folder.glob("*_training.jinja")):
        name = path.stem.removesuffix("_training")
        own, training = (each.read_text(encoding="utf-8") for each in (folder / f"{name}.jinja", path))
        tokenizer = AutoTokenizer.from_pretrained(arguments.tokenizer)
        tokenizer.add_special_tokens({"additional_special_tokens": sorted({*_MARK.findall(own + training)})})
        chats = chats_of(arguments.chats)
        tally = Counter(compare(tokenizer, own, training, chat) for chat in chats)
        marked = Counter(compare(tokenizer, training, training, chat) for chat in chats)
        figures[name] = {"own template": dict(tally.most_common()), "marked": dict(marked.most_common())}
        print(f"{name:24} {figures[name]}", flush=True)
    print(record("language_masks_against_trl", figures, arguments.results))


if __name__ == "__main__":
    main()
