"""Drives a headless Chromium by the DevTools protocol over a pipe, without a library.

Waits are events: a condition is looked at again after every change of the page's tree.
"""

import base64
import fcntl
import itertools
import json
import os
import shutil
import signal
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

OPTIONS = (
    "--headless",
    "--remote-debugging-pipe",
    "--no-sandbox",
    "--disable-dev-shm-usage",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--force-color-profile=srgb",
    "--font-render-hinting=none",
    "--hide-scrollbars",
    "--no-proxy-server",
)
KEYS = {
    "Enter": ("\r", 13),
    "Tab": ("", 9),
    "Escape": ("", 27),
    "Backspace": ("", 8),
    "ArrowDown": ("", 40),
    "ArrowUp": ("", 38),
    "ArrowRight": ("", 39),
    "ArrowLeft": ("", 37),
    "PageDown": ("", 34),
    "End": ("", 35),
    "Home": ("", 36),
    " ": (" ", 32),
}
SHIFT = 8
WAIT = """new Promise((resolve) => {
  const look = () => {
    let found = false;
    try { found = CONDITION; } catch (error) { found = false; }
    if (!found) return;
    watcher.disconnect();
    resolve(found === true ? true : String(found));
  };
  const watcher = new MutationObserver(look);
  watcher.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  addEventListener("hashchange", look);
  document.addEventListener("readystatechange", look);
  document.addEventListener("focusin", look);
  look();
})"""
DRAWN = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(true))))"


class PageError(Exception):
    """A script of a test failed in the page."""


