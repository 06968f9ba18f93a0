"""A headless Chromium that tests talk to through its debugging pipe: pages from files, and what happens in them."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

_NAMES = ("chromium", "chromium-browser", "google-chrome")
CHROMIUM = next(filter(None, map(shutil.which, _NAMES)), None)
_PATIENCE = 60.0


class Browser:
    """One tab. What it logs and asks for is remembered."""

    def __init__(self, profile: Path):
        to_child, ours = os.pipe()
        theirs, from_child = os.pipe()
        flags = [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--remote-debugging-pipe", f"--user-data-dir={profile}", "about:blank",
        ]  # fmt: skip
        self.process = subprocess.Popen(
            [str(CHROMIUM), *flags],
            preexec_fn=lambda: _as_three_and_four(to_child, from_child),
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_child)
        os.close(from_child)
        self.write_end, self.read_end = ours, theirs
        self.buffer = b""
        self.number = 0
        self.session: str | None = None
        self.events: list[dict[str, Any]] = []
        target = self.send("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for part in ("Page", "Runtime", "Network", "Log"):
            self.send(f"{part}.enable")

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)

    def open(self, page: Path) -> None:
        """Load a page from its file, and forget what came before."""
        self.events.clear()
        self.send("Page.navigate", url=page.absolute().as_uri())
        self.wait_for("Page.loadEventFired")

    def reload(self) -> None:
        """Load the page again, and wait for the new one: events of the old may still be on their way."""
        self.run("window.isOld = true")
        self.send("Page.reload")
        while not self.run("!window.isOld && document.readyState === 'complete'"):
            pass

    def run(self, script: str) -> Any:
        """The value of an expression in the page."""
        found = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found
        return found["result"].get("value")

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        self.number += 1
        message: dict[str, Any] = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._read()
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]

    def key(self, key: str) -> None:
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key)

    def wait_for(self, event: str, times: int = 1) -> None:
        """Until something has happened so many times since the page was opened."""
        while sum(each["method"] == event for each in self.events) < times:
            self._read()

    @property
    def complaints(self) -> list[dict[str, Any]]:
        """Errors and warnings of the page's script and of the browser about it."""
        logged = [
            each
            for each in self.events
            if each["method"] in ("Runtime.exceptionThrown", "Log.entryAdded")
            or (each["method"] == "Runtime.consoleAPICalled" and each["params"]["type"] in ("error", "warning"))
        ]
        return [each["params"] for each in logged]

    @property
    def requests(self) -> list[str]:
        """All that was asked for but data in the page itself."""
        asked = (each["params"] for each in self.events if each["method"] == "Network.requestWillBeSent")
        return [each["request"]["url"] for each in asked if not each["request"]["url"].startswith("data:")]

    def picture(self, path: Path, width: int, height: int, dark: bool = False, whole: bool = False) -> Path:
        """What one would see."""
        self.sized(width, height, dark)
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))
        return path

    def sized(self, width: int, height: int, dark: bool = False) -> None:
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def _read(self) -> dict[str, Any]:
        deadline = time.monotonic() + _PATIENCE
        while b"\0" not in self.buffer:
            ready, _, _ = select.select([self.read_end], [], [], max(deadline - time.monotonic(), 0))
            assert ready, "the browser does not answer"
            self.buffer += os.read(self.read_end, 1 << 16)
        line, _, self.buffer = self.buffer.partition(b"\0")
        message = json.loads(line)
        if "method" in message:
            self.events.append(message)
        return message


def _as_three_and_four(read_end: int, write_end: int) -> None:
    """Where Chromium looks for its pipe; by way of other numbers, since the pipe may have these already."""
    kept = fcntl.fcntl(write_end, fcntl.F_DUPFD, 10)
    os.dup2(read_end, 3)
    os.dup2(kept, 4)


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
