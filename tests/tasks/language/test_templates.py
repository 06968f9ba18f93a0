"""Which tokens are learnt: the answers and nothing else, whatever the template does, or a plain refusal."""

from __future__ import annotations

import numpy as np
import pytest
from small_chat import REWRITING, TEMPLATE, chat_rows, small_tokenizer

from pippin.data.examples import Examples
from pippin.errors import PippinError
from pippin.tasks.language.chats import chat_of, prompt_and_answer
from pippin.tasks.language.encoding import ChatExamples, EncodedText, encode_text, example_of
from pippin.tasks.language.stops import stop_tokens
from pippin.tasks.language.templates import PLAIN_TEMPLATE, give_template
from pippin.tasks.parts import Marked

TALK = [
    {"role": "system", "content": "Be short."},
    {"role": "user", "content": "the old cat?"},
    {"role": "assistant", "content": "cat is animal."},
    {"role": "user", "content": "bread?"},
    {"role": "assistant", "content": "bread is food."},
]
MARKED = TEMPLATE.replace(
    "message['content'] + '<|im_end|>\n' }}",
    "'' }}{% if message['role'] == 'assistant' %}{% generation %}{{ message['content'] + '<|im_end|>' }}"
    "{% endgeneration %}{{ '\n' }}{% else %}{{ message['content'] + '<|im_end|>\n' }}{% endif %}",
)
#: An end token only where the whole ends, as some have it.
ENDING = TEMPLATE + "{% if not add_generation_prompt %}{{ '<|endoftext|>' }}{% endif %}"
#: The prompt goes on with what no answer begins with.
THINKING = TEMPLATE.replace("'<|im_start|>assistant\n' }}{% endif %}", "'<|im_start|>assistant\n<think>' }}{% endif %}")


def encoded(*chats, template=TEMPLATE, learn="answers", length=256) -> EncodedText:
    texts = [chat.to_text() for chat in chats]
    examples = ChatExamples(texts, None, np.zeros(len(texts), np.int8), range(1, len(texts) + 1), "chats.jsonl")
    return encode_text(examples, small_tokenizer(template), length, learn)


def learnt(found: EncodedText, row: int = 0) -> list[str]:
    text, marks = as_read(found, row)
    return [text[start:end] for start, end, _ in marks]


def as_read(found: EncodedText, row: int = 0) -> Marked:
    tokens = slice(found.offsets[row], found.offsets[row + 1])
    return example_of(found.tokens[tokens].tolist(), found.labels[tokens], small_tokenizer())


@pytest.mark.parametrize(
    ("template", "end"),
    [(TEMPLATE, "<|im_end|>\n"), (MARKED, "<|im_end|>"), (ENDING, "<|im_end|>\n"), (PLAIN_TEMPLATE, "<|im_end|>\n\n")],
    ids=["as a prefix", "by marks", "with an end of all", "plain"],
)
def test_the_answers_are_learnt(template, end):
    space = " " if template == PLAIN_TEMPLATE else ""
    end = "<|im_end|>" if template == PLAIN_TEMPLATE else end  # which marks its answers too
    last = end + "<|endoftext|>" if template == ENDING else end
    found = encoded(chat_of(TALK), template=template)
    assert learnt(found) == [f"{space}cat is animal.{end}", f"{space}bread is food.{last}"]
    assert learnt(encoded(chat_of(TALK), template=template, learn="last")) == [f"{space}bread is food.{last}"]
    half = prompt_and_answer(TALK[:4], TALK[4:])
    assert learnt(encoded(half, template=template)) == [f"{space}bread is food.{last}"]
    (everything,) = learnt(encoded(chat_of(TALK), template=template, learn="all"))
    assert everything in as_read(found).text
    assert found.example == as_read(found)


def test_an_answer_without_an_end_gets_one():
    """As in GLM's template, where the next turn's mark ends an answer."""
    endless = "{% for m in messages %}{{ '<|im_start|>' + m['role'] + ' ' + m['content'] }}{% endfor %}"
    endless += "{% if add_generation_prompt %}{{ '<|im_start|>assistant ' }}{% endif %}"
    end = small_tokenizer().eos_token
    found = encoded(chat_of(TALK), template=endless)
    assert learnt(found) == ["cat is animal.", f"bread is food.{end}"]
    assert any(f"so {end} follows the last one" in note for note in found.notes)
    (everything,) = learnt(encoded(chat_of(TALK), template=endless, learn="all"))
    assert everything.endswith(end)
    assert not any("follows" in note for note in encoded(chat_of(TALK)).notes)


