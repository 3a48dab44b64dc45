"""A real browser, driven through two pipes by Chromium's DevTools protocol: JSON, each message ended by a NUL."""

from __future__ import annotations

import json
import select
import shutil
import subprocess
import time
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage"),
    *("--disable-background-networking", "--disable-component-update", "--remote-debugging-pipe"),
)
#: Cells of each row of a page's table of who did what: their texts by the heading of the column.
ROWS = """[...document.querySelectorAll("#who tbody tr")].map((row) => Object.fromEntries([...row.cells].map(
  (cell, i) => [document.querySelectorAll("#who thead th")[i].innerText.trim(), cell.innerText.trim()])))"""
#: Clicks on the row of a name.
CLICK = """[...document.querySelectorAll("#who tbody button")].find((one) => one.textContent === %s).click()"""
#: Of each canvas, whether anything is painted on it.
DRAWN = """[...document.querySelectorAll("canvas")].map((c) =>
  c.getContext("2d").getImageData(0, 0, c.width, c.height).data.some((byte) => byte))"""
#: Seconds for anything that a page is waited for.
_PATIENCE = 60.0


class NavigatedError(AssertionError):
    """The page went elsewhere while it was asked."""


class Browser:
    """A running browser. It takes one message at a time."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._rest = b""
        self._number = 0
        self._pages: dict[str, Page] = {}

    def call(self, method: str, session: str = "", **params: object) -> dict[str, Any]:
        """Carry out a command of the protocol."""
        self._number += 1
        message: dict[str, object] = {"id": self._number, "method": method, "params": params}
        if session:
            message["sessionId"] = session
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode() + b"\0")
        while True:
            told = self._next()
            if told.get("id") == self._number:
                if "error" in told:
                    left = {"Inspected target navigated or closed", "Execution context was destroyed."}
                    raise (NavigatedError if told["error"]["message"] in left else AssertionError)(told["error"])
                result: dict[str, Any] = told["result"]
                return result
            if (page := self._pages.get(told.get("sessionId", ""))) is not None:
                page.note(told)

    def open(self, url: str, width: int = 1400, height: int = 1000) -> Page:
        """Open a page that nobody has been to: in a tab, as a window of its own takes a second of a processor."""
        self.call("Storage.clearCookies")
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = self._pages[session] = Page(self, session, target)
        for domain in ("Runtime", "Log", "Page"):
            page.call(f"{domain}.enable")
        page.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        page.call("Page.navigate", url=url)
        return page

    def close_pages(self) -> None:
        """Close all pages: as long as one is open it is drawn."""
        for page in self._pages.values():
            self.call("Target.closeTarget", targetId=page.target)
        self._pages.clear()

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            assert self._process.stdout is not None
            assert select.select([self._process.stdout], [], [], _PATIENCE)[0], "the browser does not answer"
            piece = self._process.stdout.read(1 << 16)
            assert piece, "the browser has ended"
            self._rest += piece
        line, _, self._rest = self._rest.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        return message


class Page:
    """A page, and what it said on its console."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self.target = target
        #: Errors and warnings.
        self.problems: list[str] = []

    def call(self, method: str, **params: object) -> dict[str, Any]:
        """Carry out a command of the protocol in this page."""
        return self._browser.call(method, self._session, **params)

    def note(self, told: dict[str, Any]) -> None:
        """Take what the page tells on its own."""
        match told["method"], told["params"]:
            case "Log.entryAdded", {"entry": {"level": "error" | "warning", "text": text}}:
                # Only tests read what is painted.
                if "readback operations using getImageData" not in text:
                    self.problems.append(text)
            case "Runtime.exceptionThrown", {"exceptionDetails": details}:
                self.problems.append(json.dumps(details))
            case "Runtime.consoleAPICalled", {"type": "error" | "warning", "args": words}:
                self.problems.append(json.dumps(words))

    def run(self, script: str) -> Any:
        """Evaluate JavaScript; a promise is waited for."""
        told = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in told, told["exceptionDetails"]
        return told["result"].get("value")

    def wait(self, condition: str) -> None:
        """Wait until some JavaScript gives something true."""
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            with suppress(NavigatedError):
                if self.run(f"Boolean({condition})"):
                    return
            time.sleep(0.05)
        raise AssertionError(f"never true: {condition}; the page says {self.run('document.body.innerText')[:2000]!r}")

    def settled(self) -> None:
        """Wait until the page has been drawn and asks nothing."""
        self.wait(
            "document.readyState === 'complete' && !document.body.hasAttribute('aria-busy') "
            "&& document.querySelectorAll('#who tfoot tr').length > 0"
        )

    def drawn(self) -> None:
        """Wait until what has been asked for so far is painted."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")

    def text(self, selector: str) -> str:
        """Give the text of an element as it is shown."""
        found: str = self.run(f"document.querySelector({json.dumps(selector)}).innerText")
        return found


@contextmanager
def started(profile: Path) -> Iterator[Browser]:
    """Run a browser; the tests that need one are skipped where there is none."""
    if _CHROMIUM is None:
        pytest.skip("no Chromium on this machine: pages are not looked at")
    # It reads and writes at 3 and 4.
    shell = ["sh", "-c", 'exec "$@" 3<&0 4>&1 </dev/null >/dev/null 2>&1', "sh"]
    command = [*shell, _CHROMIUM, *_FLAGS, f"--user-data-dir={profile}", "about:blank"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        try:
            browser = Browser(process)
            yield browser
            browser.call("Browser.close")
        finally:
            process.terminate()
