"""What the blocking face does where something comes in between: signals, forks, guards that ask, other time limits."""

import json
import os
import signal
import socket
import sys
import threading

import pytest

import statectl
from conftest import BOUND

STATE = {"type": "reply", "ok": True, "seq": 1, "state": "ready", "data": {}, "at": "2026-11-20T21:55:03.120007Z", "cursor": "a:1"}


class Interrupted(Exception):
    pass


def interrupted_after(lines, call):
    """What a call gives if a signal's handler raises after so many lines of the package's; None if it did."""
    left = lines

    def trace(frame, event, argument):
        nonlocal left
        if "/statectl/" not in frame.f_code.co_filename:
            return None
        if event == "line":
            left -= 1
            if left == 0:
                raise Interrupted
        return trace

    sys.settrace(trace)
    try:
        return call()
    except Interrupted:
        return None
    finally:
        sys.settrace(None)


@pytest.mark.parametrize("keys", [{}, {"latest": True}, {"only": ("busy", "ready", "failed")}], ids=["all", "latest", "patterns"])
def test_an_interruption_within_a_watch_loses_nothing_and_nothing_comes_twice(daemon, keys):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch(*keys.pop("only", ()), **keys)
        assert next(watch).seq == 0
        lines, interruptions = 0, 0
        for seq in range(1, 150):
            daemon.change()
            lines += 1
            item = interrupted_after(lines, lambda: next(watch))
            if item is None:
                interruptions += 1
                item = next(watch)
            else:
                # Each place has had its turn.
                lines = 0
            assert isinstance(item, statectl.Change) and item.seq == seq, (item, lines)
        assert interruptions > 30


# One of these places is between a socket that is made and the `try` that closes it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_an_interrupted_first_item_comes_again(daemon):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        lines = 0
        while True:
            lines += 1
            watch = machine.watch(since="nonsense")
            item = interrupted_after(lines, lambda: next(watch))
            assert (item or next(watch)) == statectl.Gap(None, "unknown")
            assert next(watch).seq == 0
            if item is not None:
                break
        assert lines > 30


def test_a_time_limit_of_a_programs_own_is_what_ends_a_call(fake):
    def script(fake, sock, lines):
        for line in lines:
            if json.loads(line)["op"] == "get":
                os.kill(os.getpid(), signal.SIGUSR1)
                fake.closed.wait(BOUND)

    def late(number, frame):
        raise TimeoutError("the program's own")

    before = signal.signal(signal.SIGUSR1, late)
    daemon = fake(script)
    try:
        with statectl.connect(runtime_directory=daemon.directory) as machine:
            for call in (machine.get, lambda: machine.wait("busy")):
                with pytest.raises(TimeoutError, match="the program's own") as error:
                    call()
                assert not isinstance(error.value, statectl.Error)
    finally:
        daemon.closed.set()
        signal.signal(signal.SIGUSR1, before)


def test_another_default_of_sockets_changes_nothing(fake):
    def script(fake, sock, lines):
        sock.settimeout(BOUND)
        for line in lines:
            fake.closed.wait(0.3)
            sock.sendall(json.dumps(STATE).encode() + b"\n")

    daemon = fake(script)
    socket.setdefaulttimeout(0.01)
    try:
        with statectl.connect(runtime_directory=daemon.directory, timeout=BOUND) as machine:
            assert machine.get().seq == 1
    finally:
        socket.setdefaulttimeout(None)


# Guards that ask


def test_a_wait_ends_at_once_though_a_guard_has_read_its_answer(fake, monkeypatch):
    monkeypatch.setattr("statectl._wire.BEAT_SECONDS", 3600)
    waits, asks = threading.Event(), threading.Event()
    reply = json.dumps(STATE).encode() + b"\n"

    def requests(fake, sock, lines):
        assert json.loads(lines.readline())["op"] == "get"
        sock.sendall(reply)
        wait = json.loads(lines.readline())
        waits.set()
        assert json.loads(lines.readline())["op"] == "get"
        sock.sendall(json.dumps({**STATE, "id": wait["id"], "matched": "busy"}).encode() + b"\n" + reply)
        lines.readline()

    def guard(fake, sock, lines):
        lines.readline()
        sock.sendall(b'{"type":"reply","ok":true,"guard":1}\n')
        assert waits.wait(BOUND)
        sock.sendall(b'{"type":"ask","ask":1,"seq":1,"state":"ready","data":{},"to":{"state":"busy","data":{}},"leftMs":1000}\n')
        assert json.loads(lines.readline())["op"] == "vote"
        lines.readline()

    daemon = fake(requests, guard)
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        with machine.guard("busy", lambda question: machine.get().seq == 1, required="x"):
            assert machine.wait("busy", timeout=BOUND).matched == "busy"


@pytest.mark.parametrize("error", [
    statectl.Unreachable("another machine"), statectl.Disconnected("another machine"), statectl.ProtocolError("another machine"),
    statectl.Refused({"error": "limit", "message": "another machine"}), StopIteration("another machine"), BlockingIOError("another machine"),
], ids=lambda error: type(error).__name__)
def test_what_a_guard_raises_leaves_the_call_that_asked_it_and_nothing_else(daemon, error):
    def ask(question):
        raise error

    with statectl.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch()
        assert next(watch).seq == 0
        with machine.guard("busy", ask, timeout=BOUND) as guard:
            for call in (lambda: machine.wait("failed", timeout=BOUND), lambda: next(watch), lambda: guard.serve(BOUND)):
                answers = []
                other = threading.Thread(target=lambda: answers.append(daemon.ask("set busy")))
                other.start()
                with pytest.raises(type(error), match="another machine") as raised:
                    call()
                assert raised.value is error
                other.join(BOUND)
                assert answers[0]["by"][0]["why"] == type(error).__name__
            assert guard.lost == 0
            daemon.ask("set failed")
            assert next(watch).seq == 1
            assert machine.wait("failed", timeout=BOUND).seq == 1


def test_a_guard_may_end_the_machine_that_asks_it(daemon):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        def ask(question):
            machine.close()
            return True

        with machine.guard("busy", ask, timeout=BOUND):
            other = threading.Thread(target=lambda: daemon.ask("set busy"))
            other.start()
            with pytest.raises(statectl.Error, match="closed"):
                machine.wait("failed", timeout=BOUND)
            other.join(BOUND)


# Forks


def in_a_child(check):
    """Whether a check is true in a child of fork(2); it says what it raises."""
    child = os.fork()
    if child == 0:
        try:
            os._exit(0 if check() else 1)
        except BaseException as error:
            os.write(2, f"{type(error).__name__}: {error}\n".encode())
        finally:
            os._exit(2)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_a_child_waits_and_watches_and_has_nothing_of_its_parents(daemon):
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch()
        assert next(watch).seq == 0
        with machine.hold("failed") as hold, machine.guard("paused", lambda question: "the parent", timeout=BOUND) as guard:
            daemon.change(2)

            def child():
                assert [next(watch).seq for _ in range(2)] == [1, 2]
                assert not hold.held and hold.lost == 0
                assert machine.wait("ready", timeout=BOUND).seq == 2
                assert next(machine.watch()).seq == 2
                with pytest.raises(ValueError, match="the parent process's"):
                    guard.serve(0)
                with machine.hold("busy"):
                    return {row["before"][0] for row in machine.stats()["holds"]} == {"failed", "busy"}

            assert in_a_child(child)
            assert hold.held and hold.lost == 0 and guard.lost == 0
            assert [next(watch).seq for _ in range(2)] == [1, 2]
            assert [row["before"] for row in machine.stats()["holds"]] == [["failed"]]
