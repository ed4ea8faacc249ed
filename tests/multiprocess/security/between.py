"""Who sits between ranks: sees what they send each other, and may change it."""

import random
import select
import socket
import struct
import threading
import time

INTRODUCTION, CHALLENGE, PROOF, ANSWER = 72, 64, 32, 24
GREETING = {"up": [INTRODUCTION, PROOF], "down": [CHALLENGE, ANSWER]}
HEAD, TAG = 16, 16


def read_exactly(connection, size):
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            return None
        data += part
    return data


class Between:
    """Passes connections to the ports FIRST + SHIFT ... LAST + SHIFT on to FIRST ... LAST. `change(pair, direction, number, piece)` returns
    the pieces that travel in place of one: of the greeting (numbers -2 and -1), and sealed frames from 0 on. pair: (from, to), the ranks of
    the introduction; direction: "up" is from the rank that connects."""

    def __init__(self, ports, shift, change=None, host="127.0.0.1", framed=True):
        self.change = change or (lambda pair, direction, number, piece: [piece])
        self.framed = framed
        self.seen = bytearray()
        self.pieces = {}  # (pair, direction) -> pieces as they came
        self.lock = threading.Lock()
        self.is_over = False
        self.threads = []
        self.listeners = []
        for port in ports:
            listener = socket.socket()
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind((host, port + shift))
            listener.listen(64)
            self.listeners.append(listener)
            self.start(self.accept, listener, (host, port))

    def start(self, function, *arguments):
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self.threads.append(thread)
        thread.start()

    def accept(self, listener, there):
        while not self.is_over:
            if not select.select([listener], [], [], 0.1)[0]:
                continue
            try:
                own, _ = listener.accept()
            except OSError:
                continue
            try:
                other = socket.create_connection(there, 10)
                other.settimeout(None)
            except OSError:
                own.close()
                continue
            pair = {}
            self.start(self.pump, own, other, "up", pair)
            self.start(self.pump, other, own, "down", pair)

    def next_piece(self, source, direction, number):
        if not self.framed:
            return source.recv(65536) or None
        if number < 0:
            return read_exactly(source, GREETING[direction][number + 2])
        head = read_exactly(source, HEAD)
        if head is None:
            return None
        length, = struct.unpack_from("<I", head, 8)
        rest = read_exactly(source, length + TAG)
        return None if rest is None else head + rest

    def pump(self, source, target, direction, pair):
        number = -2
        try:
            while not self.is_over:
                piece = self.next_piece(source, direction, number)
                if piece is None:
                    break
                if direction == "up" and number == -2 and self.framed:
                    pair["of"] = struct.unpack_from("<II", piece, 40)
                until = time.monotonic() + 20
                while self.framed and "of" not in pair and time.monotonic() < until:
                    time.sleep(0.001)
                with self.lock:
                    self.seen += piece
                    self.pieces.setdefault((pair.get("of"), direction), []).append(piece)
                for each in self.change(pair.get("of"), direction, number, piece):
                    target.sendall(each)
                number += 1
        except OSError:
            pass
        for each in (source, target):
            try:
                each.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
        source.close()  # the other direction closes its own

    def close(self):
        self.is_over = True
        for each in self.listeners:
            each.close()
        for each in self.threads:
            each.join(10)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def free_ports(count):
    """`count` ports that follow one another and are free, and so are those 1000 above them."""
    begin = random.randrange(23000, 30000, 16)
    for first in [*range(begin, 31000, 16), *range(23000, begin, 16)]:
        taken = []
        try:
            for port in [*range(first, first + count), *range(first + 1000, first + 1000 + count)]:
                each = socket.socket()
                taken.append(each)
                each.bind(("127.0.0.1", port))
            return list(range(first, first + count))
        except OSError:
            continue
        finally:
            for each in taken:
                each.close()
    raise RuntimeError("no ports are free")
