"""The protocol's lines: requests from arguments, items from lines. Nothing here waits or opens anything."""

from __future__ import annotations

import datetime
import enum
import json
import math
import os
import re
import reprlib
import stat
import weakref
from collections.abc import Iterable, Mapping
from typing import Any, Optional, Protocol, Union

from ._errors import Error, ProtocolError, TooLong, Unreachable, refusal
from ._items import Back, By, Change, Declared, Due, Gap, Item, Place, Question, State

# Of the protocol: what one request line may have, the largest number, and how many waits a connection may have.
REQUEST_BYTES = 65_536
LARGEST = (1 << 53) - 1
WAITS = 32
# A time span, in seconds; what is sent are milliseconds.
LONGEST = LARGEST / 1000
WHY_BYTES = 256
# How long a hold of a name may last, in seconds: 400 days.
LONGEST_HOLD = 400 * 86_400
# A line of the daemon's may be as long as `limits.serverLineBytes` of the answer to `describe` says, and that answer as
# the protocol says; more than 64 MiB is believed of nobody.
LINE_BYTES, LONGEST_LINE_BYTES = 1 << 24, 64 << 20
# A request may be nested 64 deep, and the daemon's lines put that into a few objects more. Python shows some 900.
DEPTH = 200
# Goes back to the daemon in a request; its own have some 30 characters.
CURSOR_LENGTH = 1024
# A watch asks for a line every 10 s, and believes the daemon gone after 20 s without one.
BEAT_SECONDS, SILENCE_SECONDS = 10, 20


class Named(Protocol):
    """A state or an event with its fields, as `statectl codegen python` writes them."""

    # Read only: a class variable will do, of a literal type too.
    @property
    def NAME(self) -> str: ...

    def to_data(self) -> dict[str, Any]: ...


PatternObject = Mapping[str, Any]
Pattern = Union[str, PatternObject]
"""What selects states: `"ready"`, `"loading:percent>=50"`, `"!busy"`, or the protocol's object."""
Patterns = Union[Pattern, Iterable[Pattern]]
Moment = Union[str, int, datetime.datetime]
Directory = Union[str, os.PathLike[str], None]
Watches = weakref.WeakSet


class Lost(Exception):
    """The connection has ended; `was_sent` says whether the request may have reached the daemon.

    `is_elsewhere` is for one that may be there, and is not for whoever asks: a parent process's, another event loop's.
    """

    def __init__(
        self,
        reason: str,
        *,
        was_sent: bool = True,
        is_silent: bool = False,
        retry: float = 0.0,
        is_elsewhere: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason, self.was_sent, self.is_silent, self.retry = reason, was_sent, is_silent, retry
        self.is_elsewhere = is_elsewhere


# Requests


def _plain(value: object) -> Any:
    if isinstance(value, datetime.datetime):
        return moment("a time", value)
    if isinstance(value, enum.Enum):
        return value.value
    raise TypeError(f"{shown(value)} cannot be written as JSON; give text, a number, a Boolean, None, a list or a dict")


class _Shown(reprlib.Repr):
    def repr_int(self, x: int, level: int) -> str:
        try:
            return super().repr_int(x, level)
        except ValueError:
            # Python makes no text of so many digits.
            return f"<an integer of some {int(x.bit_length() * math.log10(2))} digits>"


_shown = _Shown()
_shown.maxstring = _shown.maxother = 100


def shown(value: object) -> str:
    """A value for a message: not all of a long one, and no deeper than can be shown."""
    return _shown.repr(value)


_encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_plain)
# The largest double has 309 digits before its point.
_MANY_DIGITS = re.compile(rb"[0-9]{309}")


def request(op: str, **keys: Any) -> bytes:
    """The line of a request without its end, which is `}` or `,"id":…}`; keys that are None are left out."""
    keys = {"op": op, **{key: value for key, value in keys.items() if value is not None}}
    try:
        line = _encoder.encode(keys)[:-1].encode()
    except RecursionError:
        raise ValueError(f"the data of {op} is nested too deeply; at most 64 levels are allowed") from None
    except ValueError:
        _check_numbers(op, keys)
        raise
    if _MANY_DIGITS.search(line):
        _check_numbers(op, keys)
    checked(line + b"}\n", op)
    return line


