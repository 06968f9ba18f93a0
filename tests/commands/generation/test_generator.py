"""Answers are those of transformers' generate, whether or not the model has read part of the chat before."""

from __future__ import annotations

import inspect
from threading import Event

import pytest
import torch
import transformers
from lively_chat import lively
from small_chat import REWRITING, SIZES, SMALL, TEMPLATE, small_tokenizer
from transformers import AutoConfig

from pippin.commands.generation.settings import check_settings
from pippin.commands.generation.streamer import Streamer, pieces_of
from pippin.commands.generator import Generator, TooLong
from pippin.errors import PippinError

ASKED = ["the old cat?", "my bread and cheese?", "near the hammer?", "a big horse?"]
#: Earlier answers are written in capitals.
LOUD = TEMPLATE.replace(
    "message['content'] +", "(message['content'] | upper if message['role'] == 'assistant' else message['content']) +"
)


def talk(generator: Generator, forgets: bool, most: int = 12) -> list[str]:
    """The answers of a chat of several turns."""
    messages, answers = [], []
    for asked in ASKED:
        if forgets:
            generator.forget()
        messages.append({"role": "user", "content": asked})
        answers.append(generator.answer(messages, max_new_tokens=most, min_new_tokens=3))
        messages.append({"role": "assistant", "content": answers[-1]})
    return answers


@pytest.mark.parametrize("template", [TEMPLATE, REWRITING, LOUD], ids=["plain", "rewriting", "loud"])
@pytest.mark.parametrize("kind", SIZES)
def test_a_chat_is_answered_as_if_it_were_read_anew(kind, template):
    """Also with a window of 16 tokens, which no turn fits into, and where a template writes earlier turns otherwise."""
    generator = lively(kind, template)
    answers = talk(generator, forgets=False)
    assert answers == talk(generator, forgets=True)
    assert len(set(answers)) > 1


def test_only_what_is_new_is_read(monkeypatch):
    generator, read = lively(), []
    forward = type(generator.model).forward

    def noting(self, input_ids=None, **arguments):
        read.append(input_ids.shape[1])
        return forward(self, input_ids=input_ids, **arguments)

    noting.__signature__ = inspect.signature(forward)  # which transformers asks for
    monkeypatch.setattr(type(generator.model), "forward", noting)
    asked = [{"role": "user", "content": ASKED[0]}]
    answer = generator.answer(asked, max_new_tokens=5)
    whole = len(generator.prompt_tokens(asked))
    assert read[0] == whole
    read.clear()
    chat = [*asked, {"role": "assistant", "content": answer}, {"role": "user", "content": ASKED[1]}]
    generator.answer(chat, max_new_tokens=5)
    assert read[0] < len(generator.prompt_tokens(chat)) - whole


def test_answers_are_those_of_transformers():
    generator = lively()
    ids = torch.tensor([generator.prompt_tokens(ASKED[0])], device=generator.backend.device)
    for settings in ({}, {"num_beams": 3}, {"repetition_penalty": 1.5}, {"no_repeat_ngram_size": 2}):
        theirs = generator.model.generate(ids, max_new_tokens=9, eos_token_id=2, pad_token_id=0, **settings)
        expected = generator.tokenizer.decode(theirs[0, ids.shape[1] :], skip_special_tokens=True)
        heard = []
        assert generator.answer(ASKED[0], heard.append, max_new_tokens=9, **settings) == expected.lstrip()
        assert "".join(heard) == expected.lstrip()
        assert (len(heard) > 1) is ("num_beams" not in settings)


def test_characters_of_several_tokens_come_whole():
    generator = lively()
    tokens = generator.tokenizer("Grüße 🙂 né")["input_ids"]
    assert len(tokens) > len("Grüße 🙂 né"), "each of its bytes is a token"
    heard = []
    streamer = Streamer(generator.tokenizer, heard.append)
    for token in ([1, 2], *tokens):
        streamer.put(torch.tensor([token]).flatten())
    streamer.end()
    assert "".join(heard) == streamer.text == "Grüße 🙂 né"
    assert not any("\ufffd" in piece for piece in heard)


def test_a_seed_repeats_what_is_drawn():
    generator = lively()
    drawn = [generator.answer(ASKED[0], seed=seed, temperature=1.5, max_new_tokens=9) for seed in (1, 2, 1)]
    assert drawn[0] == drawn[2] != drawn[1]
    assert generator.complete("the old", seed=3, top_k=9) == generator.complete("the old", seed=3, top_k=9)


