"""What a machine says, as values."""

from __future__ import annotations

import datetime
import json
from typing import Any, Optional, Union

__all__ = [
    "By", "Due", "Place", "State", "Change", "Gap", "Gone", "Back", "Declared", "Idle", "Item", "Question", "History",
]


class _Value:
    """Compares and shows itself by its attributes."""

    __slots__ = ()

    def _key(self) -> tuple[Any, ...]:
        return tuple(getattr(self, name) for name in self._names())

    @classmethod
    def _names(cls) -> list[str]:
        return [name for base in reversed(cls.__mro__) for name in getattr(base, "__slots__", ())]

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Value):
            return NotImplemented
        return type(other) is type(self) and self._key() == other._key()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={value!r}" for name, value in zip(self._names(), self._key()) if value is not None)
        return f"{type(self).__name__}({shown})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self._key())


def _restored(cls: type[_Value], values: tuple[Any, ...]) -> _Value:
    value = cls.__new__(cls)
    for name, part in zip(cls._names(), values):
        setattr(value, name, part)
    return value


def _text(state: str, data: dict[str, Any]) -> str:
    """A state for people, as the tool shows it: `dim(level: 20)`."""
    fields = (f"{name}: {value if isinstance(value, str) else json.dumps(value)}" for name, value in data.items())
    return f"{state}({', '.join(fields)})" if data else state


def _at(cursor: str, number: int) -> str:
    """The cursor of another number of the same numbering."""
    return f"{cursor.rpartition(':')[0]}:{number}"


class By(_Value):
    """Who asked for a change: `uid`, which may be trusted, and `pid`, `comm` and `unit`, which are for people.

    `host` is where, if several hosts share the machine; of another host nothing of it may be trusted.
    """

    __slots__ = ("uid", "pid", "comm", "unit", "host")

    def __init__(
        self, uid: int, pid: int, comm: Optional[str] = None, unit: Optional[str] = None, host: Optional[str] = None
    ) -> None:
        self.uid, self.pid, self.comm, self.unit, self.host = uid, pid, comm, unit, host


class Place(_Value):
    """A state without its number: its name in `state`, its fields in `data`."""

    __slots__ = ("state", "data")

    def __init__(self, state: str, data: dict[str, Any]) -> None:
        self.state, self.data = state, data

    def __str__(self) -> str:
        return _text(self.state, self.data)


class Due(Place):
    """What time will do: the state that will be entered, its `data`, and `at`, when."""

    __slots__ = ("at",)

    def __init__(self, state: str, data: dict[str, Any], at: datetime.datetime) -> None:
        self.state, self.data, self.at = state, data, at

    def __str__(self) -> str:
        return f"{super().__str__()} at {self.at:%H:%M:%S}"


class State(_Value):
    """The state as it is, or was when that was said.

    `state` is its name, `data` its fields, `seq` the number of the change that led to it, `at` since when, `cursor`
    what `watch(since=…)` takes, and `if_seq=`. `stay` is the number of the stay, `stay_cursor` what `if_stay=` takes, `due`
    what time will do, `by` and `cause` who asked for it and why; each is None if it is not known or there is none.

    `changed` is of what `set`, `send` and `update` return, `handled` of `send`, `matched` of `wait`; else None.
    `selected` is False for the first state of a watch whose patterns do not select it.
    """

    __slots__ = ("state", "data", "seq", "at", "cursor", "stay", "due", "by", "cause",
                 "changed", "handled", "matched", "selected")

    state: str
    data: dict[str, Any]
    seq: int
    at: datetime.datetime
    cursor: str
    stay: Optional[int]
    due: Optional[Due]
    by: Optional[By]
    cause: Optional[str]
    changed: Optional[bool]
    handled: Optional[bool]
    matched: Any
    selected: bool

    def __str__(self) -> str:
        return f"{_text(self.state, self.data)} #{self.seq}"

    @property
    def stay_cursor(self) -> Optional[str]:
        """The cursor of the change that began the stay, what `if_stay=` takes; None if the stay is not known."""
        return None if self.stay is None else _at(self.cursor, self.stay)

    @property
    def _is_flat(self) -> bool:
        return self.due is None and not any(isinstance(value, (dict, list)) for value in self.data.values())

    def _copy(self) -> State:
        """Another one with data of its own, where the data has no containers in it."""
        new = State()
        new.state, new.seq, new.at, new.cursor = self.state, self.seq, self.at, self.cursor
        new.data, new.stay, new.due, new.by, new.cause = self.data.copy(), self.stay, self.due, self.by, self.cause
        new.changed, new.handled, new.matched, new.selected = self.changed, self.handled, self.matched, self.selected
        return new


