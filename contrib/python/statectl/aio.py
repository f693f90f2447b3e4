"""The asyncio face of `statectl`: the same names as in the package itself, to be awaited.

This file is the source of both faces: `contrib/python/generate` makes `blocking.py` of it.
"""

from __future__ import annotations

import asyncio  # aio
import datetime
# blocking: import inspect
import time
from collections.abc import Awaitable, Callable, Generator  # aio
# blocking: from collections.abc import Callable
from types import TracebackType
from typing import Any, Optional, TypeVar, Union, cast

from . import _wire as wire
from ._aio_wire import Requests, Wire
from ._aio_wire import apart, attended, called, ended, is_here  # aio
# blocking: from ._blocking_wire import Attendance, Raised, asking
from ._errors import (
    Disconnected,
    Error,
    Forbidden,
    NoAnswer,
    ProtocolError,
    Refused,
    ShuttingDown,
    Unavailable,
    Timeout,
    Unreachable,
    refusal,
)
from ._items import Gone, History, Idle, Item, Question, State
from ._pause import Backoff, Forks
from ._wire import Lost, Moment, Named, Patterns

__all__ = ["connect", "Machine", "Watch", "Hold", "Guard"]

_GET, _PING, _UNWATCH = wire.request("get"), wire.request("ping"), wire.request("unwatch")
_W = TypeVar("_W", bound=Wire)
_T = TypeVar("_T")
_Answer = Union[bool, str]
Ask = Callable[[Question], Union[_Answer, Awaitable[_Answer]]]  # aio
# blocking: Ask = Callable[[Question], _Answer]
clock = time.monotonic


def connect(
    machine: Optional[str] = None,
    *,
    runtime_directory: wire.Directory = None,
    timeout: float = 10.0,
    wait: Union[bool, float] = False,
) -> Machine:
    """Connects to a daemon: `async with connect("kiosk") as m:`, or `m = await connect("kiosk")` and `await m.close()`.

    `machine` is the name of its instance, `runtime_directory` the place of its sockets. Without either they are looked
    for where `statectl` looks: in $STATEMACHINE_RUNTIME_DIRECTORY, else /run/statemachine, else (but for root)
    $XDG_RUNTIME_DIR/statemachine; an instance in all three, and beside the first if that is a machine's own directory.
    `timeout` is how many seconds connecting may take, and each answer.

    Waits for the connection. Raises Unreachable if no daemon answers there; with `wait` it waits until one does: so many
    seconds, or with True as long as it takes. A restart of the daemon later on needs nothing: a connection that is found
    closed is opened again by whatever needs it.
    """
    span = wire.seconds("timeout", timeout)
    if not span:
        raise ValueError("timeout must be more than 0 seconds; it applies to connecting and to each answer")
    patience = wire.patience("wait", wait)
    try:
        directory = wire.directory(machine, runtime_directory)
    except Unreachable:
        if patience == 0:
            raise
        directory = ""
    return Machine(directory, span, (machine, runtime_directory), patience)  # aio
    # blocking: return Machine(directory, span, (machine, runtime_directory), patience)._opened()