def test_nothing_is_drawn_unless_it_is_asked_for():
    generator = lively()
    generator.model.generation_config.update(do_sample=True, temperature=1.5)
    assert generator.draws
    likeliest = generator.answer(ASKED[0], max_new_tokens=9)
    assert {generator.answer(ASKED[0], max_new_tokens=9, temperature=0, seed=seed) for seed in range(3)} == {likeliest}
    assert len({generator.answer(ASKED[0], max_new_tokens=9, do_sample=True, seed=seed) for seed in range(3)}) > 1


def test_transformers_says_nothing_of_a_models_own_settings(monkeypatch):
    """As many models have them: it would stand between the answers of a chat."""
    generator, said = lively(), []
    for name in ("warning", "warning_once"):
        monkeypatch.setattr(f"transformers.generation.utils.logger.{name}", lambda *words, **more: said.append(words))
        monkeypatch.setattr(
            f"transformers.generation.configuration_utils.logger.{name}", lambda *words, **more: said.append(words)
        )
    generator.model.generation_config.update(do_sample=True, temperature=0.6, top_p=0.9, top_k=20, max_length=250)
    for settings in ({}, {"do_sample": True}, {"temperature": 0}, {"num_beams": 2}, {"top_k": 5}):
        generator.answer(ASKED[0], max_new_tokens=5, **settings)
    generator.answer(ASKED[0], max_length=90)
    assert said == []


def test_an_interruption_leaves_no_trace():
    generator = lively()
    expected = talk(generator, forgets=True)

    def interrupt(piece: str) -> None:
        heard.append(piece)
        if len(heard) == 3:
            raise KeyboardInterrupt

    heard: list[str] = []
    messages = [{"role": "user", "content": ASKED[0]}]
    generator.answer(messages, max_new_tokens=12)
    with pytest.raises(KeyboardInterrupt):
        generator.answer([*messages, {"role": "assistant", "content": expected[0]}, *messages], interrupt)
    assert len(heard) == 3
    assert talk(generator, forgets=False) == expected


def test_a_stream_gives_the_pieces():
    generator = lively()
    whole = generator.answer(ASKED[0], max_new_tokens=20)
    pieces = list(generator.stream(ASKED[0], max_new_tokens=20))
    assert len(pieces) > 3
    assert "".join(pieces) == whole
    with pytest.raises(PippinError, match="no such setting"):
        next(generator.stream(ASKED[0], num_beam=2))


def test_an_answer_ends_where_the_model_reads_no_further():
    generator = lively()
    room = 256 - len(generator.prompt_tokens("cat " * 100))
    assert 0 < room < 100
    answer = generator.answer("cat " * 100, eos_token_id=None)
    assert generator.was_cut
    assert len(generator.tokenizer(answer)["input_ids"]) <= room
    with pytest.raises(TooLong, match="the model reads 256") as told:
        generator.answer("cat " * 300)
    assert (told.value.tokens > 256, told.value.longest) == (True, 256)
    first = generator.tokenizer(generator.answer(ASKED[0], max_new_tokens=1))["input_ids"]
    generator.answer(ASKED[0], eos_token_id=first[0])
    assert not generator.was_cut


def test_whoever_stops_listening_stops_the_work(monkeypatch):
    closed, said = Event(), []

    def work(say) -> None:
        say("a")
        closed.wait(10)
        say("b")
        said.append("b")

    with monkeypatch.context() as patch:
        patch.setattr("pippin.commands.generation.streamer.Event", lambda: closed)
        pieces = pieces_of(work)
        assert next(pieces) == "a"
        pieces.close()
    assert said == []
    generator = lively()
    whole = generator.answer(ASKED[0], max_new_tokens=20)
    stream = generator.stream(ASKED[1], max_new_tokens=200)
    assert next(stream)
    stream.close()
    assert generator.answer(ASKED[0], max_new_tokens=20) == whole


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"num_beam": 4}, "num_beam: transformers' generate has no such setting. Did you mean num_beams?"),
        ({"temperature": -1.0}, "transformers refuses these settings: `temperature`"),
        ({"max_new_tokens": 0}, "transformers refuses these settings: `max_new_tokens` must be greater than 0"),
        ({"max_length": 3}, "transformers refuses these settings: Input length"),
        ({"max_new_tokens": "many"}, "transformers refuses these settings"),
        ({"custom_generate": "someone/theirs"}, "custom_generate: it runs code from elsewhere"),
        ({"dola_layers": "low", "trust_remote_code": True}, "trust_remote_code: it runs code from elsewhere"),
        ({"num_return_sequences": 3}, "a prompt gets one answer"),
        ({"streamer": None}, "streamer: transformers' generate has no such setting"),
        ({"sequence_bias": {"a": 1.0}}, "transformers refuses these settings: `sequence_bias`"),
        ({"temperature": 1e-40}, "no token can be drawn"),
    ],
)
def test_settings_that_transformers_refuses(settings, words):
    with pytest.raises(PippinError) as told:
        lively().answer(ASKED[0], **settings)
    assert words in str(told.value)


