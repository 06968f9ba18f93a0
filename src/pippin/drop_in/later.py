"""Large files of a checkpoint, written beside the next steps: what is in them is copied at once.

transformers' own code decides what goes into a checkpoint and in which form. Only the writing of large tensors is put
off: while it is at work, the functions that it writes them with hand them over.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import torch

from pippin.drop_in.swapped import swapped
from pippin.runs.checkpoints.packing import on_cpu

#: Less is written at once: it is not worth a copy.
_LARGE = 2**20
#: By file, tensors that the next checkpoint's can be copied into.
Copies = dict[str, list[torch.Tensor]]
_PLAIN = (bool, int, float, str, bytes, type(None))


class Later:
    """The large files that are to be written into one folder."""

    def __init__(self, folder: Path, copies: Copies | None):
        self.folder, self.copies = folder, copies
        """Memory for what may change before it is written; None: nothing changes."""
        self._files: list[Callable[[], None]] = []

    def catching(self) -> AbstractContextManager[None]:
        """Within, this thread's large tensors for the folder are kept for `write`."""
        import safetensors.torch
        from transformers import modeling_utils

        places = [(torch, "save"), (safetensors.torch, "save_file"), (modeling_utils, "safe_save_file")]
        return swapped(*((place, name, self._catch(getattr(place, name, None))) for place, name in places))

    def write(self) -> None:
        """Write what was kept: two files at a time, since neither the disk nor a core is busy with one."""
        files, self._files = self._files, []
        with ThreadPoolExecutor(2, thread_name_prefix="checkpoint") as pool:
            for _ in pool.map(lambda write: write(), files):
                pass

    def _catch(self, usual: Any) -> Callable[..., Any]:
        thread = threading.get_ident()

        def save(content: Any, path: Any, *arguments: Any, **named: Any) -> Any:
            is_ours = threading.get_ident() == thread and isinstance(path, (str, os.PathLike))
            if not (is_ours and self.folder in Path(path).parents) or (_bytes(content) or 0) < _LARGE:
                return usual(content, path, *arguments, **named)
            # A device is asked here and not by threads, which not each can bear.
            kept = on_cpu(content, None if self.copies is None else self.copies.setdefault(Path(path).name, []))
            self._files.append(lambda: usual(kept, path, *arguments, **named))
            return None

        return save


def _bytes(content: Any) -> int | None:
    """Bytes of all tensors; None where there is anything in it that cannot be copied by halves."""
    if isinstance(content, torch.Tensor):
        is_plain = type(content) in (torch.Tensor, torch.nn.Parameter) and content.layout is torch.strided
        return content.nbytes if is_plain and content.device.type != "meta" else None
    if type(content) in (dict, OrderedDict):
        content = list(content.values())
    elif type(content) not in (list, tuple):
        return 0 if type(content) in _PLAIN else None
    parts = [_bytes(part) for part in content]
    return None if None in parts else sum(part or 0 for part in parts)


class Background:
    """One piece of work beside the steps. What goes wrong in it is raised at the next call."""

    def __init__(self) -> None:
        self._work: Future[None] | None = None

    @property
    def is_busy(self) -> bool:
        return self._work is not None

    def begin(self, work: Callable[[], None]) -> None:
        self.wait()
        pool = ThreadPoolExecutor(1, thread_name_prefix="checkpoint")
        self._work = pool.submit(work)
        pool.shutdown(wait=False)

    def wait(self) -> None:
        """Until what was begun is done; it stays begun where only the waiting is interrupted."""
        if self._work is not None:
            wait([self._work])
            work, self._work = self._work, None
            work.result()
