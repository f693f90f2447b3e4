"""Connections of the asyncio face: a protocol on the loop's own transport, whatever loop that is."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import socket
import threading
import time
import typing
import weakref
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, Optional, TypeVar, cast

from ._errors import ProtocolError
from ._pause import Forks
from ._wire import Lines, Lost, Past, checked, end, parsed

CHUNK = 1 << 16
clock = time.monotonic
_T = TypeVar("_T")


def called(ask: Callable[[_T], Any], question: _T) -> Any:
    """What a guard's `ask` returns. A cancellation of its own would end the task that calls it."""
    try:
        return ask(question)
    except (asyncio.CancelledError, GeneratorExit) as error:
        raise RuntimeError("ask was cancelled before it had answered") from error


async def apart(awaited: Awaitable[_T]) -> _T:
    """What it gives, in a task of its own: it may be cancelled without whoever waits for it."""
    task = asyncio.ensure_future(awaited)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    if task.cancelled() or isinstance(task.exception(), GeneratorExit):
        # Raised as it is, it would end the task that waits here.
        raise RuntimeError("ask was cancelled before it had answered")
    return task.result()


class Attended(typing.Protocol):
    """A hold or a guard, which something may happen to at any time."""

    _is_over: bool

    @property
    def _wire(self) -> Optional[Wire]: ...

    @property
    def _retry_at(self) -> float: ...

    async def _attend(self, timeout: float) -> None: ...

    def _hang_up(self) -> None: ...


def attended(one: Attended) -> asyncio.Task[None]:
    """Has a hold or a guard do what it has to, as long as anybody has it. When the task ends, its connection does."""
    weak = weakref.ref(one)

    def over(_: object) -> None:
        one = weak()
        if one is not None and not one._is_over:
            one._hang_up()

    task = asyncio.ensure_future(_attend(weak))
    task.add_done_callback(over)
    return task


async def _attend(weak: weakref.ref[Attended]) -> None:
    while True:
        one = weak()
        if one is None or one._is_over:
            return
        own, retry_at = one._wire, one._retry_at
        # Whoever waits here keeps it from nobody.
        del one
        if own is None:
            await asyncio.sleep(max(0.0, retry_at - clock()))
        else:
            with contextlib.suppress(Lost):
                await own.readable()
        one = weak()
        if one is not None:
            await one._attend(0.0)
        del one


def is_here(task: asyncio.Task[Any]) -> bool:
    """Whether it is of the loop that runs."""
    return task.get_loop() is _running()


