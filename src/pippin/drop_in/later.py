"""Large files of a checkpoint, written beside the next steps: what is in them is copied at once.

transformers' own code decides what goes into a checkpoint and in which form. Only the writing of large tensors is put
off: while it is at work, the functions that it writes them with hand them over.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import torch

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

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Within, this thread's large tensors for the folder are kept for `write`."""
        import safetensors.torch
        from transformers import modeling_utils

        places = [(torch, "save"), (safetensors.torch, "save_file"), (modeling_utils, "safe_save_file")]
        with ExitStack() as undone:
            for place, name in places:
                if hasattr(place, name):
                    undone.callback(setattr, place, name, getattr(place, name))
                    setattr(place, name, self._catch(getattr(place, name)))
            yield

    def write(self) -> None:
        """Write what was kept: two files at a time, since neither the disk nor a core is busy with one."""
        files, self._files = self._files, []
        with ThreadPoolExecutor(2, thread_name_prefix="checkpoint") as pool:
            for _ in pool.map(lambda write: write(), files):
                pass

    def _catch(self, usual: Callable[..., Any]) -> Callable[..., Any]:
        thread = threading.get_ident()

        def save(content: Any, path: Any, *arguments: Any, **named: Any) -> Any:
            is_ours = threading.get_ident() == thread and isinstance(path, (str, os.PathLike))
            if not (is_ours and self.folder in Path(path).parents) or (_bytes(content) or 0) < _LARGE:
                return usual(content, path, *arguments, **named)
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


def on_cpu(content: Any, copies: list[torch.Tensor] | None) -> Any:
    """The same with all tensors on the CPU: copied into ``copies``, or only where they are elsewhere.

    What is one tensor under two names remains one. A device is asked here and not by threads, which not each can bear.
    """
    known: dict[tuple[Any, ...], torch.Tensor] = {}

    def move(item: Any) -> Any:
        if isinstance(item, torch.Tensor):
            key = (item.data_ptr(), item.shape, item.stride(), item.dtype)
            if key not in known or item.numel() == 0:
                place = len(known)
                known[key] = item.detach().cpu() if copies is None else _copied(item, copies, place)
            return known[key]
        if isinstance(item, dict):
            return type(item)((name, move(part)) for name, part in item.items())
        return type(item)(map(move, item)) if isinstance(item, (list, tuple)) else item

    return move(content)


def _copied(item: torch.Tensor, copies: list[torch.Tensor], place: int) -> torch.Tensor:
    """A copy in the memory of the one before: new memory takes longer to get than to fill."""
    before = copies[place] if place < len(copies) else None
    if before is not None and (before.shape, before.dtype) == (item.shape, item.dtype):
        return before.copy_(item.detach())
    copies[place:] = [torch.empty(item.shape, dtype=item.dtype, device="cpu").copy_(item.detach())]
    return copies[place]


class Background:
    """One piece of work beside the steps. What goes wrong in it is raised at the next call."""

    def __init__(self) -> None:
        self._thread: threading.Thread | None = None
        self._trouble: BaseException | None = None

    @property
    def is_busy(self) -> bool:
        return self._thread is not None

    def begin(self, work: Callable[[], None]) -> None:
        self.wait()

        def run() -> None:
            try:
                work()
            except BaseException as error:  # of any kind: it is for the thread that waits
                self._trouble = error

        self._thread = threading.Thread(target=run, name="checkpoint")
        self._thread.start()

    def wait(self) -> None:
        """Until what was begun is done."""
        if self._thread is None:
            return
        self._thread.join()
        self._thread, trouble, self._trouble = None, self._trouble, None
        if trouble is not None:
            raise trouble
