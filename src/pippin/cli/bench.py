"""`pippin bench`: how fast is a model on each device of this machine, and which one should be used?"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pippin.errors import Mistakes, PippinError, nearest
from pippin.machine.drivers import check_device_name, prepare_environment

HELP = """
Usage: pippin bench [FILE|FOLDER] [--flag value ...]
       pippin bench --compare a.json b.json [c.json ...]

Three tests on every device of this machine: inference by batch size, length and precision; fine-tuning on 1000 rows;
and training of the head alone on the frozen core. Takes about two minutes with the built-in model and questions, and
ends with one sentence: which device to use, and why. Devices take turns, so that a machine that gets hot or busy gets
slower for all of them alike. What there is no time for is left out, and said.

  pippin bench                                      the built-in model and questions, two minutes
  pippin bench --against transformers               beside Hugging Face's Trainer on the same work
  pippin bench --full                               BERT-base, ten minutes
  pippin bench reviews.csv --minutes 5 --device cpu
  pippin bench --compare mine.json yours.json       machines side by side; nothing is run

  --model_name_or_path M  Another model: a folder or a name on the Hub.
  --device NAME[,NAME]    Only these: cpu, mps, cuda. An emulated device is measured only if it is named here.
  --minutes N             Time for all of it. Default: 2, and 10 with --full.
  --repeats N             At most so many repeats of each setting. Default: 5.
  --cool_down SECONDS     Rest before each repeat, for laptops that get hot; in addition to the minutes.
  --against transformers  Also train with Hugging Face's Trainer, padded as run_glue.py does.
  --full                  BERT-base; with random weights where it was never fetched from the Hub: speed only.
  --compare A B ...       Show the bench.json of several machines together.
  --output_dir FOLDER     New or empty. Default: runs/bench, numbered where that is taken.
  --json                  Print bench.json instead of tables.

