"""What comes over the wire: the project's golden lines, and what a broken or hostile daemon may say; in both faces."""

import json
import resource
import socket
import time

import pytest

import statectl
from conftest import BOUND, ROOT, Fake

FIXTURES = ROOT / "Tests/StateMachineProtocolTests/Fixtures"
STATE = {"type": "reply", "ok": True, "seq": 1, "state": "ready", "data": {}, "at": "2026-11-20T21:55:03.120007Z", "cursor": "a:1"}


def golden(name):
    return [json.loads(line) for line in (FIXTURES / name).read_text().splitlines()]


def test_the_golden_lines_of_watches_are_read(face, fake):
    for line in golden("watches.jsonl"):
        line.pop("id", None)
        daemon = fake(Fake.saying(), Fake.saying(json.dumps(line, ensure_ascii=False).encode() + b"\n"))
        with face.connect(runtime_directory=daemon.directory) as machine:
            # The first connection is the requests'.
            kind = line["type"]
            gives_item = kind in ("change", "state", "declared", "bye")
            watch = machine.watch(idle=BOUND if gives_item else 0.05, latest=True)
            if kind == "change":
                item = next(watch)
                assert isinstance(item, statectl.Change)
                assert item.from_ == statectl.Place(line["from"]["state"], line["from"]["data"])
                assert item.skipped == line.get("skipped", 0) and item.cause == line.get("cause")
                assert (item.by and item.by.uid) == line.get("by", {}).get("uid")
            elif kind == "state":
                if "resync" in line:
                    assert next(watch) == statectl.Gap(line.get("missed"), line["resync"])
                item = next(watch)
                assert isinstance(item, statectl.State) and item.selected == line.get("selected", True)
            elif kind == "declared":
                item = next(watch)
                assert item == statectl.Declared(line["declaration"], line.get("version"), line["seq"], line["cursor"])
            elif kind == "bye":
                with pytest.raises(statectl.Disconnected, match=line["reason"]):
                    next(watch)
                continue
            else:
                assert isinstance(next(watch), statectl.Idle)
                if kind in ("live", "beat"):
                    # The line may come later than that.
                    end = time.monotonic() + BOUND
                    while watch.cursor != line["cursor"] and time.monotonic() < end:
                        assert isinstance(next(watch), statectl.Idle)
                    assert watch.cursor == line["cursor"]
                continue
            assert item.seq == line["seq"] and item.cursor == line["cursor"]
            if kind != "declared":
                assert item.state == line["state"] and item.data == line["data"] and item.stay == line.get("stay")
                assert item.at.isoformat().replace("+00:00", "Z") == line["at"]


def test_the_golden_replies_are_read(face, fake):
    for line in golden("replies.jsonl") + [row["reply"] for row in golden("refusals.jsonl")]:
        if line.get("type") != "reply":
            continue
        daemon = fake(Fake.saying(line))
        with face.connect(runtime_directory=daemon.directory) as machine:
            if not line["ok"]:
                with pytest.raises(statectl.Refused) as refused:
                    machine.get()
                assert refused.value.code == line["error"] and refused.value.message == line["message"]
                assert (refused.value.state and refused.value.state.seq) == (line["seq"] if "at" in line else None)
            elif "cursor" in line:
                state = machine.get()
                assert (state.state, state.data, state.seq) == (line["state"], line["data"], line["seq"])
                assert state.changed == line.get("changed") and state.matched == line.get("matched")
            else:
                assert machine.stats() == {key: value for key, value in line.items() if key not in ("type", "id", "ok")}


