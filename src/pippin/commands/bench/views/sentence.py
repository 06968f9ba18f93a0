"""One sentence: on this machine, for this model, use this device, because."""

from __future__ import annotations

from pippin.commands.bench.results import HEAD_ONLY, INFERENCE, PIPPIN, TRAINING, Bench, Point
from pippin.commands.bench.views.series import device_label

#: Below this many times as fast, a device is about as fast as another.
_ABOUT_THE_SAME = 1.1
#: Of the best throughput, what is as good as it.
_AS_GOOD = 0.95


def sentence(bench: Bench) -> str:
    """What to use, and why; emulated devices are never recommended."""
    real = [device for device in bench.devices if device not in bench.emulated]
    speeds = {device: speed for device in real if (speed := _speed(bench, device)) is not None}
    if not speeds:
        only = "only an emulated device was measured, and its times are the CPU's" if bench.emulated else ""
        return f"Nothing can be recommended: {only or 'nothing was measured'}."
    best = max(speeds, key=lambda device: speeds[device])
    reasons = _reasons(bench, best, [device for device in speeds if device != best])
    left = "" if bench.complete else " The benchmark was interrupted, so this is by what was measured until then."
    return f"On this machine, for {bench.model}, use {device_label(bench, best)}: {reasons}.{left}"


def _reasons(bench: Bench, best: str, others: list[str]) -> str:
    found = []
    for other in others:
        ratios = {"trains": _ratio(bench, TRAINING, best, other), "answers": _ratio(bench, INFERENCE, best, other)}
        times = [f"{word} {ratio:.1f} times as fast" for word, ratio in ratios.items() if ratio]
        if times and max(ratio or 0.0 for ratio in ratios.values()) < _ABOUT_THE_SAME:
            found.append(f"it is about as fast as {other}")
        elif times:
            found.append(f"it {' and '.join(times)} as {other}")
    if not others:
        alone = "there is no other" if len(bench.machine.devices) == 1 else "no other was measured"
        found.append("it is the only one that was measured" if len(bench.devices) > 1 else alone)
    found += _batch_words(bench, best)
    return "; ".join(found)


def _batch_words(bench: Bench, device: str) -> list[str]:
    """The batch sizes that are worth it, and the time of the training."""
    words = []
    training = _point(bench, TRAINING, device)
    if training is not None and training.whole_seconds:
        seconds = min(training.whole_seconds)
        score = f" ({bench.metric} {training.score:.2f})" if training.score is not None else ""
        words.append(f"{bench.training_rows} rows are trained in {seconds:.1f} s{score}")
    head = _point(bench, HEAD_ONLY, device)
    if head is not None and head.whole_seconds and training is not None and training.whole_seconds:
        words.append(f"the head alone in {min(head.whole_seconds):.1f} s")
    points = bench.of(INFERENCE, device=device, precision="fp32", length=bench.length)
    speeds = {point.setting.batch: point.samples_per_second for point in points if point.samples_per_second}
    return [*words, _enough(speeds)] if speeds else words


def _enough(speeds: dict[int, float]) -> str:
    """The smallest batch that is as good as any, where larger ones were measured too."""
    most = max(speeds.values())
    speed_words = f"{most:.0f} samples/s" if most >= 100 else f"{most:.3g} samples/s"
    enough = min(batch for batch, speed in speeds.items() if speed >= _AS_GOOD * most)
    if enough == max(speeds):
        return f"for predictions the largest batch that was measured, {enough}, is the fastest ({speed_words})"
    return f"for predictions a batch of {enough} is enough for full speed ({speed_words})"


def _speed(bench: Bench, device: str) -> float | None:
    point = _point(bench, TRAINING, device) or _point(bench, INFERENCE, device)
    return point.samples_per_second if point else None


def _ratio(bench: Bench, test: str, one: str, other: str) -> float | None:
    """Each at the batch size that suits it best."""
    fast, slow = (
        max((point.samples_per_second or 0.0 for point in _by_batch(bench, test, device).values()), default=0.0)
        for device in (one, other)
    )
    return fast / slow if fast and slow else None


def _point(bench: Bench, test: str, device: str) -> Point | None:
    """The most telling point: of training the first batch size, of inference the largest."""
    found = _by_batch(bench, test, device)
    return found[max(found)] if test == INFERENCE and found else next(iter(found.values()), None)


def _by_batch(bench: Bench, test: str, device: str) -> dict[int, Point]:
    where = {"precision": "fp32", "length": bench.length} if test == INFERENCE else {}
    points = bench.of(test, device=device, library=PIPPIN, **where)
    return {point.setting.batch: point for point in points if point.samples_per_second}