Writes bench.json, bench.md and charts as PNG and SVG: speed_up (where there is something to compare), throughput and
memory. Ctrl-C ends it early, with the files of what was measured so far.
"""
_NUMBERS = {"minutes": float, "repeats": int, "cool_down": float}
_WORDS = ("model_name_or_path", "device", "against", "output_dir")
_SWITCHES = ("full", "json")
#: What --compare goes together with.
_WITH_COMPARE = {"compare", "output_dir"}


@dataclass
class _Words:
    """The command line, taken apart."""

    values: dict[str, Any] = field(default_factory=dict)
    data: list[str] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)


def run(arguments: list[str]) -> int:
    """Run the command; returns the exit code."""
    if any(word in ("-h", "--help") for word in arguments):
        print(HELP.strip())
        return 0
    words = _taken_apart(arguments)
    mistakes = words.mistakes + _contradictions(words)
    if mistakes:
        raise Mistakes(mistakes)
    if "compare" in words.values:
        return _compare(words.values)
    return _bench(words)


def _taken_apart(arguments: list[str]) -> _Words:
    words = _Words()
    place = 0
    while place < len(arguments):
        word = arguments[place]
        place += 1
        if not word.startswith("-"):
            words.data.append(word)
            continue
        typed, equals, value = word.partition("=")
        name = typed.lstrip("-").replace("-", "_")
        following: list[str] = []
        while place + len(following) < len(arguments) and not arguments[place + len(following)].startswith("--"):
            following.append(arguments[place + len(following)])
        if not typed.startswith("--") or name not in (*_NUMBERS, *_WORDS, *_SWITCHES, "compare"):
            known = [*_NUMBERS, *_WORDS, *_SWITCHES, "compare", "help"]
            words.mistakes.append(f"{typed}: there is no such flag.{nearest(name, known, '--')}")
            place += bool(following) and not equals
        elif name in _SWITCHES:
            words.values[name] = True
        elif name == "compare":
            words.values[name] = ([value] if equals else []) + following
            place += len(following)
        elif not equals and not following:
            words.mistakes.append(f"{typed} needs a value after it.")
        else:
            _set(words, name, typed, value if equals else following[0])
            place += not equals
    return words


def _set(words: _Words, name: str, typed: str, value: str) -> None:
    if name in _NUMBERS:
        try:
            number = _NUMBERS[name](value)
        except ValueError:
            words.mistakes.append(f"{typed} {value}: a {'whole ' * (name == 'repeats')}number is wanted.")
            return
        if not (0 < number < float("inf")) and not (name == "cool_down" and number == 0):
            words.mistakes.append(f"{typed} {value}: it must be more than 0.")
            return
        words.values[name] = number
    elif name == "device":
        devices = tuple(filter(None, value.split(",")))
        for device in devices:
            try:
                check_device_name(device)
            except PippinError as error:
                words.mistakes.append(str(error))
        words.values[name] = (*words.values.get(name, ()), *devices)
    else:
        words.values[name] = value


def _contradictions(words: _Words) -> list[str]:
    values, found = words.values, []
    if "compare" in values:
        if len(values["compare"]) < 2:
            found.append("--compare needs two files or more: pippin bench --compare a.json b.json")
        others = [f"--{name}" for name in values if name not in _WITH_COMPARE] + words.data
        if others:
            found.append(f"--compare runs nothing: leave out {', '.join(others)}.")
        return found
    if len(words.data) > 1:
        found.append(f"one FILE or FOLDER at a time, but {len(words.data)} were named: {', '.join(words.data)}.")
    if "full" in values and "model_name_or_path" in values:
        found.append("--full is BERT-base: leave it out, or --model_name_or_path.")
    if values.get("against", "transformers") != "transformers":
        found.append(f"--against {values['against']}: only transformers is known.")
    found += [f"{data}: there is no such file or folder." for data in words.data if not Path(data).exists()]
    return found


def _bench(words: _Words) -> int:
    prepare_environment()
    from pippin.commands.bench.folder import as_json, free_folder, write_bench
    from pippin.commands.bench.run import MINUTES, MINUTES_FULL, REPEATS, Asked, Benchmark
    from pippin.commands.bench.views.table import BenchProgress, show_bench
    from pippin.report.terminal import Terminal

    values = words.values
    folder = free_folder(values.get("output_dir"))
    terminal = Terminal(quiet="json" in values)
    minutes = values.get("minutes") or (MINUTES_FULL if "full" in values else MINUTES)
    asked = Asked(
        model=values.get("model_name_or_path"),
        data=words.data[0] if words.data else None,
        devices=values.get("device", ()),
        minutes=minutes,
        repeats=values.get("repeats", REPEATS),
        cool_down=values.get("cool_down", 0.0),
        full="full" in values,
        against_transformers="against" in values,
    )
    progress = BenchProgress(terminal, 60 * minutes)
    benchmark = Benchmark(asked, progress.show)
    time = f"{minutes:g} minute{'s' * (minutes != 1)}"
    terminal.say(f"measuring on {', '.join(benchmark.devices)}, for about {time}; Ctrl-C ends it early")
    code = 0
    try:
        with progress:
            benchmark.run()
    except KeyboardInterrupt as error:
        if not benchmark.bench.points:
            raise
        code = 128 + getattr(error, "signal", 2)
    written = write_bench(benchmark.bench, folder)
    if "json" in values:
        print(as_json(benchmark.bench))
        return code
    show_bench(benchmark.bench, terminal)
    _say_files(terminal, folder, written)
    return code


def _compare(values: dict[str, Any]) -> int:
    from pippin.commands.bench.folder import free_folder, write_comparison
    from pippin.commands.bench.results import Bench, read_bench
    from pippin.commands.bench.views.table import show_comparison
    from pippin.report.terminal import Terminal

    benches: list[Bench] = []
    mistakes = []
    for path in values["compare"]:
        try:
            benches.append(read_bench(path))
        except PippinError as error:
            mistakes.append(str(error))
    if mistakes:
        raise Mistakes(mistakes)
    folder = free_folder(values.get("output_dir"))
    written = write_comparison(benches, folder)
    terminal = Terminal()
    show_comparison(benches, terminal)
    _say_files(terminal, folder, written)
    return 0


def _say_files(terminal: Any, folder: Path, written: list[Path]) -> None:
    terminal.say(f"in {folder}: {', '.join(path.name for path in written)}")
