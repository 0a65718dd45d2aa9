"""A small WebDriver client for headless Chromium: the W3C protocol over HTTP, standard library only."""

import base64
import contextlib
import http.client
import json
import pathlib
import re
import shutil
import subprocess
import threading

from smserver import PATIENCE_S, wait_until

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage", "--hide-scrollbars"]
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class WebDriverError(Exception):
    pass


class Browser:
    """One browser window. `folder` holds its profile."""

    def __init__(self, folder, width=1440, height=900):
        driver = shutil.which("chromedriver")
        if not driver or not shutil.which("chromium"):
            raise FileNotFoundError("needs chromium and chromedriver (Debian: chromium, chromium-driver)")
        self.session = None
        self.process = subprocess.Popen([driver, "--port=0"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True)
        self.port = self._find_port()
        threading.Thread(target=self._drain, daemon=True).start()
        options = {"binary": shutil.which("chromium"),
            "args": [*FLAGS, f"--user-data-dir={pathlib.Path(folder) / 'profile'}", f"--window-size={width},{height}"]}
        reply = self._call("POST", "/session", {"capabilities": {"alwaysMatch": {"browserName": "chrome",
            "goog:chromeOptions": options, "goog:loggingPrefs": {"browser": "ALL"}}}})
        self.session = reply["sessionId"]

    def _find_port(self):
        for line in self.process.stdout:
            found = re.search(r"started successfully on port (\d+)", line)
            if found:
                return int(found.group(1))
        raise WebDriverError("chromedriver did not start")

    def _drain(self):
        for _ in self.process.stdout:
            pass

    def _call(self, method, path, body=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=120)
        try:
            payload = json.dumps(body if body is not None else {}) if method == "POST" else None
            connection.request(method, path, payload, {"Content-Type": "application/json"})
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise WebDriverError(f"{value['error']}: {value['message']}")
        return value

    def command(self, method, path, body=None):
        return self._call(method, f"/session/{self.session}{path}", body)

    def open(self, url):
        self.command("POST", "/url", {"url": url})

    def run(self, script, *arguments):
        """The value of a JavaScript function body."""
        return self.command("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def wait_for(self, script, *arguments, what=None, timeout=PATIENCE_S):
        """The first true value of a script."""
        return wait_until(lambda: self.run(script, *arguments), timeout, what or script)

    def text(self, selector):
        return self.run("const e = document.querySelector(arguments[0]); return e && e.innerText", selector)

    def find(self, selector):
        return self.command("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.command("POST", f"/element/{self.find(selector)}/click")

    def type(self, selector, text):
        self.command("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def resize(self, width, height):
        self.command("POST", "/window/rect", {"width": width, "height": height})

    def screenshot(self, path):
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(self.command("GET", "/screenshot")))

    def console(self):
        """What was logged since the last call, as (level, text)."""
        return [(entry["level"], entry["message"]) for entry in self.command("POST", "/se/log", {"type": "browser"})]

    def close(self):
        if self.session:
            with contextlib.suppress(WebDriverError, OSError):
                self.command("DELETE", "")
        self.process.terminate()
        self.process.wait(30)
