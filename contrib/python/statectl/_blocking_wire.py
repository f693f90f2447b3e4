"""Sockets of the blocking face: one system call to send, one to receive; poll(2) only where several are awaited."""

from __future__ import annotations

import errno
import select
import socket
import struct
import time
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Optional, Protocol, TypeVar, cast

from ._errors import ProtocolError
from ._pause import Forks
from ._wire import Lines, Lost, Past, checked, end, parsed

CHUNK = 1 << 16
_NO_SIGNAL = socket.MSG_NOSIGNAL
clock = time.monotonic
# poll(2) takes milliseconds as an int; whoever waits longer asks again.
LONGEST_POLL = 86_400.0
_F = TypeVar("_F", bound=Callable[..., Any])


class Raised(BaseException):
    """What a guard's `ask` raised, on its way out of the call that asked it: nobody in between is meant by it."""

    def __init__(self, failure: BaseException) -> None:
        super().__init__(failure)
        self.failure = failure


def asking(call: _F) -> _F:
    """A call within which guards are asked, and which raises what they raise."""

    @wraps(call)
    def outer(*words: Any, **keys: Any) -> Any:
        try:
            return call(*words, **keys)
        except Raised as raised:
            failure = raised.failure
        raise failure

    return cast(_F, outer)


class Attended(Protocol):
    """A hold or a guard, which something may happen to while others are awaited."""

    _is_attended: bool

    @property
    def _is_here(self) -> bool: ...

    @property
    def _wire(self) -> Optional[Wire]: ...

    @property
    def _retry_at(self) -> float: ...

    def _attend(self, timeout: float) -> None: ...


class Attendance:
    """Waits for a socket, and meanwhile has the machine's holds and guards do what they have to."""

    def __init__(self, standing: Sequence[Attended]) -> None:
        self.standing = standing

    def wait(self, timeout: Optional[float]) -> None:
        """Until the time is up."""
        until = None if timeout is None else clock() + timeout
        while True:
            left = None if until is None else until - clock()
            self.turn(None, left)
            if left is not None and left <= 0:
                return

    def turn(self, wire: Optional[Wire], timeout: Optional[float]) -> bool:
        """Waits until something can be done, and does it, or until the time is up; whether the wire can be read.

        What is done may have read the wire, or closed it: whoever waits for a line looks again.
        """
        poll = select.poll()
        if wire is not None:
            if wire.fileno() < 0:
                raise Lost("the connection was closed")
            poll.register(wire.fileno(), select.POLLIN)
        by_fd: dict[int, Attended] = {}
        ready: list[Attended] = []
        left = timeout
        for one in self.standing:
            if one._is_attended or not one._is_here:
                continue
            own = one._wire
            if own is None:
                retry = one._retry_at - clock()
                if retry <= 0:
                    ready.append(one)
                left = retry if left is None else min(left, retry)
            elif own.has_line or own.fileno() < 0:
                ready.append(one)
                left = 0.0
            else:
                poll.register(own.fileno(), select.POLLIN)
                by_fd[own.fileno()] = one
        events = poll.poll(None if left is None else min(max(0.0, left), LONGEST_POLL) * 1000)
        ready += [by_fd[fd] for fd, _ in events if fd in by_fd]
        for one in ready:
            one._attend(0.0)
        return not ready and bool(events)


class Wire:
    """One connection whose lines are read one after the other."""

    door = "control"

    def __init__(self, sock: socket.socket, timeout: float, limit: int) -> None:
        self._sock = sock
        self._timeout = timeout
        self._lines = Lines(limit)
        self._poll = select.poll()
        self._poll.register(sock.fileno(), select.POLLIN)
        # Set for what is awaited for long: the machine's holds and guards are attended to meanwhile.
        self.attendance: Optional[Attendance] = None
        self._is_parents = False
        Forks.note(self)

    @classmethod
    def connect(cls, path: str, timeout: float, limit: int) -> Wire:
        """Connects; raises OSError."""
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # Whatever `socket.setdefaulttimeout` says.
            sock.setblocking(True)
            # The kernel's own time limits: no further call is needed to keep them. A unix socket that has no room for
            # another connection has connect(2) wait as long as send(2).
            whole, part = divmod(max(timeout, 0.001), 1)
            limits = struct.pack("@ll", int(whole), int(part * 1e6))
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, limits)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, limits)
            try:
                sock.connect(path)
            except BlockingIOError:
                raise TimeoutError(errno.ETIMEDOUT, f"it accepted no connection within {timeout:g} s") from None
            return cls(sock, timeout, limit)
        except BaseException:
            sock.close()
            raise

    def fileno(self) -> int:
        return self._sock.fileno()

    @property
    def is_here(self) -> bool:
        """Whether it may be used where this is asked: it is not a parent process's."""
        return not self._is_parents

    def _is_readable(self, timeout: float) -> bool:
        return bool(self._poll.poll(min(max(0.0, timeout), LONGEST_POLL) * 1000))

    def _comes(self, timeout: float) -> bool:
        """Waits until the time is up, or something has come or been attended to; whether there is something to be read."""
        if self._sock.fileno() < 0:
            raise Lost("the connection was closed", is_elsewhere=self._is_parents)
        return self._is_readable(timeout) if self.attendance is None else self.attendance.turn(self, timeout)

    @property
    def has_line(self) -> bool:
        return bool(self._lines)

    def send(self, data: bytes) -> None:
        """Sends all of it; raises Lost."""
        try:
            self._sock.sendall(data, _NO_SIGNAL)
        except BlockingIOError:
            self.close()
            raise Lost(f"the daemon has not read a request within the timeout of {self._timeout:g} s; is it stopped?", is_silent=True) from None
        except OSError as error:
            if error.errno is None:
                # A signal handler's, as are those below.
                raise
            reason = f"the connection is closed: {error.strerror}"
            try:
                # There may be a `bye` that says why.
                self._receive()
                while self.next() is not None:
                    pass
            except Lost as lost:
                reason = lost.reason
            finally:
                self.close()
            # What has no end is not carried out.
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

    def read(self, timeout: float) -> Optional[dict[str, Any]]:
        """The next line; None if there is none in that time. Raises Lost at the end of the connection."""
        until = clock() + timeout
        while True:
            line = self.next()
            if line is not None:
                return line
            if self._comes(max(0.0, until - clock())):
                self._receive()
            elif clock() >= until:
                return None

    def reply(self, timeout: float) -> dict[str, Any]:
        """The next answer; what else comes is passed over. Raises Lost if there is none in that time."""
        until = clock() + timeout
        while clock() < until:
            line = self.read(until - clock())
            if line is not None and line.get("type") == "reply":
                return line
        raise Lost(f"no answer within {timeout:g} s", is_silent=True)

    def _receive(self) -> None:
        try:
            received = self._sock.recv(CHUNK, socket.MSG_DONTWAIT)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno is None:
                raise
            raise Lost(f"the connection has ended: {error.strerror}") from None
        if not received:
            raise Lost("the connection has ended")
        self._lines.add(received)

    def finish(self, timeout: float) -> None:
        """Says that there are no more requests, and waits until the daemon has noticed."""
        try:
            self._sock.shutdown(socket.SHUT_WR)
            until = clock() + timeout
            while clock() < until and self._is_readable(until - clock()) and self._sock.recv(CHUNK):
                pass
        except OSError:
            pass
        self.close()

    def close(self) -> None:
        self._sock.close()

    def forget(self) -> None:
        """In a child of fork(2)."""
        self._is_parents = True
        self._sock.close()

    def __del__(self) -> None:
        # An interrupted connect leaves none.
        if hasattr(self, "_sock"):
            self._sock.close()