LINE = '{"type":"reply","ok":true,"seq":%s,"state":%s,"data":%s,"at":%s,"cursor":%s}'
GOOD = ("1", '"ready"', "{}", '"2026-11-20T21:55:03.120007Z"', '"a:1"')
ODD = [
    b"garbage\n", b"\n", b"{}\n", b"[]\n", b"null\n", b"7\n", b'"reply"\n', b"\xff\xfe\n", b"{\"type\":\"reply\"\n",
    b"{" * 1000 + b"\n", b"[" * 100_000 + b"\n", b'{"a":' * 5000 + b"\n", b"\0" * 100 + b"\n",
    b'{"type":"reply"}\n', b'{"type":"reply","ok":null}\n', b'{"type":"reply","ok":false}\n', b'{"type":7}\n',
    b'{"type":"reply","ok":false,"error":7,"message":[]}\n', b'{"type":"reply","ok":true,"seq":' + b"9" * 5000 + b"}\n",
    b'{"type":"reply","ok":true} {}\n', b'{"type":"reply","ok":true,"seq":NaN}\n', b'{"type":"reply","ok":1}\n',
]
for place, values in enumerate([
    ["-1", "1.5", "1e400", "9007199254740992", "true", "null", '"1"', "[]"], ["1", "null", "{}"], ["[]", "null", "3"],
    ['""', '"Z"', "3", '"2026-13-20T21:55:03.120007Z"', '"2026-11-20"', "null"], ["1", "null"],
]):
    for value in values:
        ODD.append((LINE % (*GOOD[:place], value, *GOOD[place + 1:])).encode() + b"\n")
ODD += [(LINE % (*GOOD[:2], data, *GOOD[3:])).encode() + b"\n" for data in [
    '{"a":' + "[" * 201 + "]" * 201 + "}", '{"a":' * 900 + "1" + "}" * 900, r'{"a":"\ud800"}', r'{"\udfff":1}',
]]
ODD += [(LINE % (*GOOD[:4], cursor)).encode() + b"\n" for cursor in [r'"\ud800"', '"' + "x" * 70_000 + '"']]
for key, value in [("by", "7"), ("by", "{}"), ("by", '{"uid":-1,"pid":1}'), ("due", "[]"), ("due", '{"state":"a"}'),
                   ("stay", '"7"'), ("cause", "[]")]:
    ODD.append((LINE % GOOD).replace("}", "}", 1)[:-1].encode() + f',"{key}":{value}}}\n'.encode())


@pytest.mark.parametrize("line", ODD, ids=range(len(ODD)))
def test_what_is_no_answer_is_a_protocol_error_and_closes(face, fake, line):
    def with_id(sock, id):
        # The asyncio face knows an answer by its id.
        own = line
        if id is not None and own.startswith(b'{"type":"reply"'):
            own = own.replace(b'"reply"', b'"reply","id":%d' % id, 1)
        sock.sendall(own)

    def script(fake, sock, lines):
        with_id(sock, json.loads(lines.readline()).get("id"))
        assert lines.readline() == b""
        fake.closed.set()

    daemon = fake(script, Fake.saying(STATE))
    with face.connect(runtime_directory=daemon.directory, timeout=0.3) as machine:
        try:
            machine.get()
            raise AssertionError("it was taken for an answer")
        except (statectl.ProtocolError, statectl.NoAnswer):
            pass
        if line.startswith((b'{"type":7}', b"{}")):
            # A type of line that is not known is passed over.
            return
        assert machine.get().seq == 1
    assert daemon.closed.wait(BOUND)


CHANGE = ('{"type":"change","seq":%s,"state":"a","data":{},"from":{"state":"b","data":{}},"at":"2026-11-20T21:55:03.120007Z",'
          '"cursor":"a:%s"}\n')
FIRST = '{"type":"state","seq":5,"state":"a","data":{},"at":"2026-11-20T21:55:03.120007Z","cursor":"a:5"}\n'


