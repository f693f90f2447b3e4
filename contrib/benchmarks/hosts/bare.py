"""One transaction after the other on etcd, with as little as can be between: HTTP/2 and protobuf by hand, for one call at a time."""
import socket
import struct

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
END_STREAM, END_HEADERS, ACK = 1, 4, 1


def varint(number):
    octets = b""
    while number > 127:
        octets, number = octets + bytes([number & 127 | 128]), number >> 7
    return octets + bytes([number])


def field(number, value):
    """A field of a message: a number, or octets with their length."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def fields(octets):
    """The fields of a message, by number; of those that repeat, the last."""
    found, place = {}, 0

    def number():
        nonlocal place
        value = shift = 0
        while True:
            octet = octets[place]
            value, shift, place = value | (octet & 127) << shift, shift + 7, place + 1
            if octet < 128:
                return value

    while place < len(octets):
        key = number()
        value = number()
        if key & 7 == 2:
            value, place = octets[place:place + value], place + value
        found[key >> 3] = value
    return found


def literal(name, value):
    """A header as HPACK has it for one that is nowhere indexed."""
    return b"\0" + b"".join(bytes([len(each)]) + each for each in (name, value))


class Engine:
    """A connection to one member."""

    def __init__(self, host, port):
        self.socket = socket.create_connection((host, port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.stream, self.come = 1, b""
        # No window is ever filled: 2 GiB for the connection.
        self.socket.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + self.frame(SETTINGS, 0, 0, b"")
                            + self.frame(WINDOW_UPDATE, 0, 0, struct.pack(">I", (1 << 31) - 1 - 65535)))
        names = ((b":method", b"POST"), (b":scheme", b"http"), (b":path", b"/etcdserverpb.KV/Txn"), (b":authority", host.encode()),
                 (b"content-type", b"application/grpc"), (b"te", b"trailers"))
        self.headers = b"".join(literal(name, value) for name, value in names)

    @staticmethod
    def frame(kind, flags, stream, body):
        return len(body).to_bytes(3, "big") + bytes([kind, flags]) + struct.pack(">I", stream) + body

    def next(self):
        """The next frame."""
        while len(self.come) < 9 or len(self.come) < 9 + int.from_bytes(self.come[:3], "big"):
            more = self.socket.recv(1 << 16)
            if not more:
                raise ConnectionError("etcd has closed the connection")
            self.come += more
        size = int.from_bytes(self.come[:3], "big")
        kind, flags, stream = self.come[3], self.come[4], struct.unpack(">I", self.come[5:9])[0]
        body, self.come = self.come[9:9 + size], self.come[9 + size:]
        return kind, flags, stream, body

    def transact(self, message):
        """The answer to a Txn."""
        call, self.stream = self.stream, self.stream + 2
        self.socket.sendall(self.frame(HEADERS, END_HEADERS, call, self.headers)
                            + self.frame(DATA, END_STREAM, call, b"\0" + struct.pack(">I", len(message)) + message))
        answer = b""
        while True:
            kind, flags, stream, body = self.next()
            if kind == PING and not flags & ACK:
                self.socket.sendall(self.frame(PING, ACK, 0, body))
            elif kind == SETTINGS and not flags & ACK:
                self.socket.sendall(self.frame(SETTINGS, ACK, 0, b""))
            elif kind in (GOAWAY, RST_STREAM):
                raise ConnectionError(f"etcd ends the call: {body!r}")
            elif stream == call and kind == DATA:
                answer += body
            if stream == call and flags & END_STREAM and kind in (DATA, HEADERS):
                return fields(answer[5:])

    def begin(self, key):
        """Puts a key; its revision."""
        return self.revision(self.transact(field(2, field(2, field(1, key) + field(2, b"{}")))))

    def commit(self, head, revision, value, log, block):
        """What a set is to etcd: puts of two keys, if one of them is as it was last; its new revision."""
        compare = field(2, 2) + field(3, head) + field(6, revision)
        puts = b"".join(field(2, field(2, field(1, key) + field(2, put))) for key, put in ((head, value), (log, block)))
        answer = self.transact(field(1, compare) + puts)
        if answer.get(2) != 1:
            raise ValueError("the transaction was refused")
        return self.revision(answer)

    @staticmethod
    def revision(answer):
        return fields(answer[1])[3]
