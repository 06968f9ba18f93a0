"""Run docs/notebook.ipynb and keep what it shows, for those who read it without running it.

python tools/make_notebook.py
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import nbclient
import nbformat

NOTEBOOK = Path(__file__).parents[1] / "docs" / "notebook.ipynb"


def main() -> None:
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        place = {"metadata": {"path": folder}}
        nbclient.NotebookClient(notebook, timeout=600, record_timing=False, resources=place).execute()
    notebook.metadata["language_info"] = {"name": "python"}  # not the release that happened to be here
    nbformat.write(notebook, NOTEBOOK)


if __name__ == "__main__":
    main()
