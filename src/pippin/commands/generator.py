"""A language model ready to answer: tokenizer, weights and device together. Generating is transformers' own."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import torch

from pippin.commands.generation.kept import Kept
from pippin.commands.generation.settings import check_settings, refusals, with_choice_of_tokens
from pippin.commands.generation.streamer import OnText, Streamer, pieces_of
from pippin.commands.named_model import run_of
from pippin.errors import PippinError
from pippin.machine.drivers import get_backend
from pippin.machine.drivers.base import Backend
from pippin.machine.probe import probe, with_memory
from pippin.models.adapters import has_adapters
from pippin.models.attention import work_of
from pippin.models.completeness import Loaded
from pippin.models.facts import facts_of
from pippin.models.loading import load_config, load_model, load_tokenizer, longest_input, trained_head
from pippin.plan.device import choose_device
from pippin.recipe import Recipe
from pippin.runs.record import Run
from pippin.tasks.language.chats import Chat, NoChat, chat_to_answer
from pippin.tasks.language.stops import stop_tokens
from pippin.tasks.language.task import LanguageTask
from pippin.tasks.language.templates import NotLearnable, give_template, has_template, prompt_of

Message = dict[str, Any]
#: Tokens of an answer, unless somebody says otherwise.
MOST_NEW_TOKENS = 512
#: Share of the memory that weights in full precision may take.
_SHARE = 0.6
#: With these transformers chooses among several ways to go on, or keeps what it has read in a way of its own.
_OWN_WAYS = (
    "use_cache", "cache_implementation", "cache_config", "token_healing", "assistant_model", "prompt_lookup_num_tokens",
)  # fmt: skip


class TooLong(PippinError):
    """A prompt leaves no room for an answer."""

    def __init__(self, tokens: int, longest: int):
        super().__init__(f"the prompt has {tokens} tokens, and the model reads {longest}. Shorten it.")
        self.tokens, self.longest = tokens, longest


class Generator:
    """A language model, ready to answer. Of a chat that goes on, it reads only what is new."""

    def __init__(
        self,
        model: Any,
        tokenizer: Any,
        backend: Backend,
        folder: str = "",
        longest: int | None = None,
        run: Run | None = None,
    ):
        self.model, self.tokenizer, self.backend, self.folder = model, tokenizer, backend, folder
        self.longest, self.run = longest, run
        self.stops = stop_tokens(tokenizer, model.generation_config)
        self.has_own_template = has_template(tokenizer)
        self.was_cut = False
        """Whether the last answer ended because it was as long as it might be."""
        self._kept = Kept(model)

    @classmethod
    def load(cls, folder: str, device: str | None = None) -> Generator:
        """Load a run, or any folder or Hub name of a language model; adapters with the model that they are for."""
        run = run_of(folder)
        recipe = Recipe(model_name_or_path=folder, device=device)
        head = trained_head(recipe)
        if head != LanguageTask.auto_model:
            raise PippinError(f"{folder} is no language model, so it cannot answer. To label texts: pippin predict")
        machine = probe()
        kind = choose_device(recipe, machine).value
        backend = get_backend(kind)
        config, tokenizer = load_config(recipe, auto_model=head), load_tokenizer(recipe)
        precision = _precision(facts_of(config, 0), with_memory(machine, kind, None).device(kind))
        attention = backend.attention(work_of(config))
        model: Any = load_model(recipe, config, attention, Loaded.require_whole, head, precision)
        model = backend.place(model).eval()
        return cls(model, tokenizer, backend, folder, longest_input(tokenizer, config.get_text_config()), run)

    def __repr__(self) -> str:
        return f"Generator({self.folder!r}, {self.facts})"

    @property
    def facts(self) -> str:
        """What it is, in a line: `llama, 135 million weights, reads 8192 tokens, on cpu`."""
        size = f"{sum(each.numel() for each in self.model.parameters()) / 1e6:.3g} million weights"
        adapters = " and adapters" if has_adapters(self.model) else ""
        reads = f"reads {self.longest} tokens, " if self.longest else ""
        return f"{self.model.config.model_type}, {size}{adapters}, {reads}on {self.backend.kind}"

    @property
    def draws(self) -> bool:
        """Whether the model's own configuration has its tokens drawn at random."""
        return bool(self.model.generation_config.do_sample)

    def answer(
        self,
        messages: str | Sequence[Message],
        on_text: OnText | None = None,
        *,
        tools: Sequence[Message] = (),
        seed: int | None = None,
        **settings: Any,
    ) -> str:
        """The answer to a text, or to the messages of a chat.

        messages   a text, or a list of messages such as ``{"role": "user", "content": "Hello"}``
        on_text    is called with each piece of the answer as it comes
        tools      descriptions of functions that the model may call, if its chat template has a place for them
        seed       with the same seed, tokens that are drawn at random are the same
        settings   those of transformers' generate, such as ``max_new_tokens``, ``temperature`` or ``num_beams``

        Without settings, the likeliest token is taken each time, and an answer has at most 512 tokens. With
        ``temperature``, ``top_p`` or ``top_k``, tokens are drawn at random; with ``do_sample=True`` alone, as the
        model's own configuration says.
        """
        heard = Streamer(self.tokenizer, on_text, is_answer=True)
        return self._generate(self.prompt_tokens(messages, tools), heard, seed, settings)

    def complete(self, text: str, on_text: OnText | None = None, *, seed: int | None = None, **settings: Any) -> str:
        """What goes on from a text, without the chat template: for models that were trained on plain texts.

        The arguments are those of ``answer``.
        """
        return self._generate(self.text_tokens(text), Streamer(self.tokenizer, on_text), seed, settings)

    def stream(
        self,
        messages: str | Sequence[Message],
        *,
        tools: Sequence[Message] = (),
        seed: int | None = None,
        **settings: Any,
    ) -> Iterator[str]:
        """The answer piece by piece, as it comes. If you stop listening, the model stops too.

        The arguments are those of ``answer``.

        >>> for piece in model.stream("Tell me a story."):   # doctest: +SKIP
        ...     print(piece, end="", flush=True)
        """
        return pieces_of(lambda say: self.answer(messages, say, tools=tools, seed=seed, **settings))

    def predict(self, *texts: Any, **settings: Any) -> NoReturn:
        """Language models have no labels to predict."""
        raise PippinError(f"{self.folder} is a language model: it gives no labels. Use answer(…) or complete(…).")

    def forget(self) -> None:
        """Free the memory that the last chat takes up. The next one is then read from its beginning."""
        self._kept.forget()

    def prompt_tokens(self, messages: str | Sequence[Message], tools: Sequence[Message] = ()) -> list[int]:
        """A chat as the model reads it before it answers."""
        self._see_to_template()
        asked = [{"role": "user", "content": messages}] if isinstance(messages, str) else messages
        try:
            chat: Chat = chat_to_answer(asked, tools)
            prompt = prompt_of(chat.messages, chat.tools, self.tokenizer)
        except NoChat as error:
            raise PippinError(f"the chat {error}.") from None
        except NotLearnable as error:
            raise PippinError(f"{error}.") from None
        return self._fitting(self.tokenizer(prompt, add_special_tokens=False)["input_ids"])

    def text_tokens(self, text: str) -> list[int]:
        """A text as the model reads it before it goes on."""
        ids: list[int] = self.tokenizer(text)["input_ids"]
        if ids and ids[-1] in self.stops:  # that some tokenizers put behind every text
            ids = ids[:-1]
        if not ids:
            raise PippinError("there is no text to go on from.")
        return self._fitting(ids)

    def _see_to_template(self) -> None:
        if not has_template(self.tokenizer) and self.tokenizer.eos_token is None:
            raise PippinError(
                f"{self.folder} has no chat template, and its tokenizer no end token to make one with. It can go on "
                "from a text: --complete, or complete(text) in Python."
            )
        give_template(self.tokenizer, "")

    def _fitting(self, prompt: list[int]) -> list[int]:
        if self.longest is not None and len(prompt) >= self.longest:
            raise TooLong(len(prompt), self.longest)
        return prompt

    def _generate(self, read: list[int], heard: Streamer, seed: int | None, settings: dict[str, Any]) -> str:
        check_settings(settings)
        asked = {
            "eos_token_id": self.stops or None,
            "pad_token_id": next(iter(self.stops), None),
            **with_choice_of_tokens(settings),
            **self._lengths(settings, len(read)),
        }
        if settings.get("stop_strings") or settings.get("token_healing"):
            asked["tokenizer"] = self.tokenizer
        one_by_one = (settings.get("num_beams") or self.model.generation_config.num_beams or 1) == 1
        if one_by_one and all(settings.get(name) is None for name in _OWN_WAYS):
            asked |= self._kept.hand_over(read)
        if seed is not None:
            self.backend.seed(seed)
        with refusals(lambda: bool(settings) and not heard.tokens):  # later on it is not the settings that are wrong
            tokens = self._call(read, asked, heard if one_by_one else None)
        self._kept.keep(tokens, asked.get("past_key_values"))
        heard.whole(tokens[len(read) :])
        self.was_cut = self._is_cut(tokens, len(read), asked)
        return heard.text

    def _call(self, read: list[int], asked: dict[str, Any], heard: Streamer | None) -> list[int]:
        """What was read, and what was generated behind it."""
        ids = torch.tensor([read], device=self.backend.device)
        with torch.inference_mode():
            found = self.model.generate(ids, attention_mask=torch.ones_like(ids), streamer=heard, **asked)
        return list(found[0].tolist())

    def _lengths(self, settings: dict[str, Any], read: int) -> dict[str, int | None]:
        """How long the answer may be: as long as asked, but never beyond what the model reads."""
        most, new = settings.get("max_length"), settings.get("max_new_tokens")
        if most and not new:
            return {"max_length": min(most, self.longest or most), "max_new_tokens": None}
        new = new or MOST_NEW_TOKENS
        return {"max_new_tokens": min(new, self.longest - read) if self.longest else new, "max_length": None}

    def _is_cut(self, tokens: list[int], read: int, asked: dict[str, Any]) -> bool:
        ends = asked["eos_token_id"] or []
        is_ended = tokens[-1] in (ends if isinstance(ends, list) else [ends])
        return not is_ended and len(tokens) >= (asked["max_length"] or read + asked["max_new_tokens"])


def _precision(facts: Any, traits: Any) -> str:
    """On a GPU as the weights are stored, where it has that; else in full precision, where there is room for it."""
    room = traits.budget_bytes or traits.memory_bytes
    whole = 4 * facts.size.weights if facts.size else 0
    if traits.is_gpu:
        return facts.stored if facts.stored == "fp16" or traits.bf16 else "fp16" if facts.stored == "bf16" else "fp32"
    return facts.stored if room and whole > _SHARE * room else "fp32"
