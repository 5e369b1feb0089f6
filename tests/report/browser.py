"""A headless Chromium, driven over its DevTools protocol: to open a file, look at it and press keys."""

import base64
import itertools
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking"),
    *("--disable-component-update", "--disable-sync", "--no-first-run", "--hide-scrollbars"),
    *("--disable-dev-shm-usage", "--remote-debugging-port=0", "--remote-allow-origins=*"),
)
#: Seconds for the start of the browser and for any answer.
PATIENCE = 60.0


def find_chromium():
    """Return the browser's path, or None."""
    names = (os.environ.get("CHROMIUM", ""), "chromium", "chromium-browser", "google-chrome")
    return next(filter(None, (shutil.which(name) for name in names if name)), None)


class Browser:
    """One browser with one page; use it as a context manager."""

    def __init__(self, path):
        self._home = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._errors = Path(self._home.name, "stderr")
        with self._errors.open("wb") as errors:
            self._process = subprocess.Popen(
                [path, *FLAGS, f"--user-data-dir={self._home.name}/profile", "about:blank"],
                stdout=subprocess.DEVNULL,
                stderr=errors,
            )
        try:
            self._connect()
        except BaseException:
            self._end()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._end()

    def _connect(self):
        from websocket import create_connection

        deadline = time.monotonic() + PATIENCE
        while not (match := re.search(r"ws://\S+", self._errors.read_text(errors="replace"))):
            if time.monotonic() > deadline or self._process.poll() is not None:
                raise RuntimeError(f"Chromium did not start: {self._errors.read_text(errors='replace')}")
            time.sleep(0.05)
        self._socket = create_connection(match.group(), timeout=PATIENCE)
        self._numbers = itertools.count(1)
        self._session = None
        self.events = []
        (page,) = [t for t in self.send("Target.getTargets")["targetInfos"] if t["type"] == "page"]
        attached = self.send("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "DOM"):
            self.send(f"{domain}.enable")

    def _end(self):
        if getattr(self, "_socket", None) is not None:
            self._socket.close()
        self._process.terminate()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._home.cleanup()

    def send(self, method, **parameters):
        """Call a method of the protocol and return its result."""
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._socket.send(json.dumps(message))
        while True:
            answer = json.loads(self._socket.recv())
            if answer.get("id") == number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def open(self, path, *, width=1200, height=900, dark=False):
        """Open a file in a window of that size and wait until it is loaded."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            **{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600},
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.send("Emulation.setEmulatedMedia", features=[scheme])
        self.send("Page.navigate", url="about:blank")
        self._wait_until_loaded("about:blank")
        self.events.clear()
        url = Path(path).resolve().as_uri()
        self.send("Page.navigate", url=url)
        self._wait_until_loaded(url)

    def _wait_until_loaded(self, url):
        deadline = time.monotonic() + PATIENCE
        while self.evaluate("[document.readyState, location.href]") != ["complete", url]:
            if time.monotonic() > deadline:
                raise RuntimeError(f"{url} was not loaded in time")
            time.sleep(0.02)

    def evaluate(self, script):
        """Return the value of an expression of JavaScript in the page."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(json.dumps(result["exceptionDetails"]))
        return result["result"].get("value")

    def hover(self, x, y):
        """Move the mouse."""
        self.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x, y):
        """Press and release the left button."""
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def press(self, key, code=0):
        """Press and release a key; `code` is its Windows virtual key code."""
        text = {"text": "\r"} if key == "Enter" else {}
        self.send("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **text)
        self.send("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def complaints(self):
        """Return what the page wrote to the console or broke since it was opened."""
        self.evaluate("0")
        kinds = ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded")
        return [event for event in self.events if event.get("method") in kinds]

    def requests(self):
        """Return the addresses asked for since the page was opened."""
        self.evaluate("0")
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event.get("method") == "Network.requestWillBeSent"
        ]

    def screenshot(self, path, *, whole=True):
        """Write a PNG of the page."""
        shot = self.send("Page.captureScreenshot", captureBeyondViewport=whole, **self._clip(whole))
        Path(path).write_bytes(base64.b64decode(shot["data"]))

    def _clip(self, whole):
        if not whole:
            return {}
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        return {"clip": {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}}

    def pdf(self):
        """Return the page printed on A4."""
        printed = self.send("Page.printToPDF", paperWidth=8.27, paperHeight=11.69, preferCSSPageSize=True)
        return base64.b64decode(printed["data"])