class Machine:
    """A machine, as `connect` finds it. It belongs to one thread; after a fork the child has connections of its own, and
    so has, in asyncio, another event loop.

    `directory` is where its sockets are. Requests share one connection; each watch, hold and guard has its own.
    Without permission for control.sock reading goes by events.sock, and writing raises Forbidden.

    What a call may raise: TypeError and ValueError for wrong arguments, before anything is sent; Unreachable if no
    daemon can be connected to; Disconnected if it goes before it has answered; ProtocolError if what comes is no
    answer; and Refused, with its subclasses, if the daemon says no.
    """

    def __init__(
        self, directory: str, timeout: float, sought: tuple[Optional[str], wire.Directory], patience: float
    ) -> None:
        self.directory = directory
        self.timeout = timeout
        self._limit = wire.LINE_BYTES
        self._requests: Optional[Requests] = None
        self._is_closed = False
        self._standing: list[_Standing] = []
        # What `get` was answered the last time, for who asks again and again.
        self._got_line: Optional[dict[str, Any]] = None
        self._got = State()
        self._watches: wire.Watches[Watch] = wire.Watches()
        # What is looked for, and for how many seconds, if it is not there at the start.
        self._sought, self._patience = sought, patience
        # blocking: self._attendance = Attendance(self._standing)
        # Of the loop that is beside it; further connections are for waits, of which one has only so many.
        self._opening: Optional[tuple[asyncio.AbstractEventLoop, asyncio.Lock]] = None  # aio
        self._further: list[Requests] = []  # aio

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.Machine in {self.directory}>"

    async def _opened(self) -> Machine:
        backoff, until = Backoff(), clock() + self._patience
        while True:
            try:
                if not self.directory:
                    self.directory = wire.directory(*self._sought)
                await self._wire(False)
                return self
            except Unreachable as error:
                # What may not be opened is not waited for.
                if clock() >= until or isinstance(error.__cause__, PermissionError):
                    raise
            await self._sleep(min(backoff.next(), max(0.0, until - clock())))

    def __del__(self) -> None:  # aio
        for shared in [self._requests, *self._further]:  # aio
            if shared is not None:  # aio
                shared.close()  # aio

    def __await__(self) -> Generator[Any, None, Machine]:  # aio
        return self._opened().__await__()  # aio

    async def __aenter__(self) -> Machine:
        return await self._opened()

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Ends all connections: the watches, holds and guards that are left, too. Never raises; may be called again.

        Whatever interrupts it, none is left.
        """
        self._is_closed = True
        try:
            for watch in list(self._watches):
                watch.close()
            for standing in list(self._standing):
                await standing.close()
        finally:
            for standing in self._standing:
                standing._hang_up()
            self._standing.clear()
            self._drop(self._requests)
            for further in list(self._further):  # aio
                self._drop(further)  # aio

    # Reading

    async def get(self, *, fresh: bool = False) -> State:
        """The state as it is, with who asked for it and why. Waits for the answer; over a restart it is asked again.

        Where several hosts share the machine, `fresh` is the state that all have by now, or raises Unavailable.
        """
        if fresh:
            return self._read(wire.state, await self._ask("get", wire.request("get", fresh=True)))
        reply = await self._ask("get", _GET, is_again=True)
        if reply is self._got_line:
            return self._got._copy()
        made = self._read(wire.state, reply)
        if made._is_flat and self._requests is not None:
            self._requests.remember()
            self._got_line, self._got = reply, made._copy()
        return made

    # blocking: @asking
    async def wait(
        self, *until: Patterns, fail: Optional[Patterns] = None, timeout: Optional[float] = None, since: Optional[str] = None
    ) -> State:
        """Waits until the state is one that a pattern of `until` selects, and returns it; `matched` is the pattern.

        With `since`, a cursor, changes after it count too. Raises Timeout after `timeout` seconds (never without),
        FailedState if a pattern of `fail` selects a state before. `wait("ready", timeout=0)` asks and does not wait.

        Lives over restarts of the daemon: it connects again, and what happened meanwhile counts, where that is kept.
        """
        patterns = wire.patterns("until", wire.several(until))
        if patterns is None:
            raise TypeError("wait needs at least one pattern")
        fails, span = wire.patterns("fail", fail), wire.seconds("timeout", timeout)
        cursor = wire.text("since", since)
        until_time = None if span is None else clock() + span
        backoff, has_begun = Backoff(), False
        shared: Optional[Requests] = None
        while True:
            retry = 0.0
            try:
                shared = await self._wire(False)
                if cursor is None:
                    # What happens while the daemon cannot be reached is not to be missed.
                    cursor = wire.state(wire.accepted(await shared.ask(_GET))).cursor
                shared = await self._with_room()  # aio
                left = None if until_time is None else max(0.0, until_time - clock())
                head = wire.request(
                    "wait", until=patterns, fail=fails, since=cursor, timeoutMs=wire.milliseconds("timeout", left)
                )
                has_begun = True
                return wire.state(wire.accepted(await self._reply(shared, head, until_time)))
            except Lost as lost:
                self._drop(shared)
                retry = lost.retry
            except (ShuttingDown, Unavailable):
                self._drop(shared)
            except ProtocolError:
                self._drop(shared)
                raise
            except Unreachable:
                if not has_begun:
                    raise
            has_begun = True
            pause = backoff.next(retry)
            if until_time is not None:
                if clock() >= until_time:
                    message = f"the wait of {span:g} s is over, and no daemon answers in {self.directory}"
                    raise Timeout({"type": "reply", "ok": False, "error": "timeout", "message": message})
                pause = min(pause, max(0.0, until_time - clock()))
            await self._sleep(pause)

    async def _reply(self, shared: Requests, head: bytes, until: Optional[float]) -> dict[str, Any]:
        """The answer to a wait, as long as the daemon shows that it is there."""
        begun = shared.begin(head)
        shared.waits += 1  # aio
        try:
            while True:
                # The daemon keeps the time, and is given a second more.
                step = wire.BEAT_SECONDS if until is None else min(wire.BEAT_SECONDS, max(0.0, until - clock()) + 1)
                # blocking: shared.attendance = self._attendance
                reply = await shared.reply_to(begun, step)
                # blocking: shared.attendance = None
                if reply is not None:
                    return reply
                if until is not None and clock() >= until:
                    raise Lost("the daemon does not answer", is_silent=True)
                await shared.ask(_PING)
        except BaseException:
            shared.abandon(begun)
            raise
        finally:  # aio
            shared.waits -= 1  # aio
            if not shared.waits and shared in self._further:  # aio
                self._drop(shared)  # aio

    def watch(
        self, *only: Patterns, since: Optional[str] = None, latest: bool = False, idle: Optional[float] = None
    ) -> Watch:
        """What happens, item by item: `async for it in m.watch("busy"):`. Patterns say which changes; all without.

        It begins with the State as it is, or, with `since`, with the changes after that cursor. Then come Change; Gap
        where changes were lost, followed by the State; Gone and Back around the daemon's absence; Declared when the
        machine's file was changed. With patterns only changes to a state that one of them selects come, with `latest` of
        those that came while the loop's body ran only the last one. With `idle` it yields Idle after so many seconds
        without an item, so that the loop can be left.

        Waits for the next item, for ever; it connects when the first one is asked for, and raises Unreachable if that
        fails. Later losses are Gone, and it continues from its cursor when the daemon is back. It ends when the loop is
        left, and raises only for a refused pattern and for what is not the protocol.
        """
        patterns = wire.patterns("only", wire.several(only))
        if wire.flag("latest", latest) is None:
            raise TypeError("latest must be True or False, not None")
        span = wire.seconds("idle", idle)
        if span == 0:
            raise ValueError("idle must be more than 0 seconds")
        self._check()
        watch = Watch(self, patterns, wire.text("since", since), latest, span)
        self._watches.add(watch)
        return watch

    async def history(
        self,
        *only: Patterns,
        since: Optional[str] = None,
        limit: int = 1000,
        newest: bool = False,
        after: Optional[Moment] = None,
        before: Optional[Moment] = None,
        by: Union[int, str, None] = None,
        cause: Optional[str] = None,
    ) -> History:
        """The changes that are kept, as a list: the oldest first, or the newest if `newest`.

        `limit` is how many at most, up to 10,000; `more` of the list says whether there are others. `since` is a cursor;
        `after` and `before` are times (aware datetimes, or RFC 3339), cursors or a seq; `by` is a uid, a command's or a
        unit's name; `cause` a text that is in the cause.

        Waits for the answer; over a restart it is asked again.
        """
        if by is not None and not isinstance(by, str):
            by = wire.number("by", by)
        most = wire.number("limit", limit, 1, 10_000)
        if most is None:
            raise TypeError("limit must be an integer, not None")
        head = wire.request(
            "history",
            only=wire.patterns("only", wire.several(only)),
            since=wire.text("since", since),
            limit=most,
            order="newest" if wire.flag("newest", newest) else None,
            after=wire.moment("after", after),
            before=wire.moment("before", before),
            by=by,
            cause=wire.text("cause", cause, wire.WHY_BYTES),
        )
        lines = wire.Past(most)
        reply = await self._ask("history", head, collect=lines)

        def read(reply: dict[str, Any]) -> History:
            changes = History(wire.change(line) for line in lines)
            changes.more = reply.get("more") is True
            changes.resync = wire.word(reply, "resync") if "resync" in reply else None
            return changes

        return self._read(read, reply)

    async def describe(self) -> dict[str, Any]:
        """What states, fields, events, transitions and limits there are: the protocol's answer to `describe`, a dict.

        Waits for the answer; over a restart it is asked again.
        """
        reply = await self._ask("describe", wire.request("describe"))
        limits = reply.get("limits")
        told = limits.get("serverLineBytes") if type(limits) is dict else None
        if type(told) is int and told > 0:
            self._limit = min(max(told, wire.LINE_BYTES), wire.LONGEST_LINE_BYTES)
        return _content(reply)

    async def stats(self) -> dict[str, Any]:
        """Who is connected, holds and guards, counters: the protocol's answer to `stats`, a dict.

        Waits for the answer; over a restart it is asked again.
        """
        return _content(await self._ask("stats", wire.request("stats")))

    async def hosts(self) -> list[dict[str, Any]]:
        """The hosts that share the machine, each a row of the protocol's answer to `hosts`.

        Waits for the answer; over a restart it is asked again. Raises Refused with the code `not-found` if no other host
        shares it.
        """
        rows = _content(await self._ask("hosts", wire.request("hosts"))).get("hosts")
        return [row for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []

    async def ping(self) -> int:
        """The seq of the newest change. Waits for the answer; over a restart it is asked again."""
        return self._read(lambda reply: wire.count(reply, "seq"), await self._ask("ping", _PING))

    # Writing

    async def set(
        self,
        state: Union[str, Named],
        /,
        data: Any = None,
        *,
        if_seq: Union[int, str, None] = None,
        if_state: Optional[Patterns] = None,
        if_stay: Union[int, str, None] = None,
        reenter: Optional[bool] = None,
        cause: Optional[str] = None,
        force: Optional[bool] = None,
        **fields: Any,
    ) -> State:
        """Enters a state: `set("ready", value=True)`. Returns it, with `changed`: False if it was that already.

        `data` is a mapping with further fields, for names that are arguments here. `if_seq`, `if_state` and `if_stay` are
        conditions on the present state, and raise Conflict. `if_seq=state.cursor` and `if_stay=state.stay_cursor` are
        safe: they do not hold after the numbering has begun again, as without a state directory it does at each start of
        the daemon, while a number may be another state's by then. `cause` is carried by the change. `reenter` makes a
        change though the state is the same. `force` asks no hold and no guard, for root and the daemon's own user.
        `state` may be an object of generated code (`statectl codegen python`).

        Waits until it is decided, guards included. Raises Denied, Illegal, UnknownState, BadData, TooLong, Forbidden;
        ShuttingDown if the daemon went before it was decided; Disconnected if it went before it answered: then whether
        it was carried out is not known, and the same call with `if_seq` is safe to repeat.
        """
        name, members = wire.naming("state", state, data, fields)
        return await self._change(
            "set",
            state=name,
            data=members,
            ifSeq=wire.position("if_seq", if_seq),
            ifState=wire.patterns("if_state", if_state),
            ifStay=wire.position("if_stay", if_stay),
            reenter=wire.flag("reenter", reenter),
            cause=wire.text("cause", cause, wire.WHY_BYTES),
            force=wire.flag("force", force),
        )

    async def send(
        self,
        event: Union[str, Named],
        /,
        data: Any = None,
        *,
        if_seq: Union[int, str, None] = None,
        if_state: Optional[Patterns] = None,
        if_stay: Union[int, str, None] = None,
        cause: Optional[str] = None,
        force: Optional[bool] = None,
        **fields: Any,
    ) -> State:
        """Tells of an event: `send("play", title="1984")`. Returns the state after it, with `changed` and `handled`.

        `handled` is False where the state does not handle the event. Arguments, what it waits for and what it raises
        are those of `set`, and UnknownEvent, and Declined where the machine's file refuses the event in this state.
        """
        name, members = wire.naming("event", event, data, fields)
        return await self._change(
            "send",
            event=name,
            data=members,
            ifSeq=wire.position("if_seq", if_seq),
            ifState=wire.patterns("if_state", if_state),
            ifStay=wire.position("if_stay", if_stay),
            cause=wire.text("cause", cause, wire.WHY_BYTES),
            force=wire.flag("force", force),
        )

    async def update(
        self,
        data: Any = None,
        /,
        *,
        add: Any = None,
        if_seq: Union[int, str, None] = None,
        if_state: Optional[Patterns] = None,
        if_stay: Union[int, str, None] = None,
        cause: Optional[str] = None,
        force: Optional[bool] = None,
        **fields: Any,
    ) -> State:
        """Gives fields of the present state other values: `update(volume=60)`. Returns the state, with `changed`.

        `add` is a mapping of what to add to numbers, `update(add={"tries": 1})`, which no other client's addition is
        lost by. The state is not left: its deadline stays. Holds and guards are asked if one of their patterns, as
        "busy:tries>=3", comes to match by it. Else as `set`.
        """
        members, sums = wire.merged(data, fields), wire.sums(add)
        if members is None and sums is None:
            raise TypeError("update needs fields or add; give at least one")
        return await self._change(
            "update",
            data=members,
            add=sums,
            ifSeq=wire.position("if_seq", if_seq),
            ifState=wire.patterns("if_state", if_state),
            ifStay=wire.position("if_stay", if_stay),
            cause=wire.text("cause", cause, wire.WHY_BYTES),
            force=wire.flag("force", force),
        )

    async def _change(self, op: str, **keys: Any) -> State:
        return self._read(wire.state, await self._ask(op, wire.request(op, **keys), writes=True))

    def _read(self, reader: Callable[[dict[str, Any]], _T], reply: dict[str, Any]) -> _T:
        """What is in an answer; one that is none closes the connection."""
        try:
            return reader(reply)
        except ProtocolError:
            self._drop(self._requests)
            raise

    # Holding and guarding

    def hold(
        self,
        before: Patterns,
        *,
        when_not: Optional[Patterns] = None,
        timeout: Optional[float] = None,
        why: Optional[str] = None,
        mode: str = "block",
        max: Optional[float] = None,
    ) -> Hold:
        """Keeps states from being entered: `async with m.hold(before="busy", why="deploying"):`. For everybody.

        Whoever sets one of these states is Denied with `why`; with `mode="delay"` it has to wait, `max` seconds at most
        (1 if not given, 60 at most). With `when_not` the hold is taken first, and then it is waited until the state is
        none of these, `timeout` seconds at most; Timeout lets go of the hold.

        `async with` waits until the hold is taken, and at the end until it is released, however the body ends. If the
        daemon goes, the body continues; the hold is taken again, in asyncio as soon as the daemon is back, else at the next
        call of the machine's or when `held` is asked, and `lost` says how often it was lost, after the `with` too.
        """
        head = _hold(before, why, mode, max)
        absent = wire.patterns("when_not", when_not)
        span = wire.seconds("timeout", timeout)
        if span is not None and absent is None:
            raise ValueError("timeout needs when_not, and is how long that may take; give both")
        return Hold(self, head, absent, span)

    async def hold_as(
        self,
        name: str,
        before: Patterns,
        *,
        until: Union[datetime.datetime, datetime.timedelta, float],
        why: Optional[str] = None,
        mode: str = "block",
        max: Optional[float] = None,
    ) -> int:
        """Keeps states from being entered until a time: `await m.hold_as("freeze", "busy", until=timedelta(days=2))`.

        This hold belongs to the user and not to the connection: it outlives this program, a restart and a power cut, until
        `until` (a time with a time zone, a timedelta or seconds from now, at most 400 days) or `release(as_=name)`. Taken
        again under its name it is renewed. The daemon needs a state directory. Returns the hold's number.

        Waits for the answer. What is denied, `mode` and `max` are as with `hold`. Raises Forbidden if that name is another
        user's, and Disconnected if the daemon went before it answered; to take it again is safe.
        """
        span = wire.time_left("until", until, wire.LONGEST_HOLD)
        if span is None:
            raise TypeError("until must be a time, a timedelta or a number of seconds, not None")
        if wire.text("name", name) is None:
            raise TypeError("name must be a string, not None")
        head = _hold(before, why, mode, max, **{"as": name, "untilMs": span})
        return self._read(lambda reply: wire.count(reply, "hold"), await self._ask("hold", head, writes=True))

    def guard(
        self,
        before: Patterns,
        ask: Ask,
        *,
        timeout: Optional[float] = None,
        on_timeout: Optional[str] = None,
        required: Optional[str] = None,
        why: Optional[str] = None,
    ) -> Guard:
        """Is asked before states are entered: `async with m.guard(before="maintenance", ask=may_it) as g:`.

        `ask` is called with a Question, and returns True, or a text: why not. There are `timeout` seconds to answer (1 if
        not given, 60 at most); no answer is `on_timeout`, "allow" or "deny" ("allow" if not given). With `required`, a
        name, these states are denied while no guard of that name is there, until `release(required=…)`: also when this
        program has ended.

        In asyncio `ask` is called by a task of the loop, and may be `async`. Else it is called within `serve`, and within
        `wait` and `watch` of the same machine, nowhere else: no thread is started. If it raises, the answer is no, with the
        exception's name as reason, and the exception leaves `serve`; in asyncio, where nobody serves, the end of the
        `with`, and else the `wait` or the `watch` within which `ask` was called.

        `async with` waits until the guard is there, and at the end until it is gone. If the daemon goes, the guard is taken
        again when it is back; `lost` says how often it was lost.
        """
        if not callable(ask):
            raise TypeError(f"ask must be a function of a question, not {wire.shown(ask)}")
        # blocking: if inspect.iscoroutinefunction(ask):
        # blocking:     raise TypeError(f"ask must not be an async function here, as {wire.shown(ask)} is; use statectl.aio")
        if on_timeout not in (None, "allow", "deny"):
            raise ValueError(f'on_timeout takes "allow" or "deny", not {wire.shown(on_timeout)}')
        head = wire.request(
            "guard",
            before=_needed(wire.patterns("before", before)),
            timeoutMs=wire.milliseconds("timeout", timeout, 60),
            onTimeout=on_timeout,
            required=wire.text("required", required),
            why=wire.text("why", why, wire.WHY_BYTES),
        )
        return Guard(self, head, ask, required is not None)

    async def release(
        self, hold: Optional[int] = None, *, required: Optional[str] = None, as_: Optional[str] = None
    ) -> None:
        """Ends the hold or guard of that number, the guards required by that name, or what `hold_as` took under the name
        `as_`; of this user, for root of anybody.

        Waits for the answer. Raises Forbidden, and Refused with the code `not-found` if there is none.
        """
        keys = {"hold": wire.number("hold", hold), "required": wire.text("required", required), "as": wire.text("as_", as_)}
        if sum(value is not None for value in keys.values()) != 1:
            raise TypeError("release needs the number of a hold, required or as_; give one")
        head = wire.request("release", **keys)
        await self._ask("release", head, writes=True)

    # Connections

    def _check(self) -> None:
        if self._is_closed:
            raise wire.closed()

    def _drop(self, shared: Optional[Requests]) -> None:
        """That connection has ended; others have perhaps opened another one."""
        if shared is not None:
            shared.close()
        if shared is self._requests:
            self._requests = None
        elif shared in self._further:  # aio
            self._further.remove(shared)  # aio

    async def _sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)  # aio
        # blocking: self._attendance.wait(seconds)

    def _usable(self, writes: bool) -> Optional[Requests]:
        shared = self._requests
        return None if shared is None or not shared.is_here or writes and shared.door == "events" else shared

    async def _wire(self, writes: bool) -> Requests:
        """The connection that requests share."""
        shared = self._usable(writes)
        if shared is not None:
            return shared
        self._check()
        async with self._one_opens():  # aio
            shared = self._usable(writes)  # aio
            if shared is not None:  # aio
                return shared  # aio
            new = await self._dial(Requests, writes)  # aio
            self._drop(self._requests)  # aio
            self._requests = new  # aio
            return new  # aio
        # blocking: new = self._dial(Requests, writes)
        # blocking: self._drop(self._requests)
        # blocking: self._requests = new
        # blocking: return new

    def _one_opens(self) -> asyncio.Lock:  # aio
        running = asyncio.get_running_loop()  # aio
        if self._opening is None or self._opening[0] is not running:  # aio
            self._opening = running, asyncio.Lock()  # aio
        return self._opening[1]  # aio

    async def _with_room(self) -> Requests:  # aio
        """A connection with room for a wait."""  # aio
        shared = await self._wire(False)  # aio
        if shared.waits < wire.WAITS:  # aio
            return shared  # aio
        async with self._one_opens():  # aio
            for further in self._further:  # aio
                if further.is_here and further.waits < wire.WAITS:  # aio
                    return further  # aio
            new = await self._dial(Requests, False)  # aio
            self._further.append(new)  # aio
            return new  # aio

    async def _dial(self, kind: type[_W], writes: bool) -> _W:
        """A new connection, by events.sock where control.sock may not be opened and is not needed."""
        self._check()
        first: Optional[OSError] = None
        for door in ("control",) if writes else ("control", "events"):
            path = f"{self.directory}/{door}.sock"
            try:
                new = cast(_W, await kind.connect(path, self.timeout, self._limit))
            except OSError as error:
                # blocking: if error.errno is None: raise  # a signal handler's
                first = first or error
                if isinstance(error, (PermissionError, FileNotFoundError)):
                    continue
                break
            try:
                if door == "events":
                    await self._unwatch(new)
            except Lost as lost:
                new.close()
                raise Unreachable(f"no daemon answers on {path}: {lost.reason}") from None
            except BaseException:
                new.close()
                raise
            if self._is_closed:
                new.close()
                raise wire.closed()
            new.door = door
            return new
        path = f"{self.directory}/control.sock"
        if writes and isinstance(first, PermissionError):
            message = f"{path} may not be opened by this user, and events.sock is for reading only"
            raise Forbidden({"type": "reply", "ok": False, "error": "forbidden", "message": message})
        raise Unreachable(f"no daemon answers on {path} ({wire.why(first)}); is the service running?") from first

    async def _unwatch(self, new: Wire) -> None:
        """Ends the watch that connecting to events.sock has begun."""
        if isinstance(new, Requests):
            await new.ask(_UNWATCH)
            return
        new.send(_UNWATCH + b"}\n")
        await new.reply(self.timeout)

    async def _ask(
        self,
        op: str,
        head: bytes,
        writes: bool = False,
        collect: Optional[wire.Past] = None,
        is_again: bool = False,
    ) -> dict[str, Any]:
        """The answer to a request, if it says yes."""
        # blocking: if self._standing: self._tend()
        is_second = False
        while True:
            shared = self._usable(writes)
            if shared is None:
                shared = await self._wire(writes)
            try:
                reply = await shared.ask(head, collect, is_again)
            except Lost as lost:
                self._drop(shared)
                # What was found closed has not seen the request, and what only reads may be asked twice.
                if not is_second and not lost.is_silent and not (lost.was_sent and writes):
                    is_second = True
                    if collect is not None:
                        collect.clear()
                    continue
                fate = f"; it is not known whether the {op} was carried out" if writes and lost.was_sent else ""
                kind = NoAnswer if lost.is_silent else Disconnected
                raise kind(f"{lost.reason}, before {op} was answered{fate}") from None
            except ProtocolError:
                self._drop(shared)
                raise
            if reply.get("ok") is True:
                return reply
            return self._read(wire.accepted, reply)

    # blocking: def _tend(self) -> None:
    # blocking:     """Takes holds again that were lost."""
    # blocking:     for one in list(self._standing):
    # blocking:         if isinstance(one, Hold) and not one._is_attended:
    # blocking:             one._attend(0.0)


class Watch:
    """What `watch` returns: an iterator. It may be closed by `close()`, and is when nobody has it any longer.

    `cursor` is how far it has come, for `since=` of another one; None before the first item.
    """

    def __init__(
        self, machine: Machine, only: Optional[list[Any]], since: Optional[str], latest: bool, idle: Optional[float]
    ) -> None:
        self._machine, self._only, self._mode = machine, only, "latest" if latest else None
        self._idle = idle
        self._following = wire.Following(since, is_whole=only is None and not latest)
        self._items: list[Item] = []
        self._wire: Optional[Wire] = None
        self._is_closed = False
        self._backoff, self._retry_at, self._since = Backoff(), 0.0, 0.0
        # When the daemon was last heard.
        self._heard = 0.0

    @property
    def cursor(self) -> Optional[str]:
        """How far it has come: what is after it has not been yielded yet."""
        return self._following.cursor

    def __aiter__(self) -> Watch:
        return self

    async def __aenter__(self) -> Watch:
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """Ends it; the loop over it ends too. May be called again."""
        self._is_closed = True
        self._items.clear()
        self._hang_up()

    def _hang_up(self) -> None:
        if self._wire is not None:
            self._wire.close()
            self._wire = None

    def __del__(self) -> None:
        if getattr(self, "_wire", None) is not None:
            self.close()

    # blocking: @asking
    async def __anext__(self) -> Item:
        """The next item; waits for it."""
        items = self._items
        # blocking: place, had = self._following.place, items.copy()
        until = None if self._idle is None else clock() + self._idle
        try:
            if items:
                return items.pop()
            while not self._is_closed:
                line = None
                own = self._wire
                try:
                    if own is None:
                        own = await self._begin(until)
                    else:
                        line = own.next()
                    if own is not None and line is None:
                        line = await self._next(own, until)
                except Lost as lost:
                    if self._lost(lost):
                        return Gone(lost.reason)
                    continue
                if line is not None:
                    if self._following.take(line, items):
                        self._hang_up()
                        self._retry_at = clock() + self._backoff.next()
                        continue
                    if items:
                        return items.pop()
                if until is not None and clock() >= until:
                    return Idle()
        except (ProtocolError, Refused, Unreachable, Disconnected):
            self.close()
            raise
        # blocking: except BaseException:
        # blocking:     # A signal's, or a guard's: what has been read and not been returned is read once more.
        # blocking:     items[:] = had
        # blocking:     self._following.place = place
        # blocking:     self._hang_up()
        # blocking:     raise
        raise StopAsyncIteration

    async def _begin(self, until: Optional[float]) -> Optional[Wire]:
        """Connects, at its time; None if that is not yet, or fails."""
        machine, following = self._machine, self._following
        pause = self._retry_at - clock()
        if pause > 0:
            await machine._sleep(pause if until is None else min(pause, max(0.0, until - clock())))
            return None
        try:
            new = await machine._dial(Wire, False)
        except Unreachable:
            if not following.is_gone:
                raise
            self._retry_at = clock() + self._backoff.next()
            return None
        except Error:
            if self._is_closed:
                return None
            raise
        try:
            new.send(
                wire.request(
                    "watch",
                    only=self._only,
                    since=following.cursor,
                    mode=self._mode,
                    beatMs=int(wire.BEAT_SECONDS * 1000),
                )
                + b"}\n"
            )
        except BaseException:
            new.close()
            raise
        if self._is_closed:
            new.close()
            return None
        # blocking: new.attendance = machine._attendance
        self._wire, self._since = new, clock()
        self._heard = self._since
        return new

    async def _next(self, own: Wire, until: Optional[float]) -> Optional[dict[str, Any]]:
        """The next line; None if the caller wants to know that there is none yet."""
        # Over several waits: `idle` may be shorter than the silence that counts.
        silent_at = self._heard + wire.SILENCE_SECONDS
        line = await own.read(max(0.0, (silent_at if until is None else min(silent_at, until)) - clock()))
        if line is not None:
            self._heard = clock()
        elif clock() >= silent_at and not self._is_closed:
            raise Lost(f"the daemon has said nothing for {wire.SILENCE_SECONDS} s", is_silent=True)
        return line

    def _lost(self, lost: Lost) -> bool:
        """The connection has ended; whether that is news."""
        if self._wire is not None:
            self._hang_up()
            self._backoff.lasted(clock() - self._since)
        if self._is_closed:
            return False
        following = self._following
        if lost.is_elsewhere:
            # The daemon is there: it continues after its cursor, where it is now.
            self._backoff, self._retry_at = Backoff(), 0.0
            return False
        if not following.is_gone and not following.has_begun and following.cursor is None:
            kind = NoAnswer if lost.is_silent else Disconnected
            raise kind(f"{lost.reason}, before the state was known") from None
        self._retry_at = clock() + self._backoff.next(lost.retry)
        is_news = not following.is_gone
        following.gone()
        return is_news


class _Standing:
    """A hold or a guard: there as long as its connection is, and taken again when that is lost."""

    _op = ""

    def __init__(self, machine: Machine, head: bytes) -> None:
        self._machine, self._head = machine, head
        self.number: Optional[int] = None
        """Its number, for `release`; None while it is not there."""
        self._lost = 0
        self.error: Optional[Error] = None
        """Why it could not be taken again the last time; None while it is there."""
        self._wire: Optional[Wire] = None
        self._retry_at, self._since, self._backoff = 0.0, 0.0, Backoff()
        # Before it is entered, and from the begin of its end.
        self._is_over = True
        self._is_attended = False
        self._generation = Forks.generation
        self._task: Optional[asyncio.Task[None]] = None  # aio

    @property
    def lost(self) -> int:
        """How often it was lost: 0 if it has been there all the time. After its end, too."""
        # blocking: self._look()
        return self._lost

    # blocking: def _look(self) -> None:
    # blocking:     """A guard is asked, and so looked at, within `serve`, `wait` and `watch` alone."""

    @property
    def _is_here(self) -> bool:
        """Whether it is this process's, and not of the one that this is a fork of."""
        return self._generation == Forks.generation

    async def _take(self) -> None:
        """Asks for it on a connection of its own."""
        machine = self._machine
        new = await machine._dial(Wire, True)
        try:
            new.send(self._head + b"}\n")
            line = await new.reply(machine.timeout)
            self.number = wire.count(wire.accepted(line), self._op)
        except Lost as lost:
            new.close()
            kind = NoAnswer if lost.is_silent else Disconnected
            raise kind(f"{lost.reason}, before {self._op} was answered") from None
        except BaseException:
            new.close()
            raise
        self._wire, self._since, self.error = new, clock(), None

    async def _attend(self, timeout: float) -> None:
        """Takes it again if it was lost and the time has come, else handles one line; waits for that at most so long."""
        if self._is_over or not self._is_here:
            return
        self._is_attended = True
        own = self._wire
        try:
            if own is None:
                if clock() >= self._retry_at:
                    await self._retake()
                return
            try:
                line = await own.read(timeout)
                if line is not None and line.get("type") == "ask":
                    await self._asked(own, line)
            except (Lost, ProtocolError) as error:
                self._missed(own, getattr(error, "retry", 0.0))
                if self._wire is None and not self._is_over and self._retry_at <= clock():
                    await self._retake()
        # blocking: except Raised:
        # blocking:     raise
        # blocking: except BaseException:
        # blocking:     # A signal's: a question that has been read may be lost, and a guard that is gone is not waited for.
        # blocking:     if own is not None: self._missed(own, 0.0)
        # blocking:     raise
        finally:
            self._is_attended = False

    def _missed(self, own: Wire, retry: float) -> None:
        """That connection has ended."""
        own.close()
        if self._wire is not own:
            return
        self._wire, self.number = None, None
        self._lost += 1
        self._backoff.lasted(clock() - self._since)
        self._retry_at = clock() + self._backoff.next(retry)

    async def _retake(self) -> None:
        try:
            await self._take()
        except Error as error:
            self.error = error
            self._retry_at = clock() + self._backoff.next()

    async def _asked(self, own: Wire, line: dict[str, Any]) -> None:
        raise ProtocolError(f"the daemon asked a hold a question: {line!r:.200}")

    async def _begin(self) -> None:
        if not self._is_over or self in self._machine._standing:
            raise ValueError(f"this {self._op} has been entered already; make another one")
        self._generation = Forks.generation
        await self._take()
        self._is_over = False
        self._machine._standing.append(self)
        self._task = attended(self)  # aio

    async def close(self) -> None:
        """Ends it, and waits until the daemon has noticed. Never raises; may be called again.

        Whatever interrupts it, the connection ends, and so does what it was for.
        """
        self._is_over = True
        try:
            task, self._task = self._task, None  # aio
            if task is not None and is_here(task):  # aio
                await ended(task)  # aio
            own = self._wire
            if own is not None and own.is_here:
                await self._end(own)
        except (Lost, ProtocolError):
            # It has ended by itself.
            self._lost += 1
        finally:
            self._hang_up()
            if self in self._machine._standing:
                self._machine._standing.remove(self)

    async def _end(self, own: Wire) -> None:
        head = wire.request("release", hold=self.number)
        own.send(head + b',"id":"end"}\n')
        until = clock() + self._machine.timeout
        while clock() < until:
            line = await own.read(until - clock())
            if line is not None and line.get("type") == "reply" and line.get("id") == "end":
                return

    def _hang_up(self) -> None:
        """Ends it at once."""
        self._is_over = True
        own, self._wire, self.number = self._wire, None, None
        if own is not None:
            own.close()

    def __del__(self) -> None:  # aio
        self._hang_up()  # aio


