"""What can go wrong, as exceptions."""

from __future__ import annotations

from typing import Any, Optional

from ._items import State

__all__ = [
    "Error", "Unreachable", "Disconnected", "NoAnswer", "ProtocolError", "Refused", "Denied", "Illegal", "Conflict",
    "BadData", "UnknownState", "UnknownEvent", "Forbidden", "Timeout", "FailedState", "Declined", "TooLong", "Limited",
    "ShuttingDown", "Unavailable", "Internal",
]


class Error(Exception):
    """The base of all that this package raises, but for TypeError and ValueError of wrong arguments."""


class Unreachable(Error, ConnectionError):
    """No daemon answers where one was looked for; the message names the place. Nothing was sent."""


class Disconnected(Error, ConnectionError):
    """The connection ended while an answer was awaited.

    What only reads was tried once more before this is raised. Whether a `set`, `send` or `update` was carried out is
    not known then: `get()` shows the state as it is now, and the same call with `if_seq=` of a state that was read
    before is safe to repeat, because it is refused (`Conflict`) if the first one was carried out.
    """


class NoAnswer(Disconnected, TimeoutError):
    """The daemon has the connection and does not answer within `timeout`; else as `Disconnected`."""


class ProtocolError(Error):
    """What came is not the protocol: no JSON, a line without end, a number out of range. The connection is closed."""


class Refused(Error):
    """The daemon said no. The subclasses are for those codes that a program may want to tell apart.

    `code` is the protocol's word, `message` a sentence for people, `answer` the whole line, and `state` the state as it
    was when that was decided, if the answer has it.
    """

    def __init__(self, answer: dict[str, Any], state: Optional[State] = None) -> None:
        code, message = answer.get("error"), answer.get("message")
        self.code: str = code if isinstance(code, str) else "internal"
        self.message: str = message if isinstance(message, str) else self.code
        self.answer = answer
        self.state = state
        super().__init__(self.message)

    def __str__(self) -> str:
        return self.message

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.answer, self.state)

    def _list(self, key: str) -> list[Any]:
        value = self.answer.get(key)
        return value if isinstance(value, list) else []


class Denied(Refused):
    """A hold, a guard or the daemon's own process said no; `by` has a row for each of them."""

    @property
    def by(self) -> list[dict[str, Any]]:
        """Who said no: each with `hold`, `guard` or `delegate`, `uid`, `pid` and `why`."""
        return [row for row in self._list("by") if isinstance(row, dict)]


class Illegal(Refused):
    """The state may not follow the present one; `allowed` has the names of those that may."""

    @property
    def allowed(self) -> list[str]:
        """The names of the states that may follow."""
        return [name for name in self._list("allowed") if isinstance(name, str)]


class Conflict(Refused):
    """`if_seq`, `if_state` or `if_stay` did not hold; `state` is what is there instead."""


class _Unknown(Refused):
    @property
    def known(self) -> list[Any]:
        """What there is instead: names, or the values that a field may have."""
        return self._list("known")


class BadData(_Unknown):
    """A field is missing, not known, or has a value that it cannot have; `known` lists what there is."""


class UnknownState(_Unknown):
    """There is no such state, in a pattern either; `known` lists those that there are."""


class UnknownEvent(_Unknown):
    """There is no such event; `known` lists those that there are."""


class Forbidden(Refused):
    """This user may not do that; `may` lists who may, where the machine's file says it.

    Or `control.sock` may not be opened by this user, or what was to be ended belongs to another one.
    """

    @property
    def may(self) -> list[str]:
        """Who may, as the machine's file lists them, besides root; empty if no file says it, or only root may."""
        return [name for name in self._list("may") if isinstance(name, str)]


class Timeout(Refused, TimeoutError):
    """The state was not reached in the time that `wait` was given; `state` is what is there instead."""


class FailedState(Refused):
    """A state that `fail` selects was reached; it is in `state`, and the pattern in `matched`."""

    @property
    def matched(self) -> Any:
        """The pattern that selected it, as it was given."""
        return self.answer.get("matched")


class Declined(Refused):
    """The machine's file refuses this event in this state; `message` has the file's words."""


class TooLong(Refused):
    """A request of more than 65,536 bytes, a state of more than that, or a `cause` or `why` of more than 256."""


class Limited(Refused):
    """The daemon has as many connections, watches, holds or the like as it may have for this user."""


class ShuttingDown(Refused):
    """The daemon went down before this was decided; nothing was changed."""


class Unavailable(Refused):
    """Several hosts share the machine, and no quorum of its engine answers this one: what it shows may be old.

    Nothing was changed; if `is_unsure`, that is not known, and if it was, it comes as a change.
    """

    @property
    def is_unsure(self) -> bool:
        """Whether what was asked for may have been done."""
        return self.answer.get("unsure") is True


class Internal(Refused):
    """The daemon could not do its work, for a full disk for one; nothing was changed."""


_BY_CODE: dict[str, type[Refused]] = {
    "denied": Denied,
    "illegal-transition": Illegal,
    "conflict": Conflict,
    "bad-data": BadData,
    "unknown-state": UnknownState,
    "unknown-event": UnknownEvent,
    "forbidden": Forbidden,
    "timeout": Timeout,
    "failed-state": FailedState,
    "refused": Declined,
    "too-long": TooLong,
    "limit": Limited,
    "shutting-down": ShuttingDown,
    "unavailable": Unavailable,
    "internal": Internal,
}


def refusal(answer: dict[str, Any], state: Optional[State] = None) -> Refused:
    """The exception for an answer that says no."""
    code = answer.get("error")
    return _BY_CODE.get(code if isinstance(code, str) else "", Refused)(answer, state)


for _name in __all__:
    # As programs name them, in tracebacks too.
    globals()[_name].__module__ = "statectl"