def checked(line: bytes, op: str = "request") -> bytes:
    """A whole line, if it is no longer than the daemon takes."""
    length = len(line) - 1
    if length > REQUEST_BYTES:
        message = f"this {op} has {length} bytes, and a request may have {REQUEST_BYTES}; give less data"
        raise TooLong({"type": "reply", "ok": False, "error": "too-long", "message": message})
    return line


def _check_numbers(op: str, keys: Mapping[str, Any]) -> None:
    """Raises ValueError for a number that is no finite double: the daemon refuses it, wherever it is."""
    left: list[Any] = [keys]
    seen: set[int] = set()
    while left:
        part = left.pop()
        if isinstance(part, enum.Enum):
            part = part.value
        if isinstance(part, (Mapping, list, tuple)):
            if id(part) not in seen:
                seen.add(id(part))
                left.extend(part.values() if isinstance(part, Mapping) else part)
        elif isinstance(part, (int, float)) and not _is_finite(part):
            raise ValueError(f"{op} has {shown(part)}, which JSON cannot carry to the daemon; give a finite number, below 1.8e308")


def _is_finite(number: Union[int, float]) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def naming(what: str, named: Union[str, Named], data: object, fields: dict[str, Any]) -> tuple[str, Optional[dict[str, Any]]]:
    """The name and the fields of a state or an event that was given by name or as an object of generated code."""
    if isinstance(named, str):
        if not named:
            raise ValueError(f"the {what} is an empty string; give a name")
        return named, merged(data, fields)
    name, to_data = getattr(named, "NAME", None), getattr(named, "to_data", None)
    if not isinstance(name, str) or not callable(to_data):
        raise TypeError(f"the {what} must be a string, not {shown(named)}")
    if data is not None or fields:
        raise TypeError(f"{shown(named)} already has its fields; give no others")
    return name, merged(to_data(), {})


def merged(data: object, fields: dict[str, Any]) -> Optional[dict[str, Any]]:
    """The fields of `data` and those that were given by name; None for none."""
    if data is None:
        return fields or None
    if not isinstance(data, Mapping):
        raise TypeError(f"data must be a mapping of fields, not {shown(data)}; for a field called data, give data={{'data': …}}")
    for key in data:
        if not isinstance(key, str):
            raise TypeError(f"the field {shown(key)} must be a string")
        if key in fields:
            raise TypeError(f"the field {shown(key)} is given twice")
    return {**data, **fields} or None


def patterns(what: str, given: object) -> Optional[list[Any]]:
    """One pattern or several, as a list; None for none."""
    if given is None or given == ():
        return None
    many = [given] if isinstance(given, (str, Mapping)) else given
    if not isinstance(many, Iterable) or isinstance(many, (bytes, bytearray)):
        raise TypeError(f"{what} must be a pattern, which is a string, or a list of patterns, not {shown(given)}")
    result = list(many)
    if not result:
        raise ValueError(f"{what} is an empty list; give a pattern")
    for pattern in result:
        if not isinstance(pattern, (str, Mapping)):
            raise TypeError(f"{what} must hold patterns, which are strings, not {shown(pattern)}")
        if not pattern:
            raise ValueError(f"{what} has an empty pattern; name a state")
    made = [pattern if isinstance(pattern, str) else dict(pattern) for pattern in result]
    # They may be sent later than something else.
    request(what, patterns=made)
    return made


def several(given: tuple[Any, ...]) -> Any:
    """What stands for patterns among arguments: one list, or pattern after pattern."""
    return given[0] if len(given) == 1 else given or None


def negated(pattern: Any) -> Any:
    """The pattern that selects all that this one does not."""
    if isinstance(pattern, str):
        return pattern[1:] if pattern.startswith("!") else "!" + pattern
    return {**pattern, "not": not pattern.get("not", False)}


def sums(add: object) -> Optional[dict[str, Any]]:
    """What to add to which field."""
    if add is None:
        return None
    if not isinstance(add, Mapping) or not add:
        raise TypeError(f"add must be a mapping of fields to numbers, not {shown(add)}")
    for key, value in add.items():
        if not isinstance(key, str) or isinstance(value, bool) or not isinstance(value, (int, float)):
            raise TypeError(f"add must map fields to numbers, not {shown(key)} to {shown(value)}")
    return dict(add)