class Hold(_Standing):
    """What `hold` returns, for `async with`. `lost` says how often it was lost, `held` whether it is there now."""

    _op = "hold"

    def __init__(self, machine: Machine, head: bytes, when_not: Optional[list[Any]], timeout: Optional[float]) -> None:
        super().__init__(machine, head)
        self._when_not, self._timeout = when_not, timeout

    @property
    def held(self) -> bool:
        """Whether it is in force, as far as is known; in a child of fork(2) the parent's is not."""
        # blocking: self._look()
        return self._wire is not None and self._is_here

    # blocking: def _look(self) -> None:
    # blocking:     if not self._is_attended and self in self._machine._standing: self._attend(0.0)

    async def __aenter__(self) -> Hold:
        await self._begin()
        try:
            if self._when_not is not None:
                absent = [wire.negated(pattern) for pattern in self._when_not]
                await self._machine.wait(absent, timeout=self._timeout)
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.close()


class Guard(_Standing):
    """What `guard` returns, for `async with`. `lost` says how often it was lost."""

    _op = "guard"

    def __init__(self, machine: Machine, head: bytes, ask: Ask, is_required: bool) -> None:
        super().__init__(machine, head)
        self._ask, self._is_required = ask, is_required
        # What `ask` has raised and nobody has been told.
        self._failure: Optional[asyncio.Future[BaseException]] = None  # aio

    async def __aenter__(self) -> Guard:
        self._failure = asyncio.get_running_loop().create_future()  # aio
        await self._begin()
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        traceback: Optional[TracebackType],
    ) -> None:
        task = self._task  # aio
        has_ended = task is not None and task.done()  # aio
        await self.close()
        if error is None:  # aio
            self._raise_failure(task if has_ended else None)  # aio

    # blocking: @asking
    async def serve(self, timeout: Optional[float] = None) -> None:
        """Answers questions for `timeout` seconds, for ever without it; raises what `ask` raises. Lives over restarts.

        In asyncio a task answers them all the while, and this waits for what that raises; if something else ends that
        task, the guard is gone, and this raises Error. Else those of all guards of the machine are answered here.
        """
        span = wire.seconds("timeout", timeout)
        task, failure = self._task, self._failure  # aio
        if task is None or failure is None:  # aio
            raise ValueError("this guard is not registered; call serve within `async with`")  # aio
        if not is_here(task):  # aio
            raise ValueError("this guard is another event loop's; call serve where it was entered")  # aio
        ends: set[asyncio.Future[Any]] = {failure, task}  # aio
        await asyncio.wait(ends, timeout=span, return_when=asyncio.FIRST_COMPLETED)  # aio
        self._raise_failure(task if task.done() else None)  # aio
        # blocking: if self not in self._machine._standing:
        # blocking:     raise ValueError("this guard is not registered; call serve within `with`")
        # blocking: if not self._is_here:
        # blocking:     raise ValueError("this guard is the parent process's; enter one here")
        # blocking: self._machine._attendance.wait(span)

    def _raise_failure(self, task: Optional[asyncio.Task[None]]) -> None:  # aio
        """Raises what `ask` has raised, and what has ended the task."""  # aio
        if self._failure is not None and self._failure.done():  # aio
            failure = self._failure.result()  # aio
            self._failure = self._failure.get_loop().create_future()  # aio
            raise failure  # aio
        if task is not None:  # aio
            cause = None if task.cancelled() else task.exception()  # aio
            raise Error(f"this guard is gone: its task was {'cancelled' if cause is None else 'ended'}") from cause  # aio

    async def _asked(self, own: Wire, line: dict[str, Any]) -> None:
        number, question = wire.count(line, "ask"), wire.question(line)
        allow, why, failure = False, None, None
        try:
            answer = called(self._ask, question)  # aio
            # blocking: answer = self._ask(question)
            if not isinstance(answer, (bool, str)) and hasattr(answer, "__await__"):  # aio
                answer = await apart(answer)  # aio
            if not isinstance(answer, (bool, str)):
                raise TypeError(f"ask must return True, or a string that says why not; it returned {wire.shown(answer)}")
            allow, why = answer is True, answer if isinstance(answer, str) else None
        except BaseException as error:
            failure, why = error, type(error).__name__
        vote = wire.request("vote", ask=number, allow=allow, why=None if why is None else wire.cut(why))
        try:
            own.send(vote + b"}\n")
        finally:
            if failure is not None:
                # These are of the program and of the task, and not of what was asked.
                if isinstance(failure, (KeyboardInterrupt, SystemExit, asyncio.CancelledError, GeneratorExit)):  # aio
                    raise failure  # aio
                if self._failure is not None and not self._failure.done():  # aio
                    self._failure.set_result(failure)  # aio
                # blocking: raise Raised(failure)

    async def _end(self, own: Wire) -> None:
        if not self._is_required:
            await super()._end(own)
            return
        # Released, it would be required no longer.
        await own.finish(self._machine.timeout)


def _hold(before: Patterns, why: Optional[str], mode: str, max: Optional[float], **keys: Any) -> bytes:
    """The request for a hold."""
    if mode not in ("block", "delay"):
        raise ValueError(f'mode takes "block" or "delay", not {wire.shown(mode)}')
    if max is not None and mode != "delay":
        raise ValueError('max is how long a set waits; it needs mode="delay"')
    return wire.request(
        "hold",
        before=_needed(wire.patterns("before", before)),
        mode=mode if mode == "delay" else None,
        maxMs=wire.milliseconds("max", max, 60),
        why=wire.text("why", why, wire.WHY_BYTES),
        **keys,
    )


def _needed(patterns: Optional[list[Any]]) -> list[Any]:
    if patterns is None:
        raise TypeError("before must be a pattern or a list of them, not None")
    return patterns


def _content(reply: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in reply.items() if key not in ("type", "id", "ok")}
