"""Sockets of the asyncio face, read by the loop's own callbacks: no thread, no task, no transport."""

from __future__ import annotations

import asyncio
import errno
import socket
import time
from typing import Any, Optional

from ._errors import ProtocolError
from ._pause import Forks
from ._wire import Lines, Lost, end, parsed

CHUNK = 1 << 16
clock = time.monotonic


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
                    raise TimeoutError(errno.ETIMEDOUT, f"it takes no connection within {timeout:g} s") from None
            except BaseException:
                sock.close()
                raise
            await asyncio.sleep(0.01)

    @property
    def has_line(self) -> bool:
        return bool(self._lines)

    async def send(self, data: bytes) -> None:
        """Sends all of it; raises Lost."""
        if self._lost is not None:
            raise Lost(str(self._lost), was_sent=False)
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
                    raise Lost(f"the daemon takes no request within {self._timeout:g} s", is_silent=True) from None
            except OSError as error:
                self.close()
                # What has no end is not carried out.
                raise Lost(f"the connection is closed: {error.strerror}", was_sent=False) from None

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
            while await self.read(until - clock()) is not None:
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


class Requests(Wire):
    """The connection that requests share, each with an id of its own."""

    def __init__(self, sock: socket.socket, timeout: float, limit: int) -> None:
        super().__init__(sock, timeout, limit)
        self._ids = 0
        self._awaited: dict[int, tuple[asyncio.Future[dict[str, Any]], Optional[list[dict[str, Any]]]]] = {}

    async def ask(self, head: bytes, collect: Optional[list[dict[str, Any]]] = None) -> dict[str, Any]:
        """The reply to a request; lines before it go to `collect`. Raises Lost, and then the wire is closed."""
        id = await self.begin(head, collect)
        before = -1
        try:
            while True:
                reply = await self.reply_to(id, self._timeout)
                if reply is not None:
                    return reply
                if collect is None or len(collect) == before:
                    self.close()
                    raise Lost(f"no answer within {self._timeout:g} s", is_silent=True)
                before = len(collect)
        finally:
            self._awaited.pop(id, None)

    async def begin(self, head: bytes, collect: Optional[list[dict[str, Any]]] = None) -> int:
        """Sends a request that is answered later; returns its id."""
        self._ids += 1
        id = self._ids
        self._awaited[id] = (self._loop.create_future(), collect)
        try:
            await self.send(b'%b,"id":%d}\n' % (head, id))
        except BaseException:
            self._awaited.pop(id, None)
            raise
        return id

    async def reply_to(self, id: int, timeout: float) -> Optional[dict[str, Any]]:
        """The answer to what was begun; None if there is none in that time. Raises Lost."""
        future, _ = self._awaited[id]
        if not await pause(future, timeout):
            return None
        self._awaited.pop(id, None)
        return future.result()

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
            future, collect = awaited
            if line.get("type") != "reply":
                if collect is not None:
                    collect.append(line)
            elif not future.done():
                future.set_result(line)

    def _end(self, error: Exception) -> None:
        super()._end(error)
        awaited, self._awaited = self._awaited, {}
        for future, _ in awaited.values():
            if not future.done():
                future.set_exception(error)
                # Whoever asked may have been cancelled.
                future.exception()


def _done(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)