def number(what: str, value: object, least: int = 0, most: int = LARGEST) -> Optional[int]:
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"{what} must be an integer, not {shown(value)}")
    if not least <= value <= most:
        raise ValueError(f"{what} must be an integer from {least} to {most}, not {shown(value)}")
    return value


def position(what: str, value: object) -> Optional[Union[int, str]]:
    """A place to be compared with: a number, or a cursor."""
    if not isinstance(value, str):
        if value is not None and (not isinstance(value, int) or isinstance(value, bool)):
            raise TypeError(f"{what} must be an integer or a cursor, not {shown(value)}")
        return number(what, value)
    if not value:
        raise ValueError(f"{what} is an empty string; give a cursor")
    return text(what, value)


def text(what: str, value: object, most: Optional[int] = None) -> Optional[str]:
    if value is None:
        return None
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string, not {shown(value)}")
    length = len(value.encode())
    if most is not None and length > most:
        raise ValueError(f"{what} is too long: it has {length} bytes, and may have {most}")
    return value


def flag(what: str, value: object) -> Optional[bool]:
    if value is not None and not isinstance(value, bool):
        raise TypeError(f"{what} must be True or False, not {shown(value)}")
    return value


def seconds(what: str, value: object, most: float = LONGEST) -> Optional[float]:
    """A time span in seconds; None for none."""
    if value is None:
        return None
    if isinstance(value, datetime.timedelta):
        value = value.total_seconds()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number of seconds, not {shown(value)}")
    if not 0 <= value < math.inf:
        raise ValueError(f"{what} must be 0 seconds or more, not {shown(value)}")
    if value > most:
        raise ValueError(f"{what} must be at most {most:g} seconds")
    return float(value)


def milliseconds(what: str, value: object, most: float = LONGEST) -> Optional[int]:
    span = seconds(what, value, most)
    return None if span is None else math.ceil(span * 1000)


def patience(what: str, value: object) -> float:
    """How many seconds to wait for a daemon: False for none, True for as long as it takes."""
    if isinstance(value, bool):
        return math.inf if value else 0.0
    span = seconds(what, value)
    if span is None:
        raise TypeError(f"{what} must be True, False or a number of seconds, not None")
    return span


