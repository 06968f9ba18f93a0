"""Whether the trackers that a recipe names are here; loads none of them."""

from __future__ import annotations

from importlib.util import find_spec

from pippin.errors import PippinError


def check_installed(names: tuple[str, ...]) -> None:
    """Refuse trackers whose library is not here, with what to type."""
    missing = [name for name in names if name != "none" and not _is_installed(name)]
    if missing:
        named = f"{' and '.join(missing)} {'is' if len(missing) == 1 else 'are'} not installed"
        raise PippinError(f"--report_to: {named}. Type: pip install {' '.join(missing)}")


def _is_installed(name: str) -> bool:
    """A folder of that name, such as wandb leaves beside its users' scripts, is no library."""
    spec = find_spec(name)
    return spec is not None and spec.origin is not None