class Chromium:
    """A running browser. Answers are matched to commands by number; events are kept by the tab."""

    def __init__(self, program: str) -> None:
        self._profile = tempfile.mkdtemp(prefix="odradek-chromium-")
        to_browser, self._in = os.pipe()
        self._out, from_browser = os.pipe()
        # With --remote-debugging-pipe it reads from descriptor 3 and writes to 4.
        arguments = [program, *OPTIONS, f"--user-data-dir={self._profile}", "about:blank"]
        high = [fcntl.fcntl(one, fcntl.F_DUPFD_CLOEXEC, 10) for one in (to_browser, from_browser)]
        self._process_id = os.posix_spawnp(
            program,
            arguments,
            os.environ,
            file_actions=[(os.POSIX_SPAWN_DUP2, one, number) for number, one in enumerate(high, 3)],
        )
        for one in (to_browser, from_browser, *high):
            os.close(one)
        self._numbers = itertools.count(1)
        self._answers: dict[int, dict[str, Any]] = {}
        self._changed = threading.Condition()
        self._is_over = False
        self.tabs: dict[str, Tab] = {}
        self._reader = threading.Thread(target=self._read, name="chromium", daemon=True)
        self._reader.start()

    def _read(self) -> None:
        rest = b""
        while data := os.read(self._out, 1 << 20):
            *messages, rest = (rest + data).split(b"\0")
            for message in messages:
                found = json.loads(message)
                with self._changed:
                    if "id" in found:
                        self._answers[found["id"]] = found
                    elif found.get("sessionId") in self.tabs:
                        self.tabs[found["sessionId"]].took(found)
                    self._changed.notify_all()
        with self._changed:
            self._is_over = True
            self._changed.notify_all()

    def call(self, method: str, session: str | None = None, **arguments: Any) -> dict[str, Any]:
        """Sends a command and waits for its answer."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": arguments}
        if session is not None:
            message["sessionId"] = session
        os.write(self._in, json.dumps(message).encode() + b"\0")
        with self._changed:
            self._changed.wait_for(lambda: number in self._answers or self._is_over)
            assert number in self._answers, f"Chromium ended during {method}"
            found = self._answers.pop(number)
        if "error" in found:
            raise PageError(f"{method}: {found['error']}")
        result: dict[str, Any] = found["result"]
        return result

    def tab(self, width: int = 1280, height: int = 800) -> "Tab":
        """A new tab, without anything that other tabs have kept."""
        context = self.call("Target.createBrowserContext")["browserContextId"]
        target = self.call("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        made = self.tabs[session] = Tab(self, session, context)
        for domain in ("Page", "Runtime", "Log", "Accessibility"):
            made.call(f"{domain}.enable")
        made.size(width, height)
        return made

    def close(self) -> None:
        """Ends the browser."""
        os.kill(self._process_id, signal.SIGKILL)
        os.waitpid(self._process_id, 0)
        self._reader.join()
        os.close(self._in)
        os.close(self._out)
        shutil.rmtree(self._profile, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class Tab:
    """One tab, as a person uses it: keys, clicks, what is shown."""

    def __init__(self, browser: Chromium, session: str, context: str) -> None:
        self._browser = browser
        self._session = session
        self._context = context
        self.faults: list[str] = []
        """Exceptions of the page's scripts, and what the browser refused or warned of."""

    def took(self, event: dict[str, Any]) -> None:
        """Keeps the events that are faults."""
        given = event["params"]
        if event["method"] == "Runtime.exceptionThrown":
            details = given["exceptionDetails"]
            self.faults.append(details.get("exception", {}).get("description") or details["text"])
        elif event["method"] == "Log.entryAdded" and given["entry"]["level"] == "error":
            self.faults.append(f"{given['entry']['text']} {given['entry'].get('url', '')}")

    def close(self) -> None:
        """Closes the tab, and forgets what it has kept."""
        if self._session in self._browser.tabs:
            del self._browser.tabs[self._session]
            self._browser.call("Target.disposeBrowserContext", browserContextId=self._context)

    def call(self, method: str, **arguments: Any) -> dict[str, Any]:
        """Sends a command to the tab."""
        return self._browser.call(method, self._session, **arguments)

    def size(self, width: int, height: int) -> None:
        """Sets the size of the window, in CSS pixels."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def scheme(self, name: str) -> None:
        """Prefers ``light`` or ``dark``. Colours change at once: a transition would show those in between."""
        preferred = {"prefers-color-scheme": name, "prefers-reduced-motion": "reduce"}
        features = [{"name": feature, "value": value} for feature, value in preferred.items()]
        self.call("Emulation.setEmulatedMedia", features=features)

    def zone(self, name: str) -> None:
        """Sets the browser's time zone."""
        self.call("Emulation.setTimezoneOverride", timezoneId=name)

    def run(self, script: str) -> Any:
        """The value of an expression, which may be a promise."""
        how = {"awaitPromise": True, "returnByValue": True, "userGesture": True}
        found = self.call("Runtime.evaluate", expression=script, **how)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise PageError(details.get("exception", {}).get("description") or details["text"])
        return found["result"].get("value")

    def wait(self, condition: str) -> Any:
        """Waits until an expression is true. It is looked at after each change of the page."""
        return self.run(WAIT.replace("CONDITION", condition))

    def open(self, address: str) -> None:
        """Loads an address, and waits for its document."""
        self.call("Page.navigate", url=address)
        self.wait('document.readyState !== "loading" && location.protocol !== "about:"')

    def go(self, hash_: str) -> None:
        """Goes to a view of the console, and waits until it is there."""
        self.run(f"void (delete main.dataset.ready, location.hash = {json.dumps(hash_)})")
        self.wait(f"main.dataset.ready === {json.dumps(hash_)}")

    def press(self, *keys: str, modifiers: int = 0) -> None:
        """Presses keys one after another, on whatever has the focus."""
        for key in keys:
            text, code = KEYS.get(key, (key, ord(key.upper()[0])))
            given = {"key": key, "windowsVirtualKeyCode": code, "modifiers": modifiers}
            if len(key) > 1:
                given["code"] = key
            self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **given)
            self.call("Input.dispatchKeyEvent", type="keyUp", **given)

    def type(self, text: str) -> None:
        """Types a text where the focus is; what is chosen there is replaced."""
        self.call("Input.insertText", text=text)

    def clear(self) -> None:
        """Chooses all of the field that has the focus."""
        self.run("document.activeElement.select()")

    def tab_to(self, condition: str, most: int = 80) -> None:
        """Presses Tab until the element with the focus, ``it``, fulfils a condition."""
        for _ in range(most):
            if self.run(f"((it) => Boolean({condition}))(document.activeElement)"):
                return
            self.press("Tab")
        raise AssertionError(f"Tab does not reach an element with {condition}")

    def click(self, element: str) -> None:
        """Clicks the middle of an element, given by an expression."""
        spot = self.run(
            f"((it) => {{ it.scrollIntoView({{ block: 'center' }}); const b = it.getBoundingClientRect();"
            f" return [b.x + b.width / 2, b.y + b.height / 2]; }})({element})"
        )
        self.point(*spot)
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=spot[0], y=spot[1], button="left", clickCount=1)

    def point(self, x: float, y: float) -> None:
        """Moves the pointer."""
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def names(self) -> list[tuple[str, str]]:
        """Role and name of everything that a screen reader meets."""
        nodes = self.call("Accessibility.getFullAXTree")["nodes"]
        return [
            (node["role"]["value"], node.get("name", {}).get("value", ""))
            for node in nodes
            if not node["ignored"] and "role" in node
        ]

    def picture(self, file: Path) -> None:
        """Writes a screenshot of the window."""
        self.run(DRAWN)
        file.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