def time_left(what: str, value: object, most: float) -> Optional[int]:
    """How many milliseconds there are until a time, or in a span of time."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError(f"{what} is a time without a time zone; give datetime(…, tzinfo=timezone.utc)")
        left = (value - datetime.datetime.now(datetime.timezone.utc)).total_seconds()
        if left <= 0:
            raise ValueError(f"{what} is {value}, which has passed")
        value = left
    return milliseconds(what, value, most)


def moment(what: str, value: object) -> Optional[Union[str, int]]:
    """A place in the past: a time, a cursor or a seq."""
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError(f"{what} is a time without a time zone; give datetime(…, tzinfo=timezone.utc)")
        try:
            return value.astimezone(datetime.timezone.utc).isoformat().replace("+00:00", "Z")
        except OverflowError:
            raise ValueError(f"{what} is {value}, which is out of range in UTC") from None
    if value is None or isinstance(value, str):
        return value
    return number(what, value)


def cut(why: str) -> str:
    """As much of a reason as a vote has room for."""
    return why.encode(errors="replace")[:WHY_BYTES].decode(errors="ignore")


# Lines


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


# Searched for as a byte: this is done 50,000 times a second.
_BACKSLASH = ord("\\")


def _large(digits: str) -> Union[int, float]:
    try:
        return int(digits)
    except ValueError:
        # Python makes no int of so many digits: infinity.
        return float(digits)


# What is larger than any double is infinity. The daemon refuses such numbers, and has some that older ones took.
_decode = json.JSONDecoder(parse_constant=_no_constant).raw_decode
_decode_large = json.JSONDecoder(parse_int=_large, parse_constant=_no_constant).raw_decode
_encode_all = json.JSONEncoder(ensure_ascii=False).encode


def parsed(line: bytes) -> dict[str, Any]:
    """The object that a line is."""
    try:
        content = line.decode()
        try:
            value, end = _decode(content)
        except ValueError:
            value, end = _decode_large(content)
        if _BACKSLASH in line and b"\\u" in line:
            # Half a surrogate pair is no text, and could neither be shown nor sent.
            _encode_all(value).encode()
    except (ValueError, RecursionError) as error:
        raise ProtocolError(f"{_excerpt(line)} is not a line of the protocol: {error}") from None
    if end != len(content) or type(value) is not dict:
        raise ProtocolError(f"{_excerpt(line)} is not a line of the protocol: it is not one JSON object")
    if len(line) > 2 * DEPTH and line.count(b"{") + line.count(b"[") > DEPTH and _is_deep(value):
        raise ProtocolError(f"{_excerpt(line)} is not a line of the protocol: it is nested more than {DEPTH} deep")
    return value


def _is_deep(value: Any) -> bool:
    level = [value]
    for _ in range(DEPTH):
        level = [part for one in level if type(one) in (dict, list) for part in (one.values() if type(one) is dict else one)]
    return any(type(one) in (dict, list) for one in level)


def _excerpt(line: Union[bytes, bytearray]) -> str:
    return repr(line[:80].decode(errors="replace")) + ("…" if len(line) > 80 else "")


def _wrong(line: Mapping[str, Any], key: str) -> ProtocolError:
    return ProtocolError(f"a line of type {line.get('type')!r:.40} has an invalid {key}: {line.get(key)!r:.80}")


def count(line: Mapping[str, Any], key: str) -> int:
    value = line.get(key)
    if type(value) is not int or not 0 <= value <= LARGEST:
        raise _wrong(line, key)
    return value


def word(line: Mapping[str, Any], key: str) -> str:
    value = line.get(key)
    if type(value) is not str:
        raise _wrong(line, key)
    return value


def cursor(line: Mapping[str, Any]) -> str:
    """The cursor of a line."""
    value = line.get("cursor")
    if type(value) is not str or len(value) > CURSOR_LENGTH:
        raise _wrong(line, "cursor")
    return value


def members(line: Mapping[str, Any], key: str) -> dict[str, Any]:
    value = line.get(key)
    if type(value) is not dict:
        raise _wrong(line, key)
    return value


def time(line: Mapping[str, Any], key: str) -> datetime.datetime:
    value = line.get(key)
    try:
        if type(value) is str and value[-1] == "Z":
            return datetime.datetime.fromisoformat(value[:-1] + "+00:00")
    except (ValueError, IndexError):
        pass
    raise _wrong(line, key)


def _by(line: Mapping[str, Any]) -> By:
    by = members(line, "by")
    comm, unit, host = by.get("comm"), by.get("unit"), by.get("host")
    return By(
        count(by, "uid"),
        count(by, "pid"),
        comm if type(comm) is str else None,
        unit if type(unit) is str else None,
        host if type(host) is str else None,
    )


def _due(line: Mapping[str, Any]) -> Optional[Due]:
    due = members(line, "due")
    if "state" not in due:
        return None  # Only the moment decides what it leads to.
    return Due(word(due, "state"), members(due, "data"), time(due, "at"))


def _fill(item: Any, line: Mapping[str, Any]) -> None:
    # What all lines with a state have; this is done 50,000 times a second, so it is written out.
    get = line.get
    seq, name, data, cursor = get("seq"), get("state"), get("data"), get("cursor")
    if type(seq) is not int or not 0 <= seq <= LARGEST:
        raise _wrong(line, "seq")
    if type(name) is not str:
        raise _wrong(line, "state")
    if type(data) is not dict:
        raise _wrong(line, "data")
    if type(cursor) is not str or len(cursor) > CURSOR_LENGTH:
        raise _wrong(line, "cursor")
    item.state, item.data, item.seq, item.cursor = name, data, seq, cursor
    item.at = time(line, "at")
    stay, cause = get("stay"), get("cause")
    item.stay = None if stay is None else count(line, "stay")
    item.due = _due(line) if "due" in line else None
    item.by = _by(line) if "by" in line and get("error") is None else None
    if cause is not None and type(cause) is not str:
        raise _wrong(line, "cause")
    item.cause = cause


def state(line: Mapping[str, Any]) -> State:
    """The state that a `state` line or a reply has."""
    item = State()
    _fill(item, line)
    get = line.get
    item.changed, item.handled, item.matched = get("changed"), get("handled"), get("matched")
    item.selected = get("selected") is not False
    return item


def change(line: Mapping[str, Any]) -> Change:
    item = Change()
    _fill(item, line)
    from_ = line.get("from")
    if type(from_) is not dict:
        raise _wrong(line, "from")
    item.from_ = Place(word(from_, "state"), members(from_, "data"))
    item.skipped = count(line, "skipped") if "skipped" in line else 0
    return item


def question(line: Mapping[str, Any]) -> Question:
    asked = Question()
    to = members(line, "to")
    asked.state, asked.data, asked.seq = word(line, "state"), members(line, "data"), count(line, "seq")
    asked.to = Place(word(to, "state"), members(to, "data"))
    asked.by = _by(line) if "by" in line else None
    asked.cause = word(line, "cause") if "cause" in line else None
    asked.left = count(line, "leftMs") / 1000
    return asked


def accepted(line: dict[str, Any]) -> dict[str, Any]:
    """A reply that says yes; one that says no is raised."""
    ok = line.get("ok")
    if ok is True:
        return line
    if ok is not False:
        raise _wrong(line, "ok")
    word(line, "error")
    raise refusal(line, state(line) if "cursor" in line and "at" in line else None)


def end(line: Mapping[str, Any]) -> Lost:
    """What a `bye` says: the connection ends."""
    reason, retry = line.get("reason"), line.get("retryMs")
    wait = min(retry, 60_000) / 1000 if type(retry) is int and retry > 0 else 0.0
    said = "the daemon ended the connection: " + (reason if type(reason) is str else "restart")
    if reason == "limit":
        said += f" of {line.get('limit')!s:.40} ({line.get('max')!s:.20})"
    return Lost(said, retry=wait)


class Lines:
    """Makes lines of what is received; holds what has no end yet."""

    __slots__ = ("_whole", "_rest", "limit")

    def __init__(self, limit: int = LINE_BYTES) -> None:
        self._whole: list[bytes] = []
        # Grows in place, so that a line takes time by its length, however small the parts are in which it comes.
        self._rest = bytearray()
        self.limit = limit

    def add(self, received: bytes) -> None:
        """Takes what was received.

        Raises ProtocolError for a line that is longer than any may be.
        """
        lines = received.split(b"\n")
        rest = lines.pop()
        if lines:
            if self._rest:
                lines[0] = bytes(self._rest) + lines[0]
                self._rest.clear()
            lines.reverse()
            self._whole = lines + self._whole
        self._rest += rest
        if len(self._rest) > self.limit:
            raise ProtocolError(f"a line has more than {self.limit} bytes: {_excerpt(self._rest)}")

    def next(self) -> Optional[bytes]:
        """The next whole line; None if there is none."""
        return self._whole.pop() if self._whole else None

    def __bool__(self) -> bool:
        return bool(self._whole)


class Past(list[dict[str, Any]]):
    """The changes before a reply: as many as were asked for, and no more."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self._most = most

    def take(self, line: dict[str, Any]) -> bool:
        """Whether the line is one of them. Raises ProtocolError for one too many."""
        if line.get("type") != "change":
            return False
        if len(self) == self._most:
            raise ProtocolError(f"the daemon sent more than the {self._most} changes that were requested")
        self.append(line)
        return True


