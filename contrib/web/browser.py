"""A headless Chromium, driven through a pipe, so that no port of it is open."""
import base64
import json
import os
import shutil
import signal
import subprocess
import sys
import time

LIMIT = 20  # Seconds within which a thing has to be seen that takes a fraction of one.


def chromium():
    """Where it is, or None."""
    return shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """A Chromium and one page in it, by the DevTools protocol: JSON and a zero byte."""

    def __init__(self, program, directory):
        there, self.out = os.pipe()
        self.inp, here = os.pipe()

        def place():
            first, second = os.dup(there), os.dup(here)
            os.dup2(first, 3)
            os.dup2(second, 4)

        self.process = subprocess.Popen(
            [program, "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             "--no-first-run", "--disable-dev-shm-usage", f"--user-data-dir={directory}", "about:blank"],
            preexec_fn=place, close_fds=False, stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(there)
        os.close(here)
        self.rest, self.last, self.session, self.said, self.targets = b"", 0, None, [], {}
        self.window("about:blank")

    def window(self, url):
        """Opens another window, which is used from then on; returns it."""
        self.session = None
        target = self.call("Target.createTarget", url="about:blank", newWindow=True)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.targets[self.session] = target
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        if url != "about:blank":
            self.call("Page.navigate", url=url)
        return self.session

    def close(self, window):
        self.session = None
        self.call("Target.closeTarget", targetId=self.targets.pop(window))

    def call(self, method, **parameters):
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self.last:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']}")
                return answer["result"]
            if answer.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded"):
                self.said.append(json.dumps(answer["params"])[:600])

    def read(self):
        while b"\0" not in self.rest:
            chunk = os.read(self.inp, 1 << 16)
            if not chunk:
                raise RuntimeError("the browser is gone")
            self.rest += chunk
        line, self.rest = self.rest.split(b"\0", 1)
        return json.loads(line)

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in result:
            raise RuntimeError(f"{expression}: {result['exceptionDetails']}")
        return result["result"].get("value")

    def until(self, expression, what):
        end = time.monotonic() + LIMIT
        while not self.value(expression):
            if time.monotonic() > end:
                sys.exit(f"never seen: {what}\n  shown: {self.value('document.body.innerText')[:800]}\n  said: {self.said[-5:]}")
            time.sleep(0.02)

    def picture(self, path, width, scheme):
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=800, deviceScaleFactor=1, mobile=width < 500)
        time.sleep(1)
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        data = self.call("Page.captureScreenshot", captureBeyondViewport=True,
                         clip={"x": 0, "y": 0, "width": width, "height": size["height"], "scale": 1})["data"]
        path.write_bytes(base64.b64decode(data))
        return size["width"]

    def end(self):
        os.killpg(self.process.pid, signal.SIGTERM)
        self.process.wait()
