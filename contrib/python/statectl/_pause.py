"""How long to wait before trying again, and what is left behind by a fork."""

from __future__ import annotations

import os
import random
import weakref
from typing import Any

# The first try is at once, the next after 0.1 s, and then twice as long each time, up to 5 s: soon enough for people,
# and no load for a machine.
_FIRST, _LONGEST = 0.1, 5.0


class Backoff:
    """The pauses between tries: growing, and somewhat random, so that many clients do not come together."""

    __slots__ = ("_next",)

    def __init__(self) -> None:
        self._next = 0.0

    def next(self, least: float = 0.0) -> float:
        """The next pause, in seconds; at least what the daemon asked for."""
        pause = self._next
        self._next = min(_LONGEST, max(_FIRST, pause * 2))
        return max(pause, least) * random.uniform(0.8, 1.2)

    def lasted(self, seconds: float) -> None:
        """What was tried succeeded, and lasted so long. What is lost at once each time is tried ever more rarely."""
        if seconds > _LONGEST:
            self._next = 0.0
        elif seconds > _FIRST:
            self._next = min(self._next, _FIRST)


class Forks:
    """Closes in a child of fork(2) what it has of its parent's connections, which are the parent's alone."""

    generation = 0
    _open: weakref.WeakSet[Any] = weakref.WeakSet()

    @classmethod
    def note(cls, wire: Any) -> None:
        cls._open.add(wire)

    @classmethod
    def forked(cls) -> None:
        cls.generation += 1
        for wire in list(cls._open):
            wire.forget()
        cls._open = weakref.WeakSet()


os.register_at_fork(after_in_child=Forks.forked)