async def ended(task: asyncio.Task[Any]) -> None:
    """Ends a task, and waits until it has."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        # Whoever started it is told in another way.
        task.exception()


def _running() -> Optional[asyncio.AbstractEventLoop]:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


class _Line:
    """What is to be sent. It has been if the socket has taken all of it; until it is begun, it may be taken back."""

    __slots__ = ("data", "is_begun", "is_sent")

    def __init__(self, data: bytes) -> None:
        self.data: Optional[bytes] = data
        self.is_begun = self.is_sent = False

    def begin(self) -> None:
        """The transport has it now."""
        self.is_begun = True


class _Room(threading.local):
    """What is received into; a read and what is made of it are one step of the loop. A protocol without a buffer would
    have the transport allocate 256 KiB for each read, which takes longer than all else that a call does here."""

    def __init__(self) -> None:
        self.buffer = memoryview(bytearray(CHUNK))


_room = _Room()


class Wire(asyncio.BufferedProtocol):
    """One connection whose lines are read one after the other. It belongs to the loop that runs where it is made.

    The transport is given the next line when it has none any longer, so that lines are whole and in order, and what has
    not been begun may be taken back.
    """

    door = "control"

    def __init__(self, sock: socket.socket, timeout: float, limit: int) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._timeout = timeout
        self._lines = Lines(limit)
        self._lost: Optional[Exception] = None
        self._waiter: Optional[asyncio.Future[None]] = None
        self._is_reading = self._is_writable = True
        self._is_parents = False
        # In order; the transport has the first one, if any.
        self._begun: Optional[_Line] = None
        self._unsent: deque[_Line] = deque()
        Forks.note(self)

    @classmethod
    async def connect(cls, path: str, timeout: float, limit: int) -> Wire:
        """Connects; raises OSError."""
        sock = await _connected(path, timeout)
        try:
            _, made = await asyncio.get_running_loop().create_unix_connection(
                lambda: cls(sock, timeout, limit), sock=sock
            )
            return made
        except BaseException:
            sock.close()
            raise

    @property
    def is_here(self) -> bool:
        """Whether it may be used where this is asked: it is of the loop that runs, and not a parent process's."""
        return self._loop is _running() and not self._is_parents

    # The transport's calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        # Whatever the socket does not take at once pauses.
        self._transport.set_write_buffer_limits(0)

    def get_buffer(self, sizehint: int) -> memoryview:
        return _room.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self._take(bytes(_room.buffer[:nbytes]))

    def _take(self, received: bytes) -> None:
        try:
            self._lines.add(received)
            self._received()
        except (Lost, ProtocolError) as error:
            self._end(error)

    def eof_received(self) -> None:
        self._end(Lost("the connection has ended"))

    def connection_lost(self, error: Optional[Exception]) -> None:
        self._end(Lost("the connection has ended" if error is None else f"the connection has ended: {error}"))

    def pause_writing(self) -> None:
        self._is_writable = False

    def resume_writing(self) -> None:
        self._is_writable = True
        if self._begun is not None:
            self._begun.is_sent, self._begun = True, None
        while self._unsent and self._is_writable and self._lost is None:
            self._write(self._unsent.popleft())

    # Writing

    def send(self, data: bytes) -> None:
        """Sends all of it when there is room; raises Lost."""
        self._put(_Line(data))

    def _put(self, line: _Line) -> None:
        if isinstance(self._lost, ProtocolError):
            raise self._lost
        if self._lost is not None:
            raise self._lost_by(line)
        if self._is_writable:
            self._write(line)
            if self._lost is not None:
                raise self._lost_by(line)
        else:
            self._unsent.append(line)

    def _write(self, line: _Line) -> None:
        if line.data is None:
            return
        self._begun = line
        self._transport.write(line.data)
        line.begin()
        if self._transport.is_closing():
            # There may be a `bye` that says why.
            with contextlib.suppress(OSError):
                while self._lost is None and (received := self._sock.recv(CHUNK)):
                    self._take(received)
            self._end(Lost("the connection is closed"))
        elif self._is_writable:
            line.is_sent, self._begun = True, None

    def _lost_by(self, line: _Line) -> Exception:
        """Why the connection has ended, for whoever sent that: what has no end is not carried out."""
        lost = self._lost
        if not isinstance(lost, Lost) or line.is_sent:
            return lost or Lost("the connection was closed")
        return Lost(lost.reason, was_sent=False, is_silent=lost.is_silent, retry=lost.retry)

    # Reading

    def next(self) -> Optional[dict[str, Any]]:
        """A line that is there already; raises Lost for a `bye`."""
        raw = self._lines.next()
        if raw is None:
            return None
        line = parsed(raw)
        if line.get("type") == "bye":
            raise end(line)
        return line

    async def read(self, timeout: float) -> Optional[dict[str, Any]]:
        """The next line; None if there is none in that time. Raises Lost at the end of the connection."""
        until = clock() + timeout
        while True:
            line = self.next()
            if line is not None:
                return line
            left = until - clock()
            if left <= 0 and self._lost is None:
                return None
            await self.readable(left)

    async def readable(self, timeout: Optional[float] = None) -> None:
        """Waits until there is a line, or the time is up. Raises Lost at the end of the connection."""
        if self._lines:
            return
        if self._lost is not None:
            raise self._lost
        if self._loop is not _running():
            raise Lost("the connection is another event loop's", was_sent=False, is_elsewhere=True)
        if not self._is_reading:
            self._is_reading = True
            self._transport.resume_reading()
        waiter = self._waiter = self._loop.create_future()
        handle = None if timeout is None else self._loop.call_later(timeout, _done, waiter)
        try:
            await waiter
        finally:
            self._waiter = None
            if handle is not None:
                handle.cancel()

    async def reply(self, timeout: float) -> dict[str, Any]:
        """The next answer; what else comes is passed over. Raises Lost if there is none in that time."""
        until = clock() + timeout
        while clock() < until:
            line = await self.read(until - clock())
            if line is not None and line.get("type") == "reply":
                return line
        raise Lost(f"no answer within {timeout:g} s", is_silent=True)

    def _received(self) -> None:
        if not self._lines:
            return
        if self._waiter is not None:
            _done(self._waiter)
        elif self._is_reading and not self._transport.is_closing():
            # Whoever is slow costs what was received here, and the rest is the socket's.
            self._is_reading = False
            self._transport.pause_reading()

    # The end

    async def finish(self, timeout: float) -> None:
        """Says that there are no more requests, and waits until the daemon has noticed."""
        try:
            self._sock.shutdown(socket.SHUT_WR)
            until = clock() + timeout
            while clock() < until:
                await self.read(until - clock())
        except (OSError, Lost, ProtocolError):
            pass
        self.close()

    def close(self) -> None:
        """Ends the connection; when this returns the daemon sees it. From any thread and loop, and from none."""
        if self._loop is _running():
            self._end(Lost("the connection was closed"))
        elif self._lost is None:
            self._shut()
            try:
                self._loop.call_soon_threadsafe(self._transport.abort)
            except RuntimeError:
                # That loop is closed, and nobody else closes the socket.
                self._sock.close()

    def _end(self, error: Exception) -> None:
        if self._lost is not None:
            return
        self._lost = error
        self._shut()
        self._transport.abort()
        if self._waiter is not None:
            _done(self._waiter)

    def _shut(self) -> None:
        # The transport closes it, in a turn of the loop that may never come.
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)

    def forget(self) -> None:
        """In a child of fork(2): the loop's epoll is the parent's too and stays as it is."""
        self._is_parents = True
        self._lost = self._lost or Lost("the connection is the parent's", was_sent=False, is_elsewhere=True)
        self._sock.close()


