"""`pippin bench`: how fast is a model on each device of this machine, and which one should be used?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pippin.cli.command_line import CommandLine
from pippin.cli.flags import BenchFlags
from pippin.errors import Mistakes, collecting
from pippin.machine.drivers import check_device_name, prepare_environment
from pippin.recipe.fields import fields_of


def run(line: CommandLine) -> int:
    """Run the command; returns the exit code."""
    line.refuse(_contradictions(line))
    return _compare(line.words, line.flags.output_dir) if line.flags.compare else _bench(line)


def _contradictions(line: CommandLine) -> list[str]:
    flags: BenchFlags = line.flags
    if flags.compare:
        given = [name for name, field in fields_of(BenchFlags).items() if getattr(flags, name) != field.default]
        others = [f"--{name}" for name in given if name not in ("compare", "output_dir")]
        found = [f"--compare runs nothing: leave out {', '.join(others)}."] if others else []
        if len(line.words) < 2:
            found.append("--compare needs two files or more: pippin bench --compare a.json b.json")
        return found
    found = []
    for flag, number in (("minutes", flags.minutes), ("repeats", flags.repeats)):
        if number is not None and number <= 0:
            found.append(f"--{flag}: {number:g} must be above 0.")
    if flags.cool_down < 0:
        found.append(f"--cool_down: {flags.cool_down:g} must be at least 0.")
    for device in flags.device:
        with collecting(found):
            check_device_name(device)
    if len(line.words) > 1:
        found.append(f"one FILE or FOLDER at a time, but {len(line.words)} were named: {', '.join(line.words)}.")
    if flags.full and flags.model_name_or_path:
        found.append("--full is BERT-base: leave it out, or --model_name_or_path.")
    return found + [f"{data}: there is no such file or folder." for data in line.words if not Path(data).exists()]


def _bench(line: CommandLine) -> int:
    prepare_environment()
    from pippin.commands.bench.benchmark import MINUTES, MINUTES_FULL, Asked, Benchmark
    from pippin.commands.bench.folder import as_json, free_folder, write_bench
    from pippin.commands.bench.views.table import BenchProgress, show_bench
    from pippin.report.terminal import Terminal

    flags: BenchFlags = line.flags
    folder = free_folder(flags.output_dir)
    terminal = Terminal(quiet=flags.json)
    minutes = flags.minutes or (MINUTES_FULL if flags.full else MINUTES)
    asked = Asked(
        model=flags.model_name_or_path,
        data=line.words[0] if line.words else None,
        devices=flags.device,
        minutes=minutes,
        repeats=flags.repeats,
        cool_down=flags.cool_down,
        full=flags.full,
        against_transformers=flags.against is not None,
    )
    progress = BenchProgress(terminal, 60 * minutes)
    benchmark = Benchmark(asked, progress.show)
    time = f"{minutes:g} minute{'s' * (minutes != 1)}"
    terminal.say(f"measuring on {', '.join(benchmark.devices)} for about {time}; Ctrl-C stops and keeps the results")
    code = 0
    try:
        with progress:
            benchmark.run()
    except KeyboardInterrupt as error:
        if not benchmark.bench.points:
            raise
        code = 128 + getattr(error, "signal", 2)
    written = write_bench(benchmark.bench, folder)
    if flags.json:
        print(as_json(benchmark.bench))
        return code
    show_bench(benchmark.bench, terminal)
    _say_files(terminal, folder, written)
    return code


def _compare(files: list[str], output_dir: str | None) -> int:
    from pippin.commands.bench.folder import free_folder, write_comparison
    from pippin.commands.bench.results import Bench, read_bench
    from pippin.commands.bench.views.table import show_comparison
    from pippin.report.terminal import Terminal

    benches: list[Bench] = []
    mistakes: list[str] = []
    for path in files:
        with collecting(mistakes):
            benches.append(read_bench(path))
    if mistakes:
        raise Mistakes(mistakes)
    folder = free_folder(output_dir)
    written = write_comparison(benches, folder)
    terminal = Terminal()
    show_comparison(benches, terminal)
    _say_files(terminal, folder, written)
    return 0


def _say_files(terminal: Any, folder: Path, written: list[Path]) -> None:
    page = next(path for path in written if path.suffix == ".html")
    terminal.say(f"Report: {page}\nAlso in {folder}: {', '.join(path.name for path in written if path != page)}")
