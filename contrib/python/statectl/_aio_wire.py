"""Sockets of the asyncio face, read by the loop's own callbacks: no thread, no task, no transport."""

from __future__ import annotations

import asyncio
import errno
import select
import socket
import time
from collections.abc import Awaitable
from typing import Any, Optional, TypeVar, cast

from ._errors import ProtocolError
from ._pause import Forks
from ._wire import Lines, Lost, Past, end, parsed

CHUNK = 1 << 16
clock = time.monotonic
_T = TypeVar("_T")


async def pause(future: asyncio.Future[Any], timeout: Optional[float]) -> bool:
    """Waits until the future is done; whether it is before the time is up."""
    if future.done():
        return True
    if timeout is None:
        await future
        return True
    loop = future.get_loop()
    sleeper: asyncio.Future[None] = loop.create_future()
    def wake(_: object = None) -> None:
        if not sleeper.done():
            sleeper.set_result(None)
    handle = loop.call_later(timeout, wake)
    future.add_done_callback(wake)
    try:
        await sleeper
    finally:
        handle.cancel()
        future.remove_done_callback(wake)
    return future.done()


async def apart(awaited: Awaitable[_T]) -> _T:
    """What it gives, in a task of its own: it may be cancelled without whoever waits for it."""
    task = asyncio.ensure_future(awaited)
    try:
        await asyncio.wait({task})
    except asyncio.CancelledError:
        task.cancel()
        await asyncio.wait({task})
        raise
    if task.cancelled():
        # Raised as it is, it would end the task that waits here.
        raise RuntimeError("ask was cancelled before it had answered")
    return task.result()


