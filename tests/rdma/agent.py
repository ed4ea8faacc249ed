"""Starts programs on another guest: `agent.py serve` there, `agent.py HOST PROGRAM...` in place of ssh here.

Only within the network that two guests have for themselves.
"""

import json
import os
import selectors
import signal
import socket
import struct
import subprocess
import sys
import threading

PORT = 7077


def frame(kind, data=b""):
    return struct.pack("!cI", kind, len(data)) + data


def receive(stream):
    """The next frame: its kind and contents, or None at the end."""
    head = stream.read(5)
    if len(head) < 5:
        return None
    kind, size = struct.unpack("!cI", head)
    return kind, stream.read(size)


def serve_one(connection):
    stream = connection.makefile("rb")
    first = receive(stream)
    if first is None:
        return
    request = json.loads(first[1])
    program = subprocess.Popen(request["program"], cwd=request["folder"], env=request["environment"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    lock = threading.Lock()

    def forward(source, kind):
        while data := os.read(source.fileno(), 65536):
            with lock:
                connection.sendall(frame(kind, data))

    def feed():
        while (found := receive(stream)) is not None:
            if found[0] == b"i" and found[1]:
                try:
                    program.stdin.write(found[1])
                    program.stdin.flush()
                except BrokenPipeError:
                    pass
            elif found[0] == b"i":
                program.stdin.close()
        if program.poll() is None:  # who asked for it is gone
            os.killpg(program.pid, signal.SIGTERM)

    threads = [threading.Thread(target=forward, args=(program.stdout, b"o")), threading.Thread(target=forward, args=(program.stderr, b"e"))]
    for thread in threads:
        thread.start()
    threading.Thread(target=feed, daemon=True).start()
    for thread in threads:
        thread.join()
    code = program.wait()
    connection.sendall(frame(b"c", str(code if code >= 0 else 128 - code).encode()))
    connection.close()


def serve():
    with socket.create_server(("", PORT)) as listener:
        print("agent: listens", flush=True)
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=serve_one, args=(connection,), daemon=True).start()


def start(host, program):
    connection = socket.create_connection((host, PORT))
    request = {"program": program, "folder": os.getcwd(), "environment": dict(os.environ)}
    connection.sendall(frame(b"r", json.dumps(request).encode()))

    def feed():
        with selectors.DefaultSelector() as ready:
            ready.register(0, selectors.EVENT_READ)
            while True:
                ready.select()
                data = os.read(0, 65536)
                connection.sendall(frame(b"i", data))
                if not data:
                    return

    threading.Thread(target=feed, daemon=True).start()
    stream = connection.makefile("rb")
    while (found := receive(stream)) is not None:
        kind, data = found
        if kind == b"c":
            return int(data)
        os.write(1 if kind == b"o" else 2, data)
    print(f"agent: {host} is gone", file=sys.stderr)
    return 255


if __name__ == "__main__":
    if sys.argv[1:] == ["serve"]:
        serve()
    code = start(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    os._exit(code)