async def _connected(path: str, timeout: float) -> socket.socket:
    """A connected socket. asyncio itself takes one for connected whose daemon has no room for it yet."""
    until = clock() + timeout
    while True:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            sock.setblocking(False)
            sock.connect(path)
            return sock
        except BlockingIOError:
            sock.close()
            if clock() > until:
                raise TimeoutError(errno.ETIMEDOUT, f"it accepted no connection within {timeout:g} s") from None
        except BaseException:
            sock.close()
            raise
        # The kernel does not tell when there is room.
        await asyncio.sleep(0.01)


class _Awaited(_Line):
    """A request whose answer is awaited: what comes before it, and until when; for ever if there is no limit."""

    __slots__ = ("id", "future", "collect", "limit", "until")

    def __init__(
        self,
        id: int,
        data: bytes,
        future: asyncio.Future[dict[str, Any]],
        collect: Optional[Past],
        limit: Optional[float],
    ) -> None:
        super().__init__(data)
        self.id, self.future, self.collect, self.limit = id, future, collect, limit
        self.until: Optional[float] = None

    def begin(self) -> None:
        self.is_begun = True
        if self.limit is not None:
            self.until = clock() + self.limit


class Requests(Wire):
    """The connection that requests share, each with an id of its own."""

    def __init__(self, sock: socket.socket, timeout: float, limit: int) -> None:
        super().__init__(sock, timeout, limit)
        self._ids = 0
        self._awaited: dict[int, _Awaited] = {}
        self._timer: Optional[asyncio.TimerHandle] = None
        # How many waits of the machine's it has.
        self.waits = 0
        # Until when the line that was begun has to be read, where it is not at once.
        self._full_until: Optional[float] = None

    async def ask(
        self, head: bytes, collect: Optional[Past] = None, is_again: bool = False
    ) -> dict[str, Any]:
        """The reply to a request; changes before it go to `collect`. Raises Lost, and then the wire is closed."""
        awaited = self._begin(head, collect, self._timeout)
        try:
            return await awaited.future
        except asyncio.CancelledError:
            self._forgo(awaited)
            raise

    def remember(self) -> None:
        """Nothing is remembered here: each line has another id."""

    def begin(self, head: bytes) -> _Awaited:
        """Sends a request that is answered much later."""
        return self._begin(head, None, None)

    def _begin(self, head: bytes, collect: Optional[Past], limit: Optional[float]) -> _Awaited:
        self._ids += 1
        id = self._ids
        data = checked(b'%b,"id":%d}\n' % (head, id))
        awaited = self._awaited[id] = _Awaited(id, data, self._loop.create_future(), collect, limit)
        try:
            self._put(awaited)
        except BaseException:
            self._awaited.pop(id, None)
            raise
        if self._timer is None and limit is not None:
            self._timer = self._loop.call_later(self._timeout, self._check)
        return awaited

    def pause_writing(self) -> None:
        super().pause_writing()
        self._full_until = clock() + self._timeout

    def resume_writing(self) -> None:
        self._full_until = None
        super().resume_writing()

    def _check(self) -> None:
        """Ends the connection if an answer is overdue, or nothing is read."""
        self._timer = None
        times = [awaited.until for awaited in self._awaited.values() if awaited.until is not None]
        full = self._full_until
        if full is not None:
            times.append(full)
        if not times:
            return
        now = clock()
        left = min(times) - now
        if left > 0:
            self._timer = self._loop.call_later(left, self._check)
        elif full is not None and full <= now:
            self._end(Lost(
                f"the daemon has not read a request within the timeout of {self._timeout:g} s; is it stopped?", is_silent=True
            ))
        else:
            self._end(Lost(f"no answer within {self._timeout:g} s", is_silent=True))

    async def reply_to(self, begun: _Awaited, timeout: float) -> Optional[dict[str, Any]]:
        """The answer to what was begun; None if there is none in that time. Raises Lost."""
        await asyncio.wait({begun.future}, timeout=timeout)
        return begun.future.result() if begun.future.done() else None

    def abandon(self, begun: _Awaited) -> None:
        """Nobody waits for that answer any longer."""
        if self._forgo(begun) and self._lost is None:
            with contextlib.suppress(Lost):
                self.send(b'{"op":"unwatch","id":%d}\n' % begun.id)

    def _forgo(self, awaited: _Awaited) -> bool:
        """Takes a request back; whether it has been begun, and is not answered."""
        is_unanswered = self._awaited.pop(awaited.id, None) is not None
        if not awaited.is_begun:
            awaited.data = None
        return is_unanswered and awaited.is_begun

    def _received(self) -> None:
        while True:
            line = self.next()
            if line is None:
                return
            id = line.get("id")
            awaited = self._awaited.get(id) if type(id) is int else None
            if awaited is None:
                # The answer to what was given up, or what events.sock begins with.
                continue
            if line.get("type") == "reply":
                del self._awaited[awaited.id]
                if not awaited.future.done():
                    awaited.future.set_result(line)
            elif awaited.collect is not None and awaited.collect.take(line):
                awaited.until = clock() + self._timeout

    def _end(self, error: Exception) -> None:
        super()._end(error)
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        awaited, self._awaited = self._awaited, {}
        for one in awaited.values():
            if not one.future.done():
                one.future.set_exception(self._lost_by(one))
                # Whoever asked may have been cancelled.
                one.future.exception()


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
