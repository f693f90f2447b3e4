"""What the documentation shows, run; and the types that statectl generates, used."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys

import pytest

import statectl
from conftest import BIN, BOUND, ROOT, Daemon, Fake

EXAMPLES = ROOT / "contrib/examples"
MACHINE = """\
machine: app
start: ready
events: {play: {title: string, volume: {type: integer, default: 40}}}
states:
  ready: {fields: {done: {type: integer, default: 0}}, when: {play: busy}}
  busy:
    fields: {title: string, disk-low: {values: ["no", low], optional: true}, done: {type: integer, default: 0}}
  failed: {fields: {why: string}}
  maintenance: {to: [ready]}
"""


@pytest.fixture
def app(monkeypatch):
    daemon = Daemon(MACHINE)
    monkeypatch.setenv("STATEMACHINE_RUNTIME_DIRECTORY", daemon.directory)
    yield daemon
    daemon.end()


def begin(*words, cwd=None):
    return subprocess.Popen([str(word) for word in words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=cwd)


def python(name):
    return sys.executable, "-X", "dev", "-W", "error", EXAMPLES / "python" / name


def test_the_light_follows_and_is_dark_while_nobody_knows(app):
    light = begin(*python("light.py"))
    try:
        assert light.stdout.readline() == "green\n"
        app.ask("set failed why=x")
        assert light.stdout.readline() == "red\n"
        app.kill()
        assert light.stdout.readline() == "dark\n"
        app.start()
        # Nothing has changed: what is known again is what was known before.
        assert light.stdout.readline() == "red\n"
        app.ask("set ready")
        assert light.stdout.readline() == "green\n"
    finally:
        light.kill()
        light.communicate()


def test_counters_lose_no_count(app):
    counters = [begin(*python("counter.py")) for _ in range(6)]
    assert sorted(int(counter.communicate(timeout=BOUND)[0]) for counter in counters) == [1, 2, 3, 4, 5, 6]
    assert app.ask("get")["data"] == {"done": 6}


@pytest.mark.parametrize("name, line", [("light.py", "green"), ("counter.py", "1")])
def test_a_program_may_begin_before_its_daemon(app, name, line):
    app.stop()
    program = begin(*python(name))
    try:
        app.start()
        assert program.stdout.readline() == line + "\n"
    finally:
        program.kill()
        program.communicate()


@pytest.mark.parametrize("is_made", [True, False])
def test_a_counter_whose_answer_was_lost_counts_once(fake, monkeypatch, is_made):
    state = {"seq": 4, "state": "ready", "data": {"done": 4}, "at": "2026-11-20T21:55:03.120007Z", "cursor": "a:4"}
    next = {**state, "seq": 5, "data": {"done": 5}, "cursor": "a:5"}
    end, reply = {"type": "reply", "ok": True, "count": int(is_made)}, {"type": "reply", "ok": True}
    change = {"type": "change", **next, "from": {"state": "ready", "data": {"done": 4}}}
    past = "".join(json.dumps(line) + "\n" for line in ([change] if is_made else []) + [end]).encode()
    daemon = fake(
        Fake.saying({**reply, **state}, b"", then=lambda sock: None),
        Fake.saying({**reply, **(next if is_made else state)}, past, {**reply, **next}),
    )
    monkeypatch.setenv("STATEMACHINE_RUNTIME_DIRECTORY", daemon.directory)
    counter = begin(*python("counter.py"))
    assert counter.communicate(timeout=BOUND)[0] == "5\n"
    asked = daemon.requests
    assert [request["op"] for request in asked] == ["get", "update", "get", "history"] + ([] if is_made else ["update"])
    assert asked[3]["cause"] == asked[1]["cause"] and asked[-1] == asked[3 if is_made else 1]


def test_the_guard_says_no_while_there_is_unsaved_work(app, tmp_path):
    (tmp_path / "unsaved").touch()
    guard = begin(*python("guard.py"), cwd=tmp_path)
    try:
        with statectl.connect() as machine:
            while not machine.stats().get("guards"):
                assert guard.poll() is None
            with pytest.raises(statectl.Denied, match="unsaved work"):
                machine.set("maintenance")
            (tmp_path / "unsaved").unlink()
            assert machine.set("maintenance").changed
    finally:
        guard.kill()
        guard.communicate()


@pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node")
def test_a_client_of_forty_lines_follows_over_a_crash(app):
    assert len((EXAMPLES / "node/follow.js").read_text().splitlines()) <= 40
    client = begin("node", EXAMPLES / "node/follow.js", app.directory)
    try:
        assert client.stdout.readline() == '0 ready {"done":0}\n'
        app.ask("set ready done=1")
        assert client.stdout.readline() == '1 ready {"done":1}\n'
        app.kill()
        while (line := client.stdout.readline()) != "gone\n":
            assert "2 " not in line
        app.start()
        app.ask("set failed why=x")
        while not (line := client.stdout.readline()).startswith("2 "):
            assert line == "gone\n" or "connect" in line or "ECONNRESET" in line, line
        assert line == '2 failed {"why":"x"}\n'
    finally:
        client.kill()
        client.communicate()


def generated(tmp_path, *words):
    path = tmp_path / "app.py"
    path.write_text(subprocess.run([BIN / "statectl", "codegen", "python", *words], check=True, capture_output=True, text=True).stdout)
    spec = importlib.util.spec_from_file_location("generated_app", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules["generated_app"] = module
    spec.loader.exec_module(module)
    return module, path.read_text()


def test_generated_types_are_sent_and_read(app, tmp_path):
    types, text = generated(tmp_path, app.home / "app.yaml")
    assert generated(tmp_path)[1] == text, "the file and the daemon's machine do not give the same"
    with statectl.connect() as machine:
        sent = machine.send(types.PlayEvent(title="1984"))
        assert types.parse_state(sent.state, sent.data) == types.BusyState(title="1984", done=0)
        made = machine.set(types.BusyState(title="b", disk_low="low", done=3), if_seq=sent.seq)
        assert made.data == {"title": "b", "disk-low": "low", "done": 3}
        assert types.parse_state(made.state, made.data).disk_low == "low"
        with pytest.raises(TypeError, match="already has its fields"):
            machine.set(types.ReadyState(done=1), done=2)
    with pytest.raises(KeyError):
        types.parse_state("nosuch", {})
    assert os.path.exists(tmp_path / "app.py")
