"""What may be asked of transformers' generate, and how tokens are chosen where nothing is asked."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pippin.errors import PippinError, nearest

#: Whoever sets one of these wants tokens drawn at random.
_DRAWS = ("temperature", "top_p", "top_k", "min_p", "typical_p", "top_h", "epsilon_cutoff", "eta_cutoff")
#: The likeliest token each time, whatever the model's own configuration says.
_LIKELIEST: dict[str, Any] = {"do_sample": False, **dict.fromkeys(_DRAWS)}
#: What Pippin hands to generate itself, or reads from it.
_PIPPINS = {
    "self", "inputs", "kwargs", "input_ids", "inputs_embeds", "attention_mask", "past_key_values", "streamer",
    "return_dict_in_generate", "synced_gpus",
}  # fmt: skip
_REFUSED = {
    "custom_generate": "it runs code from elsewhere, and Pippin runs none",
    "trust_remote_code": "it runs code from elsewhere, and Pippin runs none",
    "generation_config": "give its settings one by one",
    "num_return_sequences": "a prompt gets one answer. For several answers, ask several times",
}


def check_settings(settings: Mapping[str, Any]) -> None:
    """Refuse what generate does not know, or refuses without a look at the model."""
    from transformers import GenerationConfig, GenerationMixin

    configured = vars(GenerationConfig()).keys()
    known = {*configured, *inspect.signature(GenerationMixin.generate).parameters, "stop_strings"}
    known = {name for name in known if not name.startswith("_")} - _PIPPINS - _REFUSED.keys()
    for name in settings:
        if name in _REFUSED and not _is_off(name, settings[name]):
            raise PippinError(f"{name}: {_REFUSED[name]}.")
        if name not in known and name not in _REFUSED:
            raise PippinError(f"{name}: transformers' generate has no such setting.{nearest(name, sorted(known))}")
    with refusals(lambda: True):
        GenerationConfig(
            **{name: value for name, value in with_choice_of_tokens(settings).items() if name in configured}
        )


def _is_off(name: str, value: Any) -> bool:
    return value is None or value is False or (name == "num_return_sequences" and value == 1)


def with_choice_of_tokens(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Drawn at random only where something was asked that means it. A temperature of 0 means the likeliest token."""
    if settings.get("temperature") == 0:
        return {**settings, **_LIKELIEST}
    if settings.get("do_sample") is None and any(settings.get(name) is not None for name in _DRAWS):
        return {**settings, "do_sample": True}
    return {**_LIKELIEST, **settings} if not settings.get("do_sample") else dict(settings)


@contextmanager
def refusals(are_about_settings: Callable[[], bool]) -> Iterator[None]:
    """What transformers says against settings, as one message; errors that are about something else as they are."""
    try:
        yield
    except (ValueError, TypeError, NotImplementedError, ImportError) as error:
        if not are_about_settings():
            raise
        raise PippinError(f"transformers refuses these settings: {' '.join(str(error).split())}") from error
    except RuntimeError as error:
        if "probability tensor" not in str(error):
            raise
        raise PippinError(
            "no token can be drawn: some of the model's scores are infinite, or are no numbers. Choose a temperature "
            "nearer to 1; if that doesn't help, use the CPU."
        ) from error
