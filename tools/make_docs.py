"""Writes every page of the guide that is made from the code: python tools/make_docs.py

Each docs/make_*.py has a function page(), which returns the text, and PAGE, where it goes.
"""

from __future__ import annotations

import runpy
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"


def made_pages() -> dict[Path, str]:
    """Each made page's path and text."""
    makers = (runpy.run_path(str(script)) for script in sorted(DOCS.glob("make_*.py")))
    return {maker["PAGE"]: maker["page"]() for maker in makers}


if __name__ == "__main__":
    for path, text in made_pages().items():
        path.write_text(text)
        print(path.relative_to(DOCS.parent))
