"""Somebody who listens to all that travels between hosts: no secret is in it, nor, when it is encrypted, what the ranks say."""

import os
import re
import signal
import struct
import subprocess
import sys
import time
import unittest

import weft_hosts
from weft_job import HANG_GUARD, environment, program

RANK = program("secured_rank")
PAYLOAD = b"what the ranks say is not for others; "

# Runs in the namespace of the switch; a frame is its length and its bytes.
LISTEN = """
import socket, struct, sys
listener = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
listener.setsockopt(socket.SOL_SOCKET, 33, 1 << 28)  # SO_RCVBUFFORCE
listener.bind((sys.argv[1], 0))
with open(sys.argv[2], "wb", 0) as file:
    print("listens", flush=True)
    while True:
        frame = listener.recv(1 << 17)
        file.write(struct.pack("<I", len(frame)) + frame)
"""


class Ear:
    """Hears host 0, whose port of the switch all that it sends and receives passes."""

    def __init__(self, hosts):
        self.path = os.path.join(hosts.folder, "heard")
        self.process = subprocess.Popen(hosts.switch.command(sys.executable, "-c", LISTEN, "port0", self.path), stdout=subprocess.PIPE, text=True)
        if self.process.stdout.readline() != "listens\n":
            self.close()
            raise unittest.SkipTest("packets cannot be listened to here")

    def heard(self):
        """What TCP has carried, connection by connection and direction by direction."""
        time.sleep(0.2)
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        streams = {}
        with open(self.path, "rb") as file:
            data = file.read()
        place = 0
        while place + 4 <= len(data):
            size, = struct.unpack_from("<I", data, place)
            frame = data[place + 4:place + 4 + size]
            place += 4 + size
            kind, = struct.unpack_from(">H", frame, 12)
            if kind == 0x0800 and frame[23] == 6:
                begin, end = 14 + (frame[14] & 15) * 4, 14 + struct.unpack_from(">H", frame, 16)[0]
                of = frame[26:34]
            elif kind == 0x86DD and frame[20] == 6:
                begin, end = 54, 54 + struct.unpack_from(">H", frame, 18)[0]
                of = frame[22:54]
            else:
                continue
            streams.setdefault(of + frame[begin:begin + 4], bytearray()).extend(frame[begin + (frame[begin + 12] >> 4) * 4:end])
        return b"\0".join(bytes(each) for each in streams.values())

    def close(self):
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


class Eavesdropper(weft_hosts.TestCase):
    def listen(self):
        ear = Ear(self.hosts)
        self.addCleanup(ear.close)
        return ear

    def expect_secrecy(self, output, heard, is_encrypted, *more):
        secret = bytes.fromhex(re.search("secret ([0-9a-f]{64})", output)[1])
        self.assertGreater(len(heard), 2_000_000)
        for hidden in (secret, secret[:16], secret[16:], secret.hex().encode(), *more):
            self.assertNotIn(hidden, heard)
        self.assertEqual(PAYLOAD * 3 in heard, not is_encrypted, "the test must find what it looks for")

    def test_of_the_launcher(self):
        for changes in ({}, {"WEFT_TCP_ENCRYPT": "yes"}, {"WEFT_TCP_AUTHENTICATE": "no"}):
            with self.subTest(**changes):
                ear = self.listen()
                result = self.hosts.run("--hosts", "h0:1,h1:1", RANK, "talk", **changes)
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.expect_secrecy(result.stdout, ear.heard(), "WEFT_TCP_ENCRYPT" in changes)

    def test_of_ranks_that_are_started_by_variables(self):
        for secret in (None, "a text that all ranks were given"):
            with self.subTest(secret=secret):
                changes = {} if secret is None else {"WEFT_JOB_SECRET": secret}
                ear = self.listen()
                ranks = [subprocess.Popen(self.hosts.hosts[rank].command(RANK, "talk"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True,
                                          env=environment(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="10.77.0.1", MASTER_PORT="21000",
                                                          WEFT_TCP_ENCRYPT="yes", **changes)) for rank in (0, 1)]
                try:
                    results = [rank.communicate(timeout=HANG_GUARD) for rank in ranks]
                finally:
                    for rank in ranks:
                        rank.kill()
                        rank.wait()
                self.assertEqual([rank.returncode for rank in ranks], [0, 0], results)
                self.assertIn("with 1: all rounds", results[0][0])
                self.expect_secrecy(results[0][0], ear.heard(), True, *([secret.encode()] if secret else []))


if __name__ == "__main__":
    unittest.main(verbosity=2)