class Following:
    """Where a watch is: from lines to items, and from which cursor it continues. Guarantees 1 and 2 are checked here."""

    __slots__ = ("place", "_is_whole")

    def __init__(self, since: Optional[str], is_whole: bool) -> None:
        # The seq of the last line, None before the first; the cursor; whether the daemon is gone. One value, so that
        # it can be put back.
        self.place: tuple[Optional[int], Optional[str], bool] = (None, since, False)
        # Whether the watch is sent each change, so that the next one has the next number.
        self._is_whole = is_whole

    @property
    def cursor(self) -> Optional[str]:
        return self.place[1]

    @property
    def has_begun(self) -> bool:
        """Whether a line has come."""
        return self.place[0] is not None

    @property
    def is_gone(self) -> bool:
        return self.place[2]

    def gone(self) -> None:
        """The daemon has gone; `Back` is what comes first when it is there again."""
        seq, cursor, _ = self.place
        self.place = (seq, cursor, True)

    def take(self, line: dict[str, Any], into: list[Item]) -> bool:
        """Adds the items that a line stands for, the first one last.

        True if the daemon is there, and does not know yet where the machine is.
        """
        kind = line.get("type")
        last, at, is_gone = self.place
        if kind == "change":
            made = change(line)
            seq = made.seq
            if last is not None and (seq <= last or self._is_whole and seq != last + 1):
                raise ProtocolError(f"change {seq} follows {last}, with no word of the changes between")
            last, at = seq, made.cursor
            into.append(made)
        elif kind == "state":
            resync = line.get("resync")
            if resync is None and last is not None:
                raise ProtocolError(f"the state at {line.get('seq')!r:.20} follows {last}, with no word of the changes between")
            into.append(state(line))
            if resync is not None:
                into.append(Gap(count(line, "missed") if "missed" in line else None, word(line, "resync")))
            last, at = count(line, "seq"), cursor(line)
        elif kind == "live" or kind == "beat":
            seq = count(line, "seq")
            if last is not None and (seq < last or self._is_whole and seq != last):
                raise ProtocolError(f"a {kind} at {seq} follows {last}, with no word of the changes between")
            last, at = seq, cursor(line)
        elif kind == "declared":
            version = line.get("version")
            at = cursor(line)
            into.append(
                Declared(word(line, "declaration"), version if type(version) is str else None, count(line, "seq"), at)
            )
        else:
            if kind == "reply":
                if line.get("error") == "unavailable":
                    return True
                accepted(line)
            return False
        if is_gone:
            into.append(Back())
        self.place = (last, at, False)
        return False


