"""Settings from a YAML or JSON file (YAML reads both)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pippin.errors import PippinError
from pippin.recipe.reading import Given


def settings_from_file(path: str, mistakes: list[str]) -> list[Given]:
    """The settings of a file. What is wrong with the file is added to `mistakes`."""
    if not path.strip():
        mistakes.append("--config needs a value: the name of a file.")
        return []
    try:
        loaded = _load_yaml(path, mistakes)
    except PippinError as error:
        mistakes.append(str(error))
        return []
    spelled: dict[str, str] = {}
    for key in map(str, loaded):
        name = key.replace("-", "_")
        if name in spelled:
            mistakes.append(f"--config {path}: {spelled[name]} and {key} are the same setting; keep one.")
        spelled[name] = key
    return [Given(str(key).replace("-", "_"), value, f"{key} (in {path})") for key, value in loaded.items()]


def _load_yaml(path: str, mistakes: list[str]) -> dict[Any, Any]:
    """The mapping in a file. YAML lets the last of two equal keys win; here that is a mistake."""
    import yaml

    class Loader(yaml.SafeLoader):
        def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
            node = super().compose_mapping_node(anchor)
            seen: dict[str, int] = {}
            for key, _ in node.value:
                line = key.start_mark.line + 1
                if isinstance(key, yaml.ScalarNode) and key.value in seen:
                    where = f"lines {seen[key.value]} and {line}" if seen[key.value] != line else f"line {line}"
                    mistakes.append(f"--config {path}: {key.value} stands there twice ({where}); keep one.")
                if isinstance(key, yaml.ScalarNode):
                    seen[key.value] = line
            return node

    try:
        loaded = yaml.load(Path(path).read_text(encoding="utf-8"), Loader)
    except FileNotFoundError:
        raise PippinError(f"--config {path}: there is no such file.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise PippinError(f"--config {path}: cannot be read ({error}).") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise PippinError(f"--config {path}: not valid YAML or JSON{line}.") from None
    if loaded is None:
        raise PippinError(f"--config {path}: the file is empty; expected `name: value` lines.")
    if not isinstance(loaded, dict):
        raise PippinError(f"--config {path}: expected `name: value` lines, found {type(loaded).__name__}.")
    return loaded
