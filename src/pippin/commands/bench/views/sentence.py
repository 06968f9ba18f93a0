"""Which device to use, and why, in a few plain sentences."""

from __future__ import annotations

from collections.abc import Sequence

from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, PIPPIN, TRAINING, Bench, Point
from pippin.commands.bench.views.series import device_label, series_of, time_words
from pippin.commands.charts import figure_words

#: Below this many times as fast, a device is about as fast as another.
_ABOUT_THE_SAME = 1.1
#: Of the best throughput, what is as good as it.
_AS_GOOD = 0.95


def sentence(bench: Bench) -> str:
    """What to use, and why; emulated devices are never recommended."""
    speeds = {device: speed for device in bench.devices if (speed := _speed(bench, device)) is not None}
    real = {device: speed for device, speed in speeds.items() if device not in bench.emulated}
    if not real:
        why = "only an emulated device was measured, and its times are the CPU's" if speeds else "nothing was measured"
        return f"No device can be recommended: {why}."
    best = max(real, key=lambda device: real[device])
    others = [device for device in real if device != best]
    reasons = [_reason(bench, best, other) for other in others]
    if not others:
        reasons = ["it is the only real device measured" if len(speeds) > 1 else "no other device was measured"]
        if len(bench.machine.devices) == 1:
            reasons = ["it is the only device"]
    found = [f"On this machine, use {device_label(bench, best)} for {bench.model}: {'; '.join(reasons)}."]
    found += _times(bench, best)
    if not bench.complete:
        found.append("The benchmark was interrupted, so this rests on what was measured until then.")
    return " ".join(found)


def compared_sentence(benches: Sequence[Bench]) -> str:
    """Which of all machines and devices is fastest; emulated ones are left out."""
    found = []
    for test, words in ((TRAINING, "Training"), (INFERENCE, "Inference")):
        real = [each for each in series_of(benches) if each.library == PIPPIN and not each.is_emulated]
        speeds = {each.label: _fastest(each.bench, test, each.device) for each in real}
        speeds = {label: speed for label, speed in sorted(speeds.items(), key=lambda item: -item[1]) if speed}
        if len(speeds) > 1:
            (best, fast), *_, (worst, slow) = speeds.items()
            if fast < _ABOUT_THE_SAME * slow:
                found.append(f"{words} is about as fast on all of them.")
            else:
                found.append(f"{words} is fastest on {best}: {fast / slow:.1f} times as fast as on {worst}.")
    return " ".join(found) or "There is nothing to compare: fewer than two devices were measured with the same test."


def _reason(bench: Bench, best: str, other: str) -> str:
    training, inference = (
        _fastest(bench, test, best) / slow if (slow := _fastest(bench, test, other)) else 0.0
        for test in (TRAINING, INFERENCE)
    )
    if max(training, inference) < _ABOUT_THE_SAME:
        return f"it is about as fast as {other}"
    if not training or not inference:
        verb = "trains" if training else "predicts"
        return f"it {verb} {training or inference:.1f} times as fast as {other}"
    if inference < 1:
        slower = f", though {other} predicts {1 / inference:.1f} times as fast"
        return f"it trains {training:.1f} times as fast as {other}{slower}"
    return f"it trains {training:.1f} times as fast as {other} and predicts {inference:.1f} times as fast"


def _times(bench: Bench, device: str) -> list[str]:
    """How long training takes, and the batch size that is worth it for predictions."""
    found = []
    training, head = (next(iter(_by_batch(bench, test, device).values()), None) for test in (TRAINING, HEAD_ONLY))
    if training and training.whole_seconds:
        score = f" ({bench.metric} {training.score:.2f})" if training.score is not None else ""
        at = f"at batch size {training.setting.batch}"
        words = f"Training on {bench.training_rows:,} rows {at} takes {time_words(training.whole_seconds)}{score}"
        if head and head.whole_seconds:
            words += f", training the head only {time_words(head.whole_seconds)}"
        found.append(f"{words}.")
    points = _by_batch(bench, INFERENCE, device)
    if speeds := {batch: point.samples_per_second or 0.0 for batch, point in points.items()}:
        most = max(speeds.values())
        enough = min(batch for batch, speed in speeds.items() if speed >= _AS_GOOD * most)
        larger = "is enough for full speed" if enough < max(speeds) else "was the fastest, and the largest measured"
        found.append(f"For predictions, a batch size of {enough} {larger} ({figure_words(speeds[enough])} samples/s).")
    return found


def _speed(bench: Bench, device: str) -> float | None:
    """At the most telling point: of training the first batch size, of inference the largest."""
    training, inference = (_by_batch(bench, test, device) for test in (TRAINING, INFERENCE))
    points = [*training.values(), *(inference[batch] for batch in sorted(inference, reverse=True))]
    return points[0].samples_per_second if points else None


def _fastest(bench: Bench, test: str, device: str) -> float:
    """At the batch size that suits the device best; 0 where nothing was measured."""
    return max((point.samples_per_second or 0.0 for point in _by_batch(bench, test, device).values()), default=0.0)


def _by_batch(bench: Bench, test: str, device: str) -> dict[int, Point]:
    where = {"precision": "fp32", "length": bench.length} if test == INFERENCE else {}
    points = bench.of(test, device=device, library=PIPPIN, **where)
    return {point.setting.batch: point for point in points if point.samples_per_second}
