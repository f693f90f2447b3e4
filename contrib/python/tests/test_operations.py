"""What each call does, in both faces, against the built daemon."""

import datetime
import enum
import functools
import os
import subprocess
import sys
import threading
import traceback

import pytest

import statectl
from conftest import BOUND, Daemon, Fake


def test_the_state_has_what_the_wire_has(machine, daemon):
    state = machine.get()
    assert (state.state, state.data, state.seq, state.stay, state.due) == ("ready", {}, 0, 0, None)
    assert (state.by, state.cause, state.selected, state.changed) == (None, None, True, None)
    assert state.at.tzinfo is datetime.timezone.utc
    assert abs(datetime.datetime.now(datetime.timezone.utc) - state.at) < datetime.timedelta(seconds=BOUND)
    made = machine.set("paused", cause="lunch")
    assert made.due.state == "ready" and made.due.data == {}
    assert made.due.at - made.at == datetime.timedelta(hours=1)
    got = machine.get()
    assert got.cause == "lunch" and got.by.uid == os.getuid() and got.by.pid == os.getpid() and got.by.comm


def test_a_state_is_printed_as_the_tool_shows_it(machine):
    assert str(machine.get()) == "ready #0"
    watch = machine.watch(latest=True)
    next(watch)
    state = str(machine.set("failed", why="a b"))
    assert state == "failed(why: a b) #1"
    assert str(next(watch)) == state + ", was ready"


def test_a_state_that_is_asked_again_has_data_of_its_own(machine):
    machine.set("busy", title="a", tags=["x"])
    for _ in range(3):
        state = machine.get()
        assert state.data["title"] == "a" and state.data["tags"] == ["x"]
        state.data["title"] = "b"
        state.data["tags"].append("y")
    machine.set("failed", why="a")
    for _ in range(3):
        state = machine.get()
        assert state.data == {"why": "a"} and state.by.uid == os.getuid()
        state.data["why"] = "b"


def test_patterns_compare(machine):
    machine.set("busy", title="a", tries=2)
    assert machine.wait("busy:tries>=2", timeout=0).matched == "busy:tries>=2"
    pattern = {"state": "busy", "where": ["tries>1", "title!=b"]}
    assert machine.wait(pattern, timeout=0).matched == pattern
    with pytest.raises(statectl.Timeout):
        machine.wait("busy:tries>2", "busy:note!=x", timeout=0)
    with machine.hold(before="busy:tries>2"):
        with pytest.raises(statectl.Denied):
            machine.update(tries=3)
    with pytest.raises(statectl.BadData, match="title<b: title is a string, and has no order; use = or !="):
        machine.wait("busy:title<b", timeout=0)


def test_what_was_set_is_returned_with_whether_it_changed(machine):
    made = machine.set("busy", title="1984", tries=2)
    assert made.changed is True and made.seq == 1 and made.data["title"] == "1984" and made.data["tries"] == 2
    assert machine.set("busy", {"title": "1984"}, tries=2).changed is False
    assert machine.set("busy", data={"title": "1984"}, tries=2, reenter=True).seq == 2
    assert machine.set("ready", if_seq=2, if_state="busy", if_stay=2, cause="done").changed
    for wrong in ({"if_seq": 2}, {"if_state": ["busy", "failed"]}, {"if_stay": 2}):
        with pytest.raises(statectl.Conflict) as refused:
            machine.set("failed", **wrong)
        assert refused.value.state.state == "ready" and refused.value.state.seq == 3 and refused.value.code == "conflict"


def test_an_event_says_whether_it_was_handled(machine):
    sent = machine.send("play", title="1984")
    assert sent.changed and sent.handled and sent.state == "busy" and sent.data["title"] == "1984"
    sent = machine.send("finish", if_seq=sent.seq)
    assert not sent.changed and not sent.handled and sent.state == "busy"
    with pytest.raises(statectl.UnknownEvent) as refused:
        machine.send("paly")
    assert refused.value.known == ["play", "stop", "finish"] and refused.value.state.state == "busy"


def test_an_update_stays_in_the_state(machine):
    stay = machine.set("busy").stay
    updated = machine.update(title="b", note=None, if_stay=stay)
    assert updated.changed and updated.stay == stay and updated.data["title"] == "b"
    assert machine.update({"title": "b"}).changed is False
    with pytest.raises(statectl.Conflict):
        machine.update(title="c", if_stay=stay + 1)