class Wire:
    """One connection whose lines are read one after the other."""

    door = "control"

    def __init__(self, sock: socket.socket, timeout: float, limit: int) -> None:
        self._sock = sock
        self._loop = asyncio.get_running_loop()
        self._timeout = timeout
        self._lines = Lines(limit)
        self._lost: Optional[Exception] = None
        self._waiter: Optional[asyncio.Future[None]] = None
        self._is_reading = True
        self._loop.add_reader(sock.fileno(), self._readable)
        Forks.note(self)

    @classmethod
    async def connect(cls, path: str, timeout: float, limit: int) -> Wire:
        """Connects; raises OSError."""
        until = clock() + timeout
        while True:
            sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                sock.setblocking(False)
                sock.connect(path)
                return cls(sock, timeout, limit)
            except BlockingIOError:
                # A unix socket that has no room for another connection; the kernel does not tell when it has.
                sock.close()
                if clock() > until:
                    raise TimeoutError(errno.ETIMEDOUT, f"it accepted no connection within {timeout:g} s") from None
            except BaseException:
                sock.close()
                raise
            await asyncio.sleep(0.01)

    @property
    def has_line(self) -> bool:
        return bool(self._lines)

    async def send(self, data: bytes) -> None:
        """Sends all of it; raises Lost."""
        if isinstance(self._lost, ProtocolError):
            raise self._lost
        if self._lost is not None:
            raise Lost(str(self._lost), was_sent=False, retry=getattr(self._lost, "retry", 0.0))
        view = memoryview(data)
        until = clock() + self._timeout
        while view:
            try:
                view = view[self._sock.send(view, socket.MSG_NOSIGNAL):]
            except BlockingIOError:
                writable: asyncio.Future[None] = self._loop.create_future()
                self._loop.add_writer(self._sock.fileno(), _done, writable)
                try:
                    is_writable = await pause(writable, until - clock())
                finally:
                    if self._sock.fileno() >= 0:
                        self._loop.remove_writer(self._sock.fileno())
                if not is_writable:
                    self.close()
                    raise Lost(f"the daemon has not read a request within the timeout of {self._timeout:g} s; is it stopped?", is_silent=True) from None
            except OSError as error:
                # There may be a `bye` that says why.
                self._readable()
                said = cast(Optional[Exception], self._lost)
                self.close()
                # What has no end is not carried out.
                reason = said.reason if isinstance(said, Lost) else f"the connection is closed: {error.strerror}"
                raise Lost(reason, was_sent=False) from None

    def next(self) -> Optional[dict[str, Any]]:
        """A line that is there already; raises Lost for a `bye`."""
        raw = self._lines.next()
        if raw is None:
            return None
        line = parsed(raw)
        if line.get("type") == "bye":
            raise end(line)
        return line

    async def read(self, timeout: Optional[float]) -> Optional[dict[str, Any]]:
        """The next line; None if there is none in that time. Raises Lost at the end of the connection."""
        until = None if timeout is None else clock() + timeout
        while True:
            line = self.next()
            if line is not None:
                return line
            if self._lost is not None:
                raise self._lost
            if not self._is_reading:
                self._is_reading = True
                self._loop.add_reader(self._sock.fileno(), self._readable)
            waiter = self._waiter = self._loop.create_future()
            handle = None if until is None else self._loop.call_later(max(0.0, until - clock()), _done, waiter)
            try:
                await waiter
            finally:
                self._waiter = None
                if handle is not None:
                    handle.cancel()
            if not self._lines and self._lost is None and until is not None and clock() >= until:
                return None

    async def reply(self, timeout: float) -> dict[str, Any]:
        """The next answer; what else comes is passed over. Raises Lost if there is none in that time."""
        until = clock() + timeout
        while clock() < until:
            line = await self.read(until - clock())
            if line is not None and line.get("type") == "reply":
                return line
        raise Lost(f"no answer within {timeout:g} s", is_silent=True)

    def _readable(self) -> None:
        if self._lines and self._is_full():
            # Whoever is slow costs one chunk here, and the rest is the socket's.
            self._is_reading = False
            self._loop.remove_reader(self._sock.fileno())
            return
        try:
            received = self._sock.recv(CHUNK)
            if received:
                self._lines.add(received)
                self._received()
            else:
                self._end(Lost("the connection has ended"))
        except BlockingIOError:
            pass
        except OSError as error:
            self._end(Lost(f"the connection has ended: {error.strerror}"))
        except (Lost, ProtocolError) as error:
            self._end(error)

    def _is_full(self) -> bool:
        return True

    def _received(self) -> None:
        if self._waiter is not None and self._lines:
            _done(self._waiter)

    def _end(self, error: Exception) -> None:
        if self._lost is None:
            self._lost = error
        if self._is_reading and self._sock.fileno() >= 0:
            self._is_reading = False
            self._loop.remove_reader(self._sock.fileno())
        if self._waiter is not None:
            _done(self._waiter)

    async def finish(self, timeout: float) -> None:
        """Says that there are no more requests, and waits until the daemon has noticed."""
        try:
            self._sock.shutdown(socket.SHUT_WR)
            until = clock() + timeout
            while clock() < until and await self.read(until - clock()) is not None:
                pass
        except (OSError, Lost, ProtocolError):
            pass
        self.close()

    def close(self) -> None:
        self._end(Lost("the connection was closed"))
        self._sock.close()

    def forget(self) -> None:
        """In a child of fork(2): the loop's epoll is the parent's too and stays as it is."""
        self._is_reading = False
        self._lost = Lost("the connection is the parent's", was_sent=False)
        self._sock.close()

    def __del__(self) -> None:
        if hasattr(self, "_sock") and self._sock.fileno() >= 0:
            if self._is_reading and not self._loop.is_closed():
                self._loop.remove_reader(self._sock.fileno())
            self._sock.close()


class _Awaited:
    """An answer that is awaited, what comes before it, and until when; None for as long as it takes."""

    __slots__ = ("id", "future", "collect", "until")

    def __init__(
        self,
        id: int,
        future: asyncio.Future[dict[str, Any]],
        collect: Optional[Past],
        until: Optional[float],
    ) -> None:
        self.id, self.future, self.collect, self.until = id, future, collect, until


