"""A daemon, a daemon that is none, and both faces of the package under one set of names."""

import asyncio
import contextlib
import inspect
import json
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import tempfile
import threading

import pytest

import statectl

ROOT = pathlib.Path(__file__).resolve().parents[3]
BIN = pathlib.Path(os.environ.get("STATEMACHINE_BIN", ROOT / ".build/debug"))
# What anything may take on a machine that has much else to do.
BOUND = 60

MACHINE = """\
machine: app
start: ready
events: {play: {title: string}, stop: {}, finish: {}}
groups: {working: {states: [busy, paused]}}
states:
  ready: {when: {play: busy}}
  busy:
    fields:
      title: {type: string, default: none}
      tries: {type: integer, default: 0}
      ratio: {type: number, default: 0.5}
      tags: {type: array, default: []}
      note: {type: string, optional: true}
    when: {stop: ready}
  paused: {after: {1h: ready}}
  failed: {fields: {why: {type: string, default: unknown}}}
  maintenance: {to: [ready]}
"""


class Daemon:
    """The built daemon, in a directory of its own."""

    def __init__(self, machine=MACHINE, *words, keeps=True):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix="statectl."))
        self.directory = str(self.home / "run")
        self.words = words
        self.keeps = keeps
        (self.home / "app.yaml").write_text(machine)
        self.process = None
        self.start()

    def start(self, *words):
        ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        with ready:
            path = str(self.home / "ready")
            with contextlib.suppress(FileNotFoundError):
                os.unlink(path)
            ready.bind(path)
            ready.settimeout(BOUND)
            state = ["--state-directory", str(self.home / "state")] if self.keeps else ["--ephemeral"]
            with open(self.home / "log", "ab") as log:
                self.process = subprocess.Popen(
                    [str(BIN / "statemachine"), "--machine", str(self.home / "app.yaml"), "--runtime-directory",
                     self.directory, *state, *self.words, *words],
                    env={**os.environ, "NOTIFY_SOCKET": path}, stderr=log, stdout=log,
                )
            while b"READY=1" not in ready.recv(4096):
                pass

    def kill(self):
        self.process.kill()
        self.process.wait(BOUND)

    def stop(self):
        self.process.terminate()
        self.process.wait(BOUND)

    def signal(self, number):
        os.kill(self.process.pid, number)

    def ask(self, line):
        """One request by hand."""
        with socket.socket(socket.AF_UNIX) as sock:
            sock.settimeout(BOUND)
            sock.connect(self.directory + "/control.sock")
            sock.sendall(line.encode() + b"\n")
            answer = b""
            while not answer.endswith(b"\n"):
                answer += sock.recv(65536)
            return json.loads(answer)

    def change(self, count=1):
        """Makes changes, whatever the state is."""
        for _ in range(count):
            is_ready = self.ask("get")["state"] == "ready"
            assert self.ask("send play title=x" if is_ready else "set ready")["changed"]

    def end(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.kill()
        shutil.rmtree(self.home)


class Fake:
    """A daemon that is none: says what it was told to for each connection."""

    def __init__(self, *scripts):
        self.home = tempfile.mkdtemp(prefix="statectl.")
        self.directory = self.home
        self.requests = []
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(self.home + "/control.sock")
        self.listener.listen(100)
        self.scripts = scripts
        self.threads = []
        self.closed = threading.Event()
        self.has_ended = False
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        number = 0
        while True:
            sock, _ = self.listener.accept()
            if self.scripts is None:
                sock.close()
                return
            script = self.scripts[min(number, len(self.scripts) - 1)]
            number += 1
            thread = threading.Thread(target=self.serve, args=(sock, script))
            self.threads.append(thread)
            thread.start()

    def serve(self, sock, script):
        with sock, sock.makefile("rb") as lines, contextlib.suppress(OSError):
            script(self, sock, lines)

    def end(self):
        self.scripts = None
        with socket.socket(socket.AF_UNIX) as last, contextlib.suppress(OSError):
            last.connect(self.home + "/control.sock")
        for thread in [self.thread, *self.threads]:
            thread.join(BOUND)
            assert not thread.is_alive()
        self.listener.close()
        shutil.rmtree(self.home)

    @staticmethod
    def pouring(line):
        """Says a line over and over, for 32 MiB; `has_ended` if all of it was listened to."""

        def script(fake, sock, lines):
            request = lines.readline()
            if not request:
                return
            id = json.loads(request).get("id")
            said = json.dumps(line if id is None else {**line, "id": id}).encode() + b"\n"
            part = said * (65536 // len(said))
            for _ in range((32 << 20) // len(part)):
                sock.sendall(part)
            fake.has_ended = True

        return script

    @staticmethod
    def saying(*answers, then=None):
        """For each request an answer, whose id is the request's; then what is left."""

        def script(fake, sock, lines):
            for answer in answers:
                request = lines.readline()
                if not request:
                    return
                fake.requests.append(json.loads(request))
                id = fake.requests[-1].get("id")
                if isinstance(answer, dict):
                    answer = {key: value for key, value in answer.items() if key != "id"}
                    answer = {**answer, "id": id} if id is not None else answer
                    answer = json.dumps(answer).encode() + b"\n"
                sock.sendall(answer)
            if then is not None:
                then(sock)
            else:
                # Until the client has gone.
                while lines.readline():
                    pass

        return script


class Loop:
    """The asyncio face, awaited call by call, so that one test is about both."""

    name = "aio"

    def __init__(self):
        self.loop = asyncio.new_event_loop()

    def connect(self, *words, **keys):
        return self.wrapped(self.run(statectl.aio.connect(*words, **keys)._opened()))

    def run(self, awaitable):
        async def one():
            return await asyncio.wait_for(awaitable, BOUND)

        return self.loop.run_until_complete(one())

    def wrapped(self, value):
        if inspect.isawaitable(value) and not isinstance(value, statectl.aio.Machine):
            value = self.run(value)
        if isinstance(value, (statectl.aio.Machine, statectl.aio.Watch, statectl.aio.Hold, statectl.aio.Guard)):
            return Wrapped(self, value)
        return value

    def end(self):
        tasks = asyncio.all_tasks(self.loop)
        assert not tasks, f"tasks are left: {tasks}"
        self.loop.close()


class Wrapped:
    def __init__(self, face, value):
        self.__dict__.update(_face=face, _value=value)

    def __getattr__(self, name):
        found = getattr(self._value, name)
        if not callable(found):
            return found

        def call(*words, **keys):
            async def within():
                # What makes a task needs a running loop.
                made = found(*words, **keys)
                return await made if inspect.isawaitable(made) and not isinstance(made, statectl.aio.Machine) else made

            return self._face.wrapped(self._face.run(within()))

        return call

    def __iter__(self):
        return self

    def __next__(self):
        try:
            return self._face.run(self._value.__anext__())
        except StopAsyncIteration:
            raise StopIteration from None

    def __enter__(self):
        return self._face.wrapped(self._face.run(self._value.__aenter__()))

    def __exit__(self, *error):
        self._face.run(self._value.__aexit__(*error))


class Blocking:
    name = "blocking"
    connect = staticmethod(statectl.connect)

    def end(self):
        pass


@pytest.fixture(params=["blocking", "aio"])
def face(request):
    face = Blocking() if request.param == "blocking" else Loop()
    yield face
    face.end()


@pytest.fixture
def daemon():
    daemon = Daemon()
    yield daemon
    daemon.end()


@pytest.fixture
def machine(face, daemon):
    with face.connect(runtime_directory=daemon.directory) as machine:
        yield machine


@pytest.fixture
def fake():
    made = []

    def make(*scripts):
        made.append(Fake(*scripts))
        return made[-1]

    yield make
    for one in made:
        one.end()
