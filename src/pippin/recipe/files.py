"""Settings from a YAML or JSON file (YAML reads both)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pippin.errors import PippinError, readable
from pippin.plain_files import read_text
from pippin.recipe.reading import Given

#: Bytes of a file of settings; all that there are take a few thousand.
_LARGEST = 128 << 10


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
    return [Given(str(key).replace("-", "_"), value, f"{key} (in {path})", path) for key, value in loaded.items()]


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

        def compose_node(self, parent: Any, index: Any) -> yaml.Node | None:
            """Lists of lists that are named once and repeated unfold to any size."""
            alias = self.peek_event() if self.check_event(yaml.AliasEvent) else None
            node = super().compose_node(parent, index)
            if alias is not None and not isinstance(node, yaml.ScalarNode):
                raise PippinError(
                    f"--config {path}, line {alias.start_mark.line + 1}: *{alias.anchor} repeats a list or a mapping. "
                    "Write it out; only single values can be repeated."
                )
            return node

        def construct_object(self, node: Any, deep: bool = False) -> Any:
            """Values that are none, such as 0x_ or a 13th month, are told by their line."""
            try:
                return super().construct_object(node, deep)
            except (yaml.YAMLError, RecursionError):
                raise
            except Exception:  # the readers of each kind of value raise what they like
                raise yaml.constructor.ConstructorError(problem_mark=node.start_mark) from None

    try:
        with readable(f"--config {path}"):
            loaded = yaml.load(read_text(Path(path), _LARGEST, own_pipes=True), Loader)
    except UnicodeDecodeError as error:
        raise PippinError(f"--config {path}: it is not UTF-8 text (byte {error.start + 1}).") from None
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        line = f" at line {mark.line + 1}" if mark else ""
        raise PippinError(f"--config {path}: not valid YAML or JSON{line}.") from None
    if loaded is None:
        raise PippinError(f"--config {path}: the file is empty; expected `name: value` lines.")
    if not isinstance(loaded, dict):
        raise PippinError(f"--config {path}: expected `name: value` lines, found {type(loaded).__name__}.")
    return loaded