def test_sums_and_conditions_are_judged_at_their_turn(machine):
    seq = machine.set("busy", tries=1).seq
    assert machine.update(add={"tries": 2, "ratio": 0.25}, if_seq=seq, if_state="busy").data["tries"] == 3
    assert machine.update(add={"tries": -1}).data["tries"] == 2
    with pytest.raises(statectl.Conflict):
        machine.update(title="x", add={"tries": 1}, if_seq=seq)
    with pytest.raises(statectl.Conflict):
        machine.update(add={"tries": 1}, if_state="ready")
    assert machine.get().data["tries"] == 2


def test_values_of_python_become_those_of_json(machine):
    class Colour(enum.Enum):
        RED = "red"

    when = datetime.datetime(2026, 11, 20, 21, 55, 3, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    data = machine.set("busy", title=Colour.RED, tags=[1, 2.5, True, None, {"a": "é\u2028\"\n"}, (1,), when]).data
    assert data["title"] == "red"
    assert data["tags"] == [1, 2.5, True, None, {"a": "é\u2028\"\n"}, [1], "2026-11-20T20:55:03Z"]


DEEP = functools.reduce(lambda inner, _: [inner], range(3000), [])
WEST = datetime.timezone(datetime.timedelta(hours=-5))


class Large(enum.Enum):
    ONE = float("inf")


@pytest.mark.parametrize("call, kind, sentence", [
    (lambda m: m.set(""), ValueError, "empty"),
    (lambda m: m.set(3), TypeError, "must be a string"),
    (lambda m: m.set("busy", [1]), TypeError, "mapping"),
    (lambda m: m.set("busy", {"title": "a"}, title="b"), TypeError, "given twice"),
    (lambda m: m.set("busy", {1: 2}), TypeError, "must be a string"),
    (lambda m: m.set("busy", ratio=float("nan")), ValueError, "JSON"),
    (lambda m: m.set("busy", tags=[{1, 2}]), TypeError, "cannot be written as JSON"),
    (lambda m: m.set("busy", if_seq=-1), ValueError, "from 0"),
    (lambda m: m.set("busy", if_seq=1.0), TypeError, "integer or a cursor"),
    (lambda m: m.set("busy", if_stay=""), ValueError, "cursor"),
    (lambda m: m.set("busy", if_seq=10 ** 5000), ValueError, "digits"),
    (lambda m: m.set("busy", ratio=float("-inf")), ValueError, "finite"),
    (lambda m: m.set("busy", tags=[[{"a": 10 ** 400}]]), ValueError, "finite"),
    (lambda m: m.set("busy", tags=(10 ** 5000,)), ValueError, "some 5000 digits.*finite"),
    (lambda m: m.send("play", title=Large.ONE), ValueError, "finite"),
    (lambda m: m.update(add={"tries": -10 ** 400}), ValueError, "finite"),
    (lambda m: m.wait({"state": "busy", "data": {"ratio": 10 ** 400}}), ValueError, "finite"),
    (lambda m: m.wait(b"busy"), TypeError, "a pattern, which is a string"),
    (lambda m: m.release(1, as_="freeze"), TypeError, "give one"),
    (lambda m: m.hold_as("freeze", "busy", until=None), TypeError, "until"),
    (lambda m: m.hold_as("freeze", "busy", until=datetime.datetime(2026, 1, 1)), ValueError, "time zone"),
    (lambda m: m.hold_as("freeze", "busy", until=datetime.datetime(2026, 1, 1, tzinfo=WEST)), ValueError, "has passed"),
    (lambda m: m.hold_as("freeze", "busy", until=datetime.timedelta(days=401)), ValueError, "at most"),
    (lambda m: m.set("busy", if_seq=True), TypeError, "integer"),
    (lambda m: m.set("busy", cause="é" * 129), ValueError, "may have 256"),
    (lambda m: m.set("busy", cause=3), TypeError, "string"),
    (lambda m: m.set("busy", reenter=1), TypeError, "True or False"),
    (lambda m: m.set("busy", title="\ud800"), ValueError, "surrogates"),
    (lambda m: m.send(None), TypeError, "must be a string"),
    (lambda m: m.update(), TypeError, "at least one"),
    (lambda m: m.update(add={"tries": "1"}), TypeError, "numbers"),
    (lambda m: m.update(add={}), TypeError, "mapping"),
    (lambda m: m.wait(), TypeError, "at least one"),
    (lambda m: m.wait(""), ValueError, "empty pattern"),
    (lambda m: m.wait([]), ValueError, "empty list"),
    (lambda m: m.wait("ready", timeout=-1), ValueError, "0 seconds or more"),
    (lambda m: m.wait("ready", timeout="1"), TypeError, "seconds"),
    (lambda m: m.wait("ready", timeout=float("inf")), ValueError, "0 seconds or more"),
    (lambda m: m.wait("ready", 30), TypeError, "patterns"),
    (lambda m: m.watch(idle=0), ValueError, "more than 0"),
    (lambda m: m.watch(since=3), TypeError, "string"),
    (lambda m: m.watch(latest=1), TypeError, "True or False"),
    (lambda m: m.history(limit=0), ValueError, "from 1 to 10000"),
    (lambda m: m.history(after=datetime.datetime(2026, 1, 1)), ValueError, "time zone"),
    (lambda m: m.hold(None), TypeError, "before"),
    (lambda m: m.hold("busy", mode="wait"), ValueError, "mode"),
    (lambda m: m.hold("busy", max=3), ValueError, "delay"),
    (lambda m: m.hold("busy", mode="delay", max=61), ValueError, "60 seconds"),
    (lambda m: m.hold("busy", timeout=3), ValueError, "when_not"),
    (lambda m: m.guard("busy", 3), TypeError, "function"),
    (lambda m: m.guard("busy", print, on_timeout="no"), ValueError, "on_timeout"),
    (lambda m: m.release(), TypeError, "give one"),
    (lambda m: m.history(limit=None), TypeError, "integer"),
    (lambda m: m.wait("ready", timeout=1e300), ValueError, "at most"),
    (lambda m: m.wait("ready", timeout=10 ** 400), ValueError, "at most"),
    (lambda m: m.watch(idle=float("inf")), ValueError, "0 seconds or more"),
    (lambda m: m.watch(idle=float("nan")), ValueError, "0 seconds or more"),
    (lambda m: m.hold("busy", when_not="busy", timeout=1e300).__enter__(), ValueError, "at most"),
    (lambda m: m.guard("busy", print, timeout=10 ** 400), ValueError, "at most"),
    (lambda m: m.wait("ready", fail={"state": "failed", "data": {"why": {1, 2}}}), TypeError, "cannot be written as JSON"),
    (lambda m: m.wait("ready", fail="\ud800"), ValueError, "surrogates"),
    (lambda m: m.wait("ready", since="\ud800"), ValueError, "surrogates"),
    (lambda m: m.hold("busy", when_not={"state": "busy", "data": {"ratio": float("nan")}}).__enter__(), ValueError, "JSON"),
    (lambda m: m.set("busy", cause=DEEP), TypeError, "a string, not .*\\.\\.\\."),
    (lambda m: m.set("busy", tags=DEEP), ValueError, "too deep"),
    (lambda m: m.set("busy", title=datetime.datetime.max.replace(tzinfo=WEST)), ValueError, "out of range in UTC"),
])
def test_wrong_arguments_are_said_before_anything_is_sent(face, fake, call, kind, sentence):
    daemon = fake(lambda fake, sock, lines: fake.requests.extend(lines))
    with face.connect(runtime_directory=daemon.directory) as machine:
        with pytest.raises(kind, match=sentence):
            call(machine)
    assert daemon.requests == []


def test_the_blocking_face_takes_no_async_function(fake):
    async def ask(question):
        return True

    daemon = fake(lambda fake, sock, lines: fake.requests.extend(lines))
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        with pytest.raises(TypeError, match="statectl.aio"):
            machine.guard("busy", ask)


def test_what_is_refused_is_an_exception_of_its_kind(machine):
    for call, kind, code in [
        (lambda: machine.set("nosuch"), statectl.UnknownState, "unknown-state"),
        (lambda: machine.set("busy", colour=1), statectl.BadData, "bad-data"),
        (lambda: machine.wait("nosuch"), statectl.UnknownState, "unknown-state"),
        (lambda: machine.history("busy:colour=1"), statectl.BadData, "bad-data"),
        (lambda: next(machine.watch("nosuch")), statectl.UnknownState, "unknown-state"),
        (lambda: machine.hold("nosuch").__enter__(), statectl.UnknownState, "unknown-state"),
        (lambda: machine.release(4711), statectl.Refused, "not-found"),
        (lambda: machine.history(after="yesterday"), statectl.Refused, "bad-request"),
        (lambda: machine.set("busy", title="x" * 60_000) and machine.update(note="x" * 6_000), statectl.TooLong, "too-long"),
    ]:
        with pytest.raises(kind) as refused:
            call()
        error = refused.value
        assert error.code == code and error.message and error.answer["error"] == code and str(error) == error.message
        assert isinstance(error, statectl.Error)
    assert refused.value.code == "too-long"
    with pytest.raises(statectl.BadData) as refused:
        machine.set("busy", colour=1)
    assert refused.value.known == ["title", "tries", "ratio", "tags", "note"]
    machine.set("maintenance")
    with pytest.raises(statectl.Illegal) as refused:
        machine.set("busy")
    assert refused.value.allowed == ["ready"] and refused.value.state.state == "maintenance"


def test_a_request_that_is_too_long_leaves_the_connection(machine, daemon):
    machine.set("busy", title="x")
    before = machine.stats()["counters"]["accepted"]
    with pytest.raises(statectl.TooLong, match="may have 65536"):
        machine.set("busy", title="x" * 70_000)
    assert machine.get().data["title"] == "x"
    assert machine.stats()["counters"]["accepted"] == before


def test_a_request_may_be_as_long_as_the_daemon_takes(face, daemon):
    with face.connect(runtime_directory=daemon.directory) as machine:
        machine.set("busy")
        # In asyncio the id takes some bytes of each.
        end = "}" if face.name == "blocking" else ',"id":N}'
        most = 65_536 - len('{"op":"send","event":"play","data":{"title":""}' + end)
        with pytest.raises(statectl.TooLong, match="has 65537 bytes, and a request may have 65536"):
            machine.send("play", title="x" * (most + 1))
        assert machine.send("play", title="x" * most).handled is False


def test_a_cursor_is_a_condition_too(face, fake):
    state = {"type": "reply", "ok": True, "seq": 9, "state": "busy", "data": {}, "at": "2026-11-20T21:55:03.120007Z",
             "cursor": "7f3a9c:9", "stay": 7}
    daemon = fake(Fake.saying(*[state] * 4))
    with face.connect(runtime_directory=daemon.directory) as machine:
        read = machine.get()
        assert read.stay_cursor == "7f3a9c:7"
        machine.set("ready", if_seq=read.cursor, if_stay=read.stay_cursor)
        machine.send("stop", if_seq=read.cursor)
        machine.update(title="x", if_stay=7)
    assert [(line.get("ifSeq"), line.get("ifStay")) for line in daemon.requests[1:]] == [
        ("7f3a9c:9", "7f3a9c:7"), ("7f3a9c:9", None), (None, 7)]


def test_a_hold_of_a_name_lasts_until_its_time_or_its_release(face, daemon):
    with face.connect(runtime_directory=daemon.directory) as machine:
        number = machine.hold_as("freeze", "busy", until=datetime.timedelta(days=2), why="quarter's end")
    # It belongs to nobody's connection.
    with face.connect(runtime_directory=daemon.directory) as machine:
        with pytest.raises(statectl.Denied) as denied:
            machine.set("busy")
        assert denied.value.by[0]["as"] == "freeze" and denied.value.by[0]["why"] == "quarter's end"
        until = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        assert machine.hold_as("freeze", before=["busy"], until=until) == number
        machine.release(as_="freeze")
        assert machine.set("busy").changed
        machine.hold_as("freeze", before="ready", until=0.05)
        while machine.stats().get("holds"):
            pass
        assert machine.set("ready").changed


@pytest.mark.parametrize("code, kind", [
    ("refused", statectl.Declined), ("limit", statectl.Limited), ("shutting-down", statectl.ShuttingDown),
    ("unavailable", statectl.Unavailable),
    ("internal", statectl.Internal), ("forbidden", statectl.Forbidden), ("brand-new", statectl.Refused),
    ("denied", statectl.Denied), ("suspended", statectl.Refused),
])
def test_each_code_has_its_exception(face, fake, code, kind):
    daemon = fake(Fake.saying({"type": "reply", "ok": False, "error": code, "message": "no", "by": [{"hold": 1}],
                            "may": ["anna", "@operators"]}))
    with face.connect(runtime_directory=daemon.directory) as machine:
        with pytest.raises(statectl.Refused) as refused:
            machine.send("play")
    assert type(refused.value) is kind and refused.value.code == code and refused.value.state is None
    if kind is statectl.Denied:
        assert refused.value.by == [{"hold": 1}]
    if kind is statectl.Forbidden:
        assert refused.value.may == ["anna", "@operators"]


def test_force_asks_no_hold(machine):
    with machine.hold("busy", why="deploying"):
        with pytest.raises(statectl.Denied):
            machine.set("busy")
        assert machine.set("busy", force=True).changed
        with pytest.raises(TypeError, match="force"):
            machine.set("ready", force="yes")


def test_a_wait_ends_with_what_it_waited_for(machine, daemon):
    state = machine.wait("busy", "ready", timeout=BOUND)
    assert state.state == "ready" and state.matched == "ready"
    cursor = state.cursor
    with pytest.raises(statectl.Timeout) as late:
        machine.wait(["busy"], timeout=0.01)
    assert late.value.state.state == "ready" and isinstance(late.value, TimeoutError) and late.value.code == "timeout"
    daemon.change(2)
    assert machine.wait({"state": "busy", "data": {"title": "x"}}, since=cursor, timeout=BOUND).seq == 1
    with pytest.raises(statectl.FailedState) as failed:
        machine.wait("failed", fail=["ready"])
    assert failed.value.matched == "ready" and failed.value.state.state == "ready"


def test_a_watch_begins_with_the_state_and_shows_each_change(machine, daemon):
    watch = machine.watch()
    state = next(watch)
    assert isinstance(state, statectl.State) and state.state == "ready" and watch.cursor == state.cursor
    daemon.change(3)
    changes = [next(watch) for _ in range(3)]
    assert [change.seq for change in changes] == [1, 2, 3]
    first = changes[0]
    assert isinstance(first, statectl.Change) and first.state == "busy" and first.data["title"] == "x"
    assert first.from_ == statectl.Place("ready", {}) and first.skipped == 0 and first.by.uid == os.getuid()
    later = machine.watch(since=state.cursor)
    assert [next(later).seq for _ in range(3)] == [1, 2, 3]
    watch.close()
    assert list(watch) == []


def test_a_watch_of_some_states_says_whether_the_first_is_one(machine, daemon):
    watch = machine.watch("busy", "working")
    assert next(watch).selected is False
    daemon.change(3)
    assert [next(watch).seq for _ in range(2)] == [1, 3]


def test_what_latest_skips_is_no_gap(machine, daemon):
    watch = machine.watch(latest=True, idle=BOUND)
    next(watch)
    # Made at once, so that they gather.
    daemon.ask("set busy")
    items = [next(watch)]
    daemon.change(50)
    while items[-1].seq < 51:
        items.append(next(watch))
    assert all(isinstance(item, statectl.Change) for item in items)
    assert sum(1 + item.skipped for item in items) == 51


def test_a_watch_can_be_left_when_nothing_happens(machine, daemon):
    watch = machine.watch(idle=0.01)
    # What comes first may take longer than that.
    first = next(watch)
    while isinstance(first, statectl.Idle):
        first = next(watch)
    assert isinstance(first, statectl.State)
    assert isinstance(next(watch), statectl.Idle)
    assert isinstance(next(watch), statectl.Idle)
    daemon.change()
    seen = next(watch)
    while isinstance(seen, statectl.Idle):
        seen = next(watch)
    assert seen.seq == 1


@pytest.mark.parametrize("since, reason", [("nonsense", "unknown"), ("00000000:3", "restarted")])
def test_a_cursor_that_is_not_the_daemons_is_a_gap_and_the_state(machine, since, reason):
    watch = machine.watch(since=since)
    assert next(watch) == statectl.Gap(None, reason)
    assert next(watch).state == "ready"


def test_another_file_is_told(machine, daemon):
    watch = machine.watch()
    next(watch)
    path = daemon.home / "app.yaml"
    path.write_text(path.read_text().replace("start: ready", "version: v2\nstart: ready"))
    daemon.signal(1)
    told = next(watch)
    assert isinstance(told, statectl.Declared) and told.version == "v2" and len(told.declaration) == 64


def test_the_past_is_a_list(machine, daemon):
    daemon.change(5)
    changes = machine.history()
    assert [change.seq for change in changes] == [1, 2, 3, 4, 5] and changes.more is False and changes.resync is None
    newest = machine.history(limit=2, newest=True)
    assert isinstance(newest, list) and [change.seq for change in newest] == [5, 4] and newest.more is True
    assert [change.seq for change in machine.history("busy", after=1, before=changes[4].cursor)] == [3]
    assert [change.seq for change in machine.history(after=changes[0].at, by=os.getuid())] == [1, 2, 3, 4, 5]
    assert machine.history(cause="nothing") == [] and machine.history(since="nonsense").resync == "unknown"


def test_description_statistics_and_ping(machine):
    machine.set("busy")
    description = machine.describe()
    assert description["machine"] == "app" and description["protocol"] == 1 and "type" not in description
    statistics = machine.stats()
    assert statistics["counters"]["changes"] == 1
    assert statistics["transitions"] == [{"from": "ready", "to": "busy", "count": 1}]
    assert machine.ping() == 1


def test_a_closed_machine_says_so(face, daemon):
    with face.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch()
        next(watch)
    with pytest.raises(statectl.Error, match="closed"):
        machine.get()
    assert list(watch) == []
    machine.close()


# Where a daemon is looked for


def test_a_directory_that_is_not_there_is_named(face, tmp_path):
    missing = tmp_path / "nowhere"
    with pytest.raises(statectl.Unreachable, match=f"{missing}/control.sock .there is no such socket"):
        face.connect(runtime_directory=missing)
    assert issubclass(statectl.Unreachable, ConnectionError)


def test_a_daemon_that_is_not_there_yet_is_waited_for_on_request(face):
    daemon = Daemon()
    try:
        daemon.stop()
        with pytest.raises(statectl.Unreachable):
            face.connect(runtime_directory=daemon.directory)
        with pytest.raises(statectl.Unreachable):
            face.connect(runtime_directory=daemon.directory, wait=0.05)
        starts = threading.Thread(target=daemon.start)
        starts.start()
        try:
            with face.connect(runtime_directory=daemon.directory, wait=BOUND) as machine:
                assert machine.get().state == "ready"
        finally:
            starts.join(BOUND)
        with face.connect(runtime_directory=daemon.directory, wait=True) as machine:
            assert machine.get().state == "ready"
    finally:
        daemon.end()


def test_a_machine_by_name_is_waited_for_though_it_has_no_directory_yet(face, daemon, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "statemachine").mkdir()
    looked = []

    before = (statectl.aio if face.name == "aio" else statectl.blocking).Machine._sleep

    def sleep(self, seconds):
        looked.append(seconds)
        if len(looked) == 2:
            os.symlink(daemon.directory, tmp_path / "statemachine" / "later")
        return before(self, seconds)

    monkeypatch.setattr(f"statectl.{face.name}.Machine._sleep", sleep)
    with face.connect("later", wait=True) as machine:
        assert machine.get().state == "ready" and machine.directory == f"{tmp_path}/statemachine/later"
    assert len(looked) == 2


def test_the_doors_are_found_as_the_tool_finds_them(face, daemon, monkeypatch, tmp_path):
    for name in ("XDG_RUNTIME_DIR", "STATEMACHINE_RUNTIME_DIRECTORY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    (tmp_path / "statemachine").mkdir()
    os.symlink(daemon.directory, tmp_path / "statemachine" / "kiosk")
    with face.connect("kiosk") as machine:
        assert machine.get().state == "ready" and machine.directory == f"{tmp_path}/statemachine/kiosk"
    with pytest.raises(statectl.Unreachable, match="no machine 'kisok'.*/run/statemachine/kisok or "):
        face.connect("kisok")
    monkeypatch.setenv("STATEMACHINE_RUNTIME_DIRECTORY", daemon.directory)
    with face.connect() as machine:
        assert machine.directory == daemon.directory
    monkeypatch.setenv("STATEMACHINE_RUNTIME_DIRECTORY", f"{tmp_path}/statemachine/")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    with face.connect("kiosk") as machine:
        assert machine.directory == f"{tmp_path}/statemachine/kiosk"
    # Beside it: what a command that `statectl` runs has there is its own machine's directory.
    os.symlink(daemon.directory, tmp_path / "statemachine" / "brew")
    (tmp_path / "statemachine").chmod(0o755)
    monkeypatch.setenv("STATEMACHINE_RUNTIME_DIRECTORY", f"{tmp_path}/statemachine/brew")
    with face.connect("kiosk") as machine:
        assert machine.directory == f"{tmp_path}/statemachine/kiosk"
    # But not where anybody may put one, nor beside what is no machine's.
    (tmp_path / "statemachine").chmod(0o777)
    with pytest.raises(statectl.Unreachable):
        face.connect("kiosk")
    (tmp_path / "statemachine").chmod(0o755)
    (tmp_path / "statemachine" / "brew").unlink()
    with pytest.raises(statectl.Unreachable):
        face.connect("kiosk")
    for words, keys, kind in [
        (("a",), {"runtime_directory": "b"}, TypeError), (("a/b",), {}, ValueError), (("",), {}, ValueError),
        ((3,), {}, TypeError), ((), {"timeout": 0}, ValueError), ((), {"timeout": 1e300}, ValueError),
        ((), {"timeout": 10 ** 400}, ValueError), ((), {"timeout": "1"}, TypeError),
        ((), {"runtime_directory": ""}, ValueError), ((), {"runtime_directory": b"x"}, TypeError),
        ((), {"wait": None}, TypeError), ((), {"wait": -1}, ValueError),
    ]:
        with pytest.raises(kind):
            face.connect(*words, **keys)


def test_whoever_may_not_write_may_read(face, daemon):
    os.chmod(daemon.home, 0o755)
    script = """
import asyncio, statectl, sys
async def aio(directory):
    async with statectl.aio.connect(runtime_directory=directory) as m:
        print((await m.get()).state, (await m.wait("ready")).matched, (await m.watch().__anext__()).state)
        try: await m.set("busy")
        except statectl.Forbidden as error: print(error)
def blocking(directory):
    with statectl.connect(runtime_directory=directory) as m:
        print(m.get().state, m.wait("ready").matched, next(m.watch()).state)
        try: m.set("busy")
        except statectl.Forbidden as error: print(error)
if sys.argv[1] == "aio": asyncio.run(aio(sys.argv[2]))
else: blocking(sys.argv[2])
"""
    package = os.path.dirname(os.path.dirname(statectl.__file__))
    other = {"user": 65534, "group": 65534, "extra_groups": []} if os.getuid() == 0 else {}
    if not other:
        os.chmod(daemon.directory + "/control.sock", 0)
    # The package may lie where another user may not look.
    with open(daemon.home / "client.py", "w") as file:
        file.write(script)
    copy = daemon.home / "package"
    import shutil
    shutil.copytree(package + "/statectl", copy / "statectl")
    subprocess.run(["chmod", "-R", "a+rX", str(daemon.home / "package"), str(daemon.home / "client.py")], check=True)
    python = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") and other else sys.executable
    done = subprocess.run(
        [python, str(daemon.home / "client.py"), face.name, daemon.directory], capture_output=True, text=True,
        env={"PYTHONPATH": str(copy), "PATH": os.environ["PATH"]}, timeout=BOUND, cwd="/", **other,
    )
    assert done.stdout.splitlines() == [
        "ready ready ready",
        f"{daemon.directory}/control.sock may not be opened by this user, and events.sock is for reading only",
    ], done.stderr


def test_an_exception_is_called_what_programs_call_it(face, tmp_path):
    with pytest.raises(statectl.Unreachable) as error:
        face.connect(runtime_directory=tmp_path)
    assert traceback.format_exception_only(type(error.value), error.value)[0].startswith("statectl.Unreachable: no daemon")
    for name in statectl.__all__:
        if isinstance(getattr(statectl, name), type) and issubclass(getattr(statectl, name), statectl.Error):
            assert getattr(statectl, name).__module__ == "statectl"