@pytest.mark.parametrize("lines", [
    CHANGE % (5, 5), CHANGE % (4, 4), CHANGE % (7, 7), CHANGE % (6, 6) + CHANGE % (6, 6), FIRST,
    CHANGE % ("-6", 6), CHANGE % (6, 6) + FIRST, FIRST.replace("}\n", ',"resync":7}\n'),
    FIRST.replace("}\n", ',"resync":"lagged","missed":-1}\n'), '{"type":"beat","seq":4,"cursor":"a:4"}\n',
    '{"type":"beat","seq":9,"cursor":"a:9"}\n', '{"type":"declared","seq":5}\n', "x\n", "x" * (17 << 20),
    (CHANGE % (6, 6)).replace('"from":{', '"from":{"state":7},"x":{'), (CHANGE % (6, 6)).replace("a:6", r"\ud800"),
    (CHANGE % (6, 6)).replace("a:6", "6" * 2000), '{"type":"live","seq":5,"cursor":"' + "5" * 2000 + '"}\n',
], ids=range(18))
def test_a_watch_ends_at_what_is_not_the_protocol(face, fake, lines):
    daemon = fake(Fake.saying(), Fake.saying((FIRST + lines).encode()))
    with face.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch()
        assert next(watch).seq == 5
        with pytest.raises(statectl.ProtocolError):
            for item in watch:
                assert isinstance(item, (statectl.Change, statectl.State, statectl.Gap))
        assert list(watch) == []


def test_an_endless_line_takes_bounded_memory(face, fake):
    def endless(fake, sock, lines):
        lines.readline()
        sent = 0
        part = b"x" * (1 << 16)
        while sent < 1 << 30:
            sock.sendall(part)
            sent += len(part)

    daemon = fake(endless)
    with face.connect(runtime_directory=daemon.directory) as machine:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with pytest.raises(statectl.ProtocolError, match="more than 16777216 bytes"):
            machine.get()
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 * 1024


def drip(fake, sock, lines):
    """Says blanks, slowly, and never a line."""
    lines.readline()
    for _ in range(1000):
        sock.sendall(b" ")
        fake.closed.wait(0.01)


@pytest.mark.parametrize("call, kind", [
    (lambda m: m.get(), statectl.NoAnswer), (lambda m: m.set("a"), statectl.NoAnswer), (lambda m: m.history(), statectl.NoAnswer),
    (lambda m: m.wait("a", timeout=0.1), statectl.Timeout), (lambda m: m.hold("a").__enter__(), statectl.NoAnswer),
    (lambda m: m.guard("a", print).__enter__(), statectl.NoAnswer),
], ids=["get", "set", "history", "wait", "hold", "guard"])
@pytest.mark.parametrize("script", [
    drip, Fake.pouring({"type": "beat", "seq": 1, "cursor": "a:1"}), Fake.pouring({"type": "a type to come"}),
], ids=["drip", "beat", "odd"])
def test_who_talks_and_does_not_answer_is_given_up(face, fake, script, call, kind):
    daemon = fake(script)
    with face.connect(runtime_directory=daemon.directory, timeout=0.1) as machine:
        with pytest.raises(kind):
            call(machine)
    assert not daemon.has_ended


def test_more_changes_than_were_asked_for_are_not_kept(face, fake):
    daemon = fake(Fake.pouring(json.loads(CHANGE % (6, 6))))
    with face.connect(runtime_directory=daemon.directory, timeout=BOUND) as machine:
        with pytest.raises(statectl.ProtocolError, match="than the 1000 changes"):
            machine.history()


def test_an_answer_that_nobody_asked_for_answers_nothing(fake):
    """In the blocking face, where answers have no ids."""
    twice = json.dumps(STATE).encode() + b"\n" + json.dumps({**STATE, "seq": 99}).encode() + b"\n"
    daemon = fake(Fake.saying(twice, STATE))
    with statectl.connect(runtime_directory=daemon.directory) as machine:
        assert machine.get().seq == 1
        with pytest.raises(statectl.ProtocolError, match="what was not asked"):
            machine.set("a")
        assert machine.get().seq == 1