@pytest.mark.parametrize(
    "settings",
    [
        {"num_beams": 2, "length_penalty": 2.0, "early_stopping": True}, {"prompt_lookup_num_tokens": 3},
        {"stop_strings": ["a", "e"]}, {"cache_implementation": "static"}, {"use_cache": False}, {"min_p": 0.1},
        {"suppress_tokens": [5]}, {"do_sample": True, "num_beams": 2}, {"token_healing": False}, {"penalty_alpha": 0.6},
    ],
    ids=str,
)  # fmt: skip
def test_other_settings_are_honoured(settings):
    """And what they leave behind harms no later answer."""
    generator = lively()
    expected = talk(generator, forgets=True)
    check_settings(settings)
    generator.answer(ASKED[0], max_new_tokens=8, seed=1, **settings)
    assert talk(generator, forgets=False) == expected


def test_going_on_from_a_text():
    generator = lively()
    ids = torch.tensor([generator.tokenizer("the old cat")["input_ids"]], device=generator.backend.device)
    theirs = generator.model.generate(ids, max_new_tokens=6, eos_token_id=2, pad_token_id=0)
    expected = generator.tokenizer.decode(theirs[0, ids.shape[1] :], skip_special_tokens=True)
    assert generator.complete("the old cat", max_new_tokens=6) == expected
    with pytest.raises(PippinError, match="no text to go on from"):
        generator.complete("")


def test_without_a_template():
    generator = lively(template=None)
    assert not generator.has_own_template
    text = generator.tokenizer.decode(generator.prompt_tokens(ASKED[0]))
    assert text.endswith(f"User: {ASKED[0]}\n\nAssistant:")
    generator = lively(template=None)
    generator.tokenizer.eos_token = None
    with pytest.raises(PippinError, match="no chat template, and its tokenizer no end token"):
        generator.answer(ASKED[0])


def test_messages_in_other_forms():
    generator = lively()
    shared = [{"from": "human", "value": "cat?"}]
    assert generator.prompt_tokens(shared) == generator.prompt_tokens("cat?")
    with pytest.raises(PippinError, match="the chat has a message of the role 'nobody'"):
        generator.answer([{"role": "nobody", "content": "x"}])
    with pytest.raises(PippinError, match="the chat holds 3, not a list of messages"):
        generator.answer(3)


TEXTS = {**SMALL, "head_dim": 16, "num_key_value_heads": 1, "sliding_window": 16, "vocab_size": 400}
PICTURES = {**SMALL, "num_hidden_layers": 1, "image_size": 28, "patch_size": 14}
OTHERS = {
    "GPT2LMHeadModel": ("gpt2", {**SIZES["gpt2"], "vocab_size": 400}, 256),
    "MambaForCausalLM": ("mamba", {"hidden_size": 32, "num_hidden_layers": 2, "vocab_size": 400}, None),
    "Gemma3ForConditionalGeneration": ("gemma3", {"text_config": TEXTS, "vision_config": PICTURES}, 256),
}


@pytest.mark.parametrize("name", OTHERS)
def test_language_models_of_other_classes(tmp_path, name):
    """Such as one that sees pictures too, and one that has no keys and values to keep."""
    kind, sizes, longest = OTHERS[name]
    config = AutoConfig.for_model(kind, pad_token_id=0, bos_token_id=0, eos_token_id=2, **sizes)
    getattr(transformers, name)(config).save_pretrained(tmp_path)
    small_tokenizer().save_pretrained(tmp_path)
    generator = Generator.load(str(tmp_path))
    assert generator.longest == longest
    assert len(talk(generator, forgets=False)) == len(ASKED)