# Places


def directory(machine: Optional[str], runtime_directory: Union[str, os.PathLike[str], None]) -> str:
    """Where a machine's sockets are, found as `statectl` finds them."""
    if machine is not None and runtime_directory is not None:
        raise TypeError("machine and runtime_directory cannot be used together; give one")
    if runtime_directory is not None:
        path = os.fspath(runtime_directory)
        if not isinstance(path, str):
            raise TypeError(f"runtime_directory must be a string or a path, not {shown(runtime_directory)}")
        if not path or "\0" in path:
            raise ValueError(f"runtime_directory is {path!r}; name the directory")
        return path
    named, own = os.environ.get("STATEMACHINE_RUNTIME_DIRECTORY"), os.environ.get("XDG_RUNTIME_DIR")
    bases = ["/run/statemachine"] + ([f"{own}/statemachine"] if own else [])
    if machine is not None:
        if not isinstance(machine, str):
            raise TypeError(f"machine must be a name, not {shown(machine)}")
        if not re.fullmatch(r"[^/\0]+", machine) or machine in (".", ".."):
            raise ValueError(f"{shown(machine)} is not the name of a machine; give a directory as runtime_directory=")
        if named:
            bases[:0] = [named.rstrip("/"), *_beside(named.rstrip("/"))]
        candidates = [f"{base}/{machine}" for base in dict.fromkeys(bases)]
    else:
        if named:
            return named
        if os.geteuid() == 0:
            return bases[0]
        candidates = bases
    for candidate in candidates:
        if _has_door(candidate):
            return candidate
    looked = " or ".join(candidates)
    if machine is not None:
        raise Unreachable(f"there is no machine {shown(machine)}: no socket in {looked}; `statectl machines` lists the machines")
    raise Unreachable(f"no daemon was found: there is no socket in {looked}; is the service running?")


def _beside(directory: str) -> list[str]:
    """Where the neighbours of a machine are: what `statectl` runs has its own machine's directory in the variable.

    None if it is no machine's directory, or if anybody else could put a socket beside it.
    """
    parent = os.path.dirname(directory)
    try:
        status = os.stat(parent)
    except OSError:
        return []
    is_ours = status.st_uid in (0, os.geteuid()) and not status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return [parent] if is_ours and _has_door(directory) else []


def _has_door(directory: str) -> bool:
    for door in ("control.sock", "events.sock"):
        try:
            os.stat(f"{directory}/{door}")
            return True
        except PermissionError:
            return True
        except OSError:
            continue
    return False


def why(error: Optional[OSError]) -> str:
    """Why a socket cannot be connected to, for people."""
    if isinstance(error, FileNotFoundError):
        return "there is no such socket"
    return str(error.strerror or error) if error is not None else "it may not be opened"


def closed() -> Error:
    return Error("this machine is closed; connect again")
