"""A client of statemachine, which holds the state of an application and notifies everybody.

    import statectl

    with statectl.connect("kiosk") as m:
        print(m.get().state)
        for it in m.watch():
            print(it)

`statectl.aio` has the same names for asyncio. The docstrings say of each call what it waits for, what it raises and what
it does over a restart of the daemon; docs/python.md is the way in.
"""

from __future__ import annotations

from . import aio
from ._errors import (
    BadData,
    Conflict,
    Declined,
    Denied,
    Disconnected,
    Error,
    FailedState,
    Forbidden,
    Illegal,
    Internal,
    Limited,
    NoAnswer,
    ProtocolError,
    Refused,
    ShuttingDown,
    Unavailable,
    Timeout,
    TooLong,
    UnknownEvent,
    UnknownState,
    Unreachable,
)
from ._items import Back, By, Change, Declared, Due, Gap, Gone, History, Idle, Item, Place, Question, State
from ._version import VERSION
from .blocking import Guard, Hold, Machine, Watch, connect

__version__ = VERSION

__all__ = [
    "aio", "connect", "Machine", "Watch", "Hold", "Guard",
    "State", "Change", "Gap", "Gone", "Back", "Declared", "Idle", "Item", "Question", "By", "Due", "Place", "History",
    "Error", "Unreachable", "Disconnected", "NoAnswer", "ProtocolError", "Refused", "Denied", "Illegal", "Conflict",
    "BadData", "UnknownState", "UnknownEvent", "Forbidden", "Timeout", "FailedState", "Declined", "TooLong", "Limited",
    "ShuttingDown", "Unavailable", "Internal",
]
