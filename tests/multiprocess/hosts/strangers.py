"""Strangers: strangers.py COUNT ADDRESS:PORT...: opens COUNT connections to each of these, and again when they are closed, until its
input ends. A third of them is silent, a third sends a byte twice a second, and a third sends bytes that are no greeting. Writes
"there" when all have been tried once."""

import resource
import select
import socket
import sys
import time

RUBBISH = bytes(range(64, 164))


class Stranger:
    def __init__(self, number, place):
        self.manner = number % 3
        self.place = place
        self.socket = None

    def come(self):
        self.socket = socket.socket(socket.AF_INET6 if ":" in self.place[0] else socket.AF_INET)
        self.socket.setblocking(False)
        self.socket.connect_ex(self.place)

    def is_there(self):
        try:
            return self.socket.recv(64) != b""
        except BlockingIOError:
            return True
        except OSError:
            return False

    def act(self):
        if self.socket is not None and not self.is_there():
            self.socket.close()
            self.socket = None
        if self.socket is None:
            self.come()
        try:
            if self.manner:
                self.socket.send(b"W" if self.manner == 1 else RUBBISH)
        except OSError:
            pass  # is not connected yet, or not any more


def main():
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    places = [place.rsplit(":", 1) for place in sys.argv[2:]]
    strangers = [Stranger(number, (host, int(port))) for host, port in places for number in range(int(sys.argv[1]))]
    is_first = True
    while not select.select([sys.stdin], [], [], 0 if is_first else 0.5)[0]:
        for stranger in strangers:
            stranger.act()
        if is_first:
            print("there", flush=True)
        is_first = False
        time.sleep(0)


if __name__ == "__main__":
    main()