class Requests(Wire):
    """The connection that requests share: one after the other, and the answers to waits by their ids."""

    def __init__(self, sock: socket.socket, timeout: float, limit: int) -> None:
        super().__init__(sock, timeout, limit)
        self._ids = 0
        self._awaited: dict[int, Optional[dict[str, Any]]] = {}
        self._is_asking = False
        # What came last, and the line that it was: who asks again and again is mostly told the same.
        self._last, self._new = b"none", b"none"
        self._last_line: dict[str, Any] = {}

    def ask(
        self, head: bytes, collect: Optional[Past] = None, is_again: bool = False
    ) -> dict[str, Any]:
        """The reply to a request; changes before it go to `collect`. Raises Lost, and then the wire is closed.

        With `is_again` it is the same object as the last time if it is the same line, and `remember` was called.
        """
        if self._is_asking:
            raise RuntimeError("this machine is already in use; connect once in each thread")
        self._is_asking = True
        try:
            # What came unasked is a `bye`, an end, or the answer to a wait.
            is_readable = self._poll.poll(0)
            if is_readable or self._lines:
                try:
                    if is_readable:
                        self._receive()
                    self._sort()
                except Lost as lost:
                    lost.was_sent = False
                    raise
            sock = self._sock
            self.send(head + b"}\n")
            # The kernel keeps the time until something comes; from then on, it is kept here.
            until: Optional[float] = None
            while True:
                if until is not None and not self._is_readable(until - clock()):
                    raise BlockingIOError
                received = sock.recv(CHUNK)
                if is_again and received == self._last:
                    return self._last_line
                if not received:
                    raise Lost("the connection has ended")
                self._lines.add(received)
                has_come = False
                while True:
                    line = self.next()
                    if line is None:
                        break
                    if "id" in line:
                        self._keep(line)
                    elif line.get("type") == "reply":
                        if is_again and received.startswith(b"{") and received.find(b"\n") == len(received) - 1:
                            self._new, self._last_line = received, line
                        return line
                    elif collect is not None:
                        has_come = collect.take(line) or has_come
                if until is None or has_come:
                    until = clock() + self._timeout
                elif clock() >= until:
                    raise BlockingIOError
        except BlockingIOError:
            self.close()
            raise Lost(f"no answer within {self._timeout:g} s", is_silent=True) from None
        except OSError as error:
            self.close()
            if error.errno is None:
                raise
            raise Lost(f"the connection has ended: {error.strerror}") from None
        except BaseException:
            self.close()
            raise
        finally:
            self._is_asking = False

    def remember(self) -> None:
        """What was answered last may be answered again as the same object."""
        self._last = self._new

    def begin(self, head: bytes) -> int:
        """Sends a request that is answered much later; returns its id."""
        self._ids += 1
        line = checked(b'%b,"id":%d}\n' % (head, self._ids))
        self._awaited[self._ids] = None
        self.send(line)
        return self._ids

    def reply_to(self, id: int, timeout: float) -> Optional[dict[str, Any]]:
        """The answer to what was begun; None if there is none in that time. Raises Lost."""
        until = clock() + timeout
        while True:
            self._sort()
            reply = self._awaited[id]
            if reply is not None:
                del self._awaited[id]
                return reply
            left = until - clock()
            if left <= 0:
                return None
            if self._comes(left):
                self._receive()

    def abandon(self, id: int) -> None:
        """Nobody waits for that answer; a connection of its own is what the next request gets."""
        self.close()

    def _sort(self) -> None:
        while True:
            line = self.next()
            if line is None:
                return
            self._keep(line)

    def _keep(self, line: dict[str, Any]) -> None:
        id = line.get("id")
        if line.get("type") == "reply":
            if type(id) is not int or id not in self._awaited:
                raise ProtocolError(f"the daemon answered what was not asked: {line!r:.200}")
            self._awaited[id] = line