class Requests(Wire):
    """The connection that requests share, each with an id of its own."""

    def __init__(self, sock: socket.socket, timeout: float, limit: int) -> None:
        super().__init__(sock, timeout, limit)
        self._ids = 0
        self._awaited: dict[int, _Awaited] = {}
        self._timer: Optional[asyncio.TimerHandle] = None
        self._at_once = 0
        self._poll = select.poll()
        self._poll.register(sock.fileno(), select.POLLIN)

    async def ask(
        self, head: bytes, collect: Optional[Past] = None, is_again: bool = False
    ) -> dict[str, Any]:
        """The reply to a request; changes before it go to `collect`. Raises Lost, and then the wire is closed."""
        awaited = await self._send(head, collect, clock() + self._timeout)
        future = awaited.future
        id = awaited.id
        try:
            if not self._came_at_once():
                await future
            return future.result()
        except asyncio.CancelledError:
            self._awaited.pop(id, None)
            raise

    def remember(self) -> None:
        """Nothing is remembered here: each line has another id."""

    async def begin(self, head: bytes) -> int:
        """Sends a request that is answered much later; returns its id."""
        return (await self._send(head, None, None)).id

    async def _send(self, head: bytes, collect: Optional[Past], until: Optional[float]) -> _Awaited:
        if not self._awaited and self._lost is None and self._poll.poll(0):
            # What comes unasked is a `bye` or an end.
            self._readable()
        self._ids += 1
        id = self._ids
        awaited = self._awaited[id] = _Awaited(id, self._loop.create_future(), collect, until)
        try:
            await self.send(b'%b,"id":%d}\n' % (head, id))
        except BaseException:
            self._awaited.pop(id, None)
            raise
        if until is not None and self._timer is None:
            self._timer = self._loop.call_later(self._timeout, self._check)
        return awaited

    def _came_at_once(self) -> bool:
        """Waits a moment for the only answer that is awaited, if it is time for that.

        Through the loop an answer takes two of its turns, some 25 µs, and the daemon mostly needs less. No longer than
        that is waited, and not thirty times in a row, so that others have their turns.
        """
        fd = self._sock.fileno()
        if len(self._awaited) != 1 or self._at_once >= 30 or not 0 <= fd < 1024:
            self._at_once = 0
            return False
        if not select.select((fd,), (), (), 25e-6)[0]:
            self._at_once = 30
            return False
        self._at_once += 1
        self._readable()
        return not self._awaited

    def _check(self) -> None:
        """Ends the connection if an answer is overdue."""
        self._timer = None
        times = [awaited.until for awaited in self._awaited.values() if awaited.until is not None]
        if not times:
            return
        left = min(times) - clock()
        if left > 0:
            self._timer = self._loop.call_later(left, self._check)
        else:
            self._end(Lost(f"no answer within {self._timeout:g} s", is_silent=True))
            self._sock.close()

    async def reply_to(self, id: int, timeout: float) -> Optional[dict[str, Any]]:
        """The answer to what was begun; None if there is none in that time. Raises Lost."""
        awaited = self._awaited.get(id)
        if awaited is None:
            raise self._lost or Lost("the connection was closed")
        if not await pause(awaited.future, timeout):
            return None
        return awaited.future.result()

    def abandon(self, id: int) -> None:
        """Nobody waits for that answer any longer."""
        if self._awaited.pop(id, None) is not None and self._lost is None:
            try:
                self._sock.send(b'{"op":"unwatch","id":%d}\n' % id, socket.MSG_NOSIGNAL)
            except OSError:
                self.close()

    def _is_full(self) -> bool:
        return False

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
                del self._awaited[cast(int, id)]
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
                one.future.set_exception(error)
                # Whoever asked may have been cancelled.
                one.future.exception()


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