def test_labels_are_what_follows():
    found = encoded(chat_of(TALK))
    has_label = found.labels >= 0
    assert (found.labels[has_label] == found.tokens[1:][has_label[:-1]]).all()
    assert found.learnt == has_label.sum()


def test_where_earlier_answers_are_rewritten_each_is_a_row():
    found = encoded(chat_of(TALK), template=REWRITING)
    assert [learnt(found, row) for row in range(len(found))] == [
        ["<think>\n\n</think>\n\ncat is animal.<|im_end|>\n"],
        ["<think>\n\n</think>\n\nbread is food.<|im_end|>\n"],
    ]
    assert found.sources.tolist() == [0, 0]
    assert list(found.rows) == [1, 1]
    assert "<think>" not in as_read(found, 1).text.split("bread?")[0]


def test_a_prompt_that_is_no_beginning_is_refused():
    with pytest.raises(PippinError, match="row 1: the model's chat template writes a prompt that is not how") as error:
        encoded(chat_of(TALK), template=THINKING)
    assert "the prompt goes on with '<think>', the chat with 'cat is animal." in str(error.value)
    with pytest.raises(PippinError, match="the model's chat template refuses it: no cats"):
        encoded(chat_of(TALK), template="{{ raise_exception('no cats') }}")


def test_an_edge_within_a_token_is_an_edge_of_pieces():
    """The space before an answer goes with its first word where both are read at once; the prompt ends with it."""
    spaced = "{% for m in messages %}{{ m['role'] + ': ' + m['content'] + '<|im_end|>' }}{% endfor %}"
    spaced += "{% if add_generation_prompt %}{{ 'assistant: ' }}{% endif %}"
    tokenizer = small_tokenizer(spaced)
    found = encoded(chat_of([TALK[1], TALK[2]]), template=spaced)
    prompt = tokenizer.apply_chat_template([TALK[1]], add_generation_prompt=True, tokenize=False)
    ids = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    assert found.tokens[: len(ids)].tolist() == ids
    assert learnt(found) == ["cat is animal.<|im_end|>"]


def test_what_is_cut_and_what_is_left_out():
    chats = [chat_of(TALK[1:3]), chat_of([{**TALK[1], "content": "cat " * 60}, TALK[2]])]
    whole = encoded(chats[0])
    found = encoded(*chats, length=int(whole.lengths[0]) - 2)
    assert len(found) == 1
    assert found.cut == 2
    assert found.learnt == whole.learnt - 2
    assert any("1 of 2 rows of chats.jsonl are left out" in note and "row 2" in note for note in found.notes)
    with pytest.raises(PippinError, match="no row has anything to learn within its first 8 tokens"):
        encoded(*chats, length=8)


def test_every_token_of_a_long_text_is_learnt_once():
    tokenizer = small_tokenizer()
    examples = Examples(["the old cat is near my red bread " * 9], None, np.zeros(1, np.int8), [1], "story.txt")
    whole, parts = (encode_text(examples, tokenizer, length, "all") for length in (1000, 16))
    assert whole.tokens[-1] == tokenizer.eos_token_id
    assert parts.lengths.max() == 16
    assert (
        parts.labels[parts.labels >= 0].tolist()
        == whole.labels[whole.labels >= 0].tolist()
        == whole.tokens[1:].tolist()
    )


def test_a_model_without_a_template_gets_one():
    tokenizer = small_tokenizer(None)
    assert "gets a plain one" in give_template(tokenizer, "")[0]
    text = tokenizer.apply_chat_template(TALK[1:3], tokenize=False)
    assert text == "User: the old cat?\n\nAssistant: cat is animal.<|im_end|>\n\n"
    assert give_template(tokenizer, "") == ()
    tokenizer.eos_token = None
    tokenizer.chat_template = None
    with pytest.raises(PippinError, match="no end token"):
        give_template(tokenizer, "")


def test_answers_end_where_the_template_ends_them():
    tokenizer = small_tokenizer()
    assert stop_tokens(tokenizer) == [tokenizer.convert_tokens_to_ids("<|im_end|>")]
    tokenizer.eos_token = "<|endoftext|>"
    assert set(stop_tokens(tokenizer)) == set(tokenizer.convert_tokens_to_ids(["<|im_end|>", "<|endoftext|>"]))


def test_many_chats():
    rows = chat_rows(40, turns=3)
    found = encoded(*(chat_of(row["messages"]) for row in rows))
    for place, row in enumerate(rows):
        answers = [f"{message['content']}<|im_end|>\n" for message in row["messages"][1::2]]
        assert learnt(found, place) == answers