class Change(_Value):
    """A change of the state.

    What it led to is in `state`, `data`, `seq`, `at`, `cursor`, `stay`, `due`, `by` and `cause`, as in `State`, and what
    was left in `from_`. `skipped` counts the changes that `latest=True` left out before it. `stay` is None for a change
    that began one: it is `seq` then.
    """

    __slots__ = ("state", "data", "seq", "at", "cursor", "stay", "due", "by", "cause", "from_", "skipped")

    state: str
    data: dict[str, Any]
    seq: int
    at: datetime.datetime
    cursor: str
    stay: Optional[int]
    due: Optional[Due]
    by: Optional[By]
    cause: Optional[str]
    from_: Place
    skipped: int

    @property
    def stay_cursor(self) -> str:
        """The cursor of the change that began the stay, what `if_stay=` takes."""
        return self.cursor if self.stay is None else _at(self.cursor, self.stay)

    def __str__(self) -> str:
        return f"{_text(self.state, self.data)} #{self.seq}, was {self.from_}"


class Gap(_Value):
    """Changes were lost; the next item is the State as it is.

    `missed` is how many, or None where that cannot be told; `reason` is `lagged` (this program read too slowly),
    `evicted` (they are no longer kept), `restarted` (the numbering began again) or `unknown` (the cursor is not the
    daemon's).
    """

    __slots__ = ("missed", "reason")

    def __init__(self, missed: Optional[int], reason: str) -> None:
        self.missed, self.reason = missed, reason


class Gone(_Value):
    """The daemon has gone, or does not answer; what the state is, is not known until `Back`. `reason` is for people."""

    __slots__ = ("reason",)

    def __init__(self, reason: str) -> None:
        self.reason = reason


class Back(_Value):
    """The daemon is there again.

    What happened meanwhile follows: changes, or a `Gap` and a State; nothing if nothing has changed since the last item.
    """

    __slots__ = ()


class Declared(_Value):
    """The machine's file was read again, and is another: `declaration` is its SHA-256, `version` what it says."""

    __slots__ = ("declaration", "version", "seq", "cursor")

    def __init__(self, declaration: str, version: Optional[str], seq: int, cursor: str) -> None:
        self.declaration, self.version, self.seq, self.cursor = declaration, version, seq, cursor


class Idle(_Value):
    """There was no item for as long as `watch(idle=…)` said."""

    __slots__ = ()


Item = Union[State, Change, Gap, Gone, Back, Declared, Idle]
"""What `watch` yields."""


class Question(_Value):
    """What a guard is asked: may the state `state` (with `data`, at `seq`) be left for `to`?

    `by` and `cause` are who asked for it and why; `left` is how many seconds there are to answer.
    """

    __slots__ = ("state", "data", "seq", "to", "by", "cause", "left")

    state: str
    data: dict[str, Any]
    seq: int
    to: Place
    by: Optional[By]
    cause: Optional[str]
    left: float


class History(list[Change]):
    """Changes of the past: a list.

    `more` says whether there are others, which `limit` left out. `resync` is why `since` could not be used: then the
    list begins with the oldest that are kept; else None.
    """

    more: bool = False
    resync: Optional[str] = None