def test_garbage_that_nobody_asked_for_is_a_protocol_error_too(face, fake):
    def script(fake, sock, lines):
        id = json.loads(lines.readline()).get("id")
        sock.sendall(json.dumps(STATE if id is None else {**STATE, "id": id}).encode() + b"\ngarbage\n")
        assert lines.readline() == b""

    daemon = fake(script, Fake.saying(STATE))
    with face.connect(runtime_directory=daemon.directory) as machine:
        assert machine.get().seq == 1
        with pytest.raises(statectl.ProtocolError):
            machine.get()
        assert machine.get().seq == 1


def test_an_end_in_the_middle_of_a_line_is_gone(face, fake):
    daemon = fake(
        Fake.saying(), Fake.saying(FIRST.encode() + (CHANGE % (6, 6)).encode()[:50], then=lambda sock: None),
        Fake.saying((CHANGE % (6, 6)).encode()),
    )
    with face.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch()
        assert next(watch).seq == 5
        assert isinstance(next(watch), statectl.Gone)
        assert isinstance(next(watch), statectl.Back)
        assert next(watch).seq == 6
    assert daemon.requests[-1]["since"] == "a:5"


def test_halves_of_lines_and_several_at_once_are_lines(face, fake):
    text = (FIRST + "".join(CHANGE % (seq, seq) for seq in range(6, 40))).encode()

    def drip(fake, sock, lines):
        lines.readline()
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
        for place in range(0, len(text), 97):
            sock.sendall(text[place:place + 97])
        lines.readline()

    daemon = fake(Fake.saying(), drip)
    with face.connect(runtime_directory=daemon.directory) as machine:
        watch = machine.watch()
        assert [next(watch).seq for _ in range(35)] == list(range(5, 40))


def test_a_longer_line_is_taken_once_it_is_known_that_there_may_be(face, fake):
    description = {"type": "reply", "ok": True, "states": ["x" * (3 << 20)], "limits": {"serverLineBytes": 20 << 20}}
    long = {**STATE, "data": {"a": "x" * (18 << 20)}}
    daemon = fake(Fake.saying(description, b"", then=lambda sock: None), Fake.saying(long))
    with face.connect(runtime_directory=daemon.directory) as machine:
        assert machine.describe()["limits"] == {"serverLineBytes": 20 << 20}
        assert len(machine.get().data["a"]) == 18 << 20


LARGE = '{"a":1e400,"b":[-1e400],"c":{"d":-%s},"e":%s,"f":"\\u00e9"}' % ("9" * 5000, "9" * 400)


@pytest.mark.parametrize("read", [
    lambda m: m.get(), lambda m: m.wait("ready"), lambda m: m.history()[0], lambda m: next(m.watch(since="a:0")),
], ids=["get", "wait", "history", "watch"])
def test_numbers_that_no_double_holds_are_read(face, fake, read):
    """Daemons took them once, and what they took is replayed as it is."""
    def script(fake, sock, lines):
        for line in lines:
            request = json.loads(line)
            id = {"id": request["id"]} if "id" in request else {}
            body, change = json.dumps({**id, **STATE}), json.dumps({**id, **json.loads(CHANGE % (1, 1))})
            said = {"watch": change, "history": change + "\n" + body}.get(request["op"], body) + "\n"
            sock.sendall(said.replace('"data": {}', '"data": ' + LARGE, 1).encode())

    infinity = float("inf")
    with face.connect(runtime_directory=fake(script).directory) as machine:
        item = read(machine)
        assert item.data == {"a": infinity, "b": [-infinity], "c": {"d": -infinity}, "e": 10 ** 400 - 1, "f": "é"}
        assert "Infinity" in str(item) and "inf" in repr(item)


def test_a_place_that_is_limited_is_said(face, fake):
    bye = b'{"type":"bye","reason":"limit","limit":"connectionsPerUid","max":64,"retryMs":1}\n'
    daemon = fake(lambda fake, sock, lines: sock.sendall(bye), lambda fake, sock, lines: sock.sendall(bye))
    with face.connect(runtime_directory=daemon.directory) as machine:
        with pytest.raises(statectl.Disconnected, match="connectionsPerUid"):
            machine.get()
