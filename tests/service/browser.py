"""A headless Chromium, driven over its debugging protocol."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)


class Page:
    """One tab; collects what went wrong in it."""

    def __init__(self, connection):
        self._connection = connection
        self._number = 0
        self.problems = []
        self.requests = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method, **parameters):
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        self._connection.send(json.dumps(message))
        while True:
            answer = json.loads(self._connection.recv(timeout=30))
            if answer.get("id") == self._number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event):
        if event["method"] in ("Runtime.exceptionThrown", "Log.entryAdded"):
            self.problems.append(event["params"])
        if event["method"] == "Network.requestWillBeSent":
            self.requests.append(event["params"]["request"]["url"])

    def open(self, address):
        self.call("Page.navigate", url=address)
        self.wait("document.readyState === 'complete'")

    def run(self, script):
        answer = self.call("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def wait(self, condition, seconds=20):
        deadline = time.monotonic() + seconds
        while not self.run(f"Boolean({condition})"):
            assert time.monotonic() < deadline, f"never: {condition}"
            time.sleep(0.05)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def key(self, name, code, text=None):
        event = {"key": name, "code": name, "windowsVirtualKeyCode": code}
        pressed = {**event, "text": text} if text else event
        self.call("Input.dispatchKeyEvent", type="keyDown", **pressed)
        self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def tab(self):
        self.key("Tab", 9)

    def enter(self):
        self.key("Enter", 13, "\r")

    def hover(self, selector):
        place = self.run(
            f"(() => {{ const n = document.querySelector({json.dumps(selector)});"
            " n.scrollIntoView({block: 'center'}); const r = n.getClientRects()[0];"
            " return [r.left + r.width / 2, r.top + r.height / 2]; })()"
        )
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=place[0], y=place[1])

    def screenshot(self, path):
        data = self.call("Page.captureScreenshot", format="png")["data"]
        Path(path).write_bytes(base64.b64decode(data))


@contextmanager
def browser(folder, size=(1280, 900)):
    """Start Chromium with a profile in ``folder``."""
    from websockets.sync.client import connect

    process = subprocess.Popen(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--no-first-run",
            "--remote-debugging-port=0",
            f"--window-size={size[0]},{size[1]}",
            f"--user-data-dir={folder}",
            "about:blank",
        ],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        ready = Path(folder) / "DevToolsActivePort"
        deadline = time.monotonic() + 30
        while not (ready.exists() and len(ready.read_text().splitlines()) == 2):
            assert time.monotonic() < deadline, "Chromium did not start"
            time.sleep(0.05)
        port = int(ready.read_text().splitlines()[0])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=30) as answer:
            tabs = json.load(answer)
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        with connect(address, max_size=None, proxy=None) as connection:
            yield Page(connection)
    finally:
        process.terminate()
        process.wait(20)
