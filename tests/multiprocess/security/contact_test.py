"""Ranks that find each other by variables, and strangers at the port of rank 0: between them, before them, and with what they have
overheard."""

import hmac
import hashlib
import os
import re
import socket
import struct
import subprocess
import threading
import time
import unittest

import between
from weft_job import HANG_GUARD, environment, program

RANK = program("secured_rank")
GREETING, ARRIVAL, HEAD, SEAL = 64, 72 + 704 + 16, 16, 16
MAGIC = 0x45544657


class Passing:
    """Passes connections to `port` on to rank 0. change(direction, number, bytes): the pieces that travel instead."""

    def __init__(self, port, to, change=None):
        self.change = change or (lambda direction, number, piece: [piece])
        self.seen = []
        self.to = to
        self.listener = socket.socket()
        self.listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.listener.bind(("127.0.0.1", port))
        self.listener.listen(16)
        self.is_over = False
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while not self.is_over:
            try:
                own, _ = self.listener.accept()
            except OSError:
                return
            try:
                other = socket.create_connection(("127.0.0.1", self.to), 10)
                other.settimeout(None)
            except OSError:
                own.close()  # rank 0 does not listen yet
                continue
            for pair in ((own, other, "up"), (other, own, "down")):
                threading.Thread(target=self.pump, args=pair, daemon=True).start()

    def pump(self, source, target, direction):
        number = 0
        sizes = {"up": [ARRIVAL], "down": [GREETING, HEAD]}[direction]
        try:
            while True:
                piece = between.read_exactly(source, sizes[number]) if number < len(sizes) else source.recv(65536)
                if not piece:
                    break
                self.seen.append(piece)
                for each in self.change(direction, number, piece):
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
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Contact(unittest.TestCase):
    def settings(self, rank, size, port, secret=None, **changes):
        if secret is not None:
            changes["WEFT_JOB_SECRET"] = secret
        changes.setdefault("WEFT_BOOTSTRAP_TIMEOUT", "20")
        return environment(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), WEFT_NETWORK="tcp", **changes)

    def start(self, mode, rank, size, port, secret=None, **changes):
        job = subprocess.Popen([RANK, *mode.split()], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=self.settings(rank, size, port, secret, **changes))

        def end():
            job.kill()
            job.communicate()
        self.addCleanup(end)
        return job

    def finish(self, job, code=0):
        out, err = job.communicate(timeout=HANG_GUARD)
        if code is not None:
            self.assertEqual(job.returncode, code, err)
        return out, err

    def knock(self, port, until=20):
        """A connection to rank 0, and what it says first."""
        end = time.monotonic() + until
        while True:
            try:
                connection = socket.create_connection(("127.0.0.1", port), 5)
                return connection, between.read_exactly(connection, GREETING)
            except OSError:
                if time.monotonic() > end:
                    raise
                time.sleep(0.02)

    def test_nothing_secret_is_seen(self):
        for secret in (None, "a text that all ranks were given"):
            with self.subTest(secret=secret):
                port, = between.free_ports(1)
                zero = self.start("talk --rounds 3", 0, 2, port, secret)
                with Passing(port + 1000, port) as middle:
                    one = self.start("talk --rounds 3", 1, 2, port + 1000, secret)
                    out, err = self.finish(zero)
                    self.finish(one)
                seen = b"".join(middle.seen)
                told = bytes.fromhex(re.search("secret ([0-9a-f]{64})", out)[1])
                self.assertGreater(len(seen), ARRIVAL)
                for hidden in (told, told.hex().encode(), told[:16], socket.gethostname().encode()):
                    if len(hidden) >= 6:  # the name of a host may be as short as two letters, which chance writes as well
                        self.assertNotIn(hidden, seen)
                if secret is None:
                    self.assertEqual(err.count("WEFT_JOB_SECRET is not set: who listens in learns nothing, but whoever reaches"), 1, err)
                    self.assertEqual(err.count("\n"), 1, err)
                else:
                    self.assertEqual(err, "")
                    for hidden in (secret.encode(), hashlib.blake2b(secret.encode(), digest_size=32).digest()):
                        self.assertNotIn(hidden, seen)

    def test_a_stranger_becomes_no_rank(self):
        """Without the secret, with another, with what was overheard, in a wrong order, and with too little."""
        port, = between.free_ports(1)
        zero = self.start("talk --rounds 3", 0, 3, port, "known")
        with Passing(port + 1000, port) as middle:
            one = self.start("talk --rounds 3", 1, 3, port + 1000, "known")
            until = time.monotonic() + 20
            while not any(len(piece) == ARRIVAL for piece in middle.seen):
                self.assertLess(time.monotonic(), until)
                time.sleep(0.02)
            overheard = next(piece for piece in middle.seen if len(piece) == ARRIVAL)
            as_two = overheard[:12] + struct.pack("<i", 2) + overheard[16:]
            for sent in (overheard, as_two, overheard[:8] + struct.pack("<I", 0) + overheard[12:],
                         struct.pack("<IIIiiI", MAGIC, 2, 1, 2, 3, 0) + os.urandom(ARRIVAL - 24), os.urandom(ARRIVAL), bytes(ARRIVAL),
                         b"GET / HTTP/1.0\r\n\r\n", overheard[:100]):
                connection, greeting = self.knock(port)
                self.assertEqual(struct.unpack_from("<II", greeting), (MAGIC, 2))
                connection.sendall(sent)
                connection.shutdown(socket.SHUT_WR)
                connection.settimeout(20)
                try:
                    answer = connection.recv(4096)
                except ConnectionResetError:
                    answer = b""
                self.assertLessEqual(len(answer), HEAD, answer)
                connection.close()
            # The greeting of rank 0 sent back to it.
            connection, greeting = self.knock(port)
            connection.sendall(greeting + bytes(ARRIVAL - GREETING))
            connection.close()
            for other in (None, "another"):
                wrong = self.start("talk", 2, 3, port, other)
                _, err = self.finish(wrong, None)
                self.assertNotEqual(wrong.returncode, 0)
                self.assertIn("WEFT_JOB_SECRET differs", err)
            two = self.start("talk --rounds 3", 2, 3, port, "known")
            out, err = self.finish(zero)
            self.finish(one)
            self.finish(two)
        self.assertIn("with 1: all rounds\nwith 2: all rounds", out)
        self.assertIn("a stranger is refused, or a rank with another WEFT_JOB_SECRET or none", err)

    def test_a_stranger_who_pretends_to_be_rank_0_is_not_believed(self):
        """He listens first; when he goes, the true rank 0 is found."""
        port, = between.free_ports(1)
        listener = socket.socket()
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(("127.0.0.1", port))
        listener.listen(4)
        one = self.start("talk --rounds 3", 1, 2, port, "known")
        with listener:
            connection, _ = listener.accept()
            connection.sendall(struct.pack("<IIII", MAGIC, 2, 1, 0) + os.urandom(48))
            arrival = between.read_exactly(connection, ARRIVAL)
            self.assertEqual(struct.unpack_from("<IIIii", arrival), (MAGIC, 2, 1, 1, 2))
            # A result of his own: as long as it should be.
            connection.sendall(struct.pack("<IIII", MAGIC, 1, 2 * 704 + SEAL, 0) + os.urandom(2 * 704 + SEAL))
            connection.close()
        zero = self.start("talk --rounds 3", 0, 2, port, "known")
        out, _ = self.finish(zero)
        self.finish(one)
        self.assertIn("with 1: all rounds", out)

    def test_what_is_changed_between_rank_0_and_another_is_not_believed(self):
        places = [("down", 0, 20), ("down", 0, 60), ("up", 0, 12), ("up", 0, 30), ("up", 0, 60), ("up", 0, 100), ("up", 0, ARRIVAL - 1),
                  ("down", 1, 4), ("down", 2, 30)]
        for secret, tried in (("known", places), (None, [places[1], places[4], places[8]])):
            for direction, number, place in tried:
                with self.subTest(secret=secret, direction=direction, number=number, place=place):
                    port, = between.free_ports(1)
                    changed = []

                    def change(way, count, piece):
                        if (way, count) != (direction, number) or changed:
                            return [piece]
                        changed.append(True)
                        return [piece[:place] + bytes([piece[place] ^ 1]) + piece[place + 1:]]
                    # A result that was changed is lost: rank 0 has done its part, and the other says what has happened, when it has
                    # tried in vain for as long as it may.
                    code = 0 if direction == "up" or number == 0 else None
                    patience = {} if code == 0 else {"WEFT_BOOTSTRAP_TIMEOUT": "5"}
                    zero = self.start("wait --seconds 0.1", 0, 2, port, secret, **patience)
                    with Passing(port + 1000, port, change):
                        one = self.start("wait --seconds 0.1", 1, 2, port + 1000, secret, **patience)
                        if code is not None:
                            self.finish(zero)
                        _, err = self.finish(one, code)
                        if code is None:
                            self.assertNotEqual(one.returncode, 0)
                            self.assertRegex(err, "rank 0|WEFT_JOB_SECRET")
                    self.assertTrue(changed)

    def test_who_serves_a_host_stays_for_ranks_that_are_between_two_runtimes(self):
        """Ranks 0 and 1 are done with both of theirs, and serve the others until theirs have begun and ended."""
        for hosts in ("aaaa", "abab"):
            with self.subTest(hosts=hosts):
                port, = between.free_ports(1)
                jobs = [self.start(f"wait --seconds 0.01 --pause {1 if rank > 1 else 0}", rank, 4, port, "known", WEFT_HOST_ID=host)
                        for rank, host in enumerate(hosts)]
                for job in reversed(jobs):
                    out, _ = self.finish(job)
                    self.assertTrue(out.endswith("ready\ndone\n"), out)

    def test_strangers_at_the_port_of_a_rank(self):
        """Who knows the secret is a rank; everybody else is refused, whatever he knows of an earlier greeting."""
        port, own = between.free_ports(2)
        zero = self.start("wait --seconds 6", 0, 2, port, "known", WEFT_PORTS=f"{own}-{own}", WEFT_LOG="warn")
        one = self.start("wait --seconds 6", 1, 2, port, "known")
        line = zero.stdout.readline()
        secret = bytes.fromhex(re.search("secret ([0-9a-f]{64})", line)[1])
        self.assertEqual(zero.stdout.readline(), "ready\n")
        with open(f"/proc/{zero.pid}/net/unix", encoding="utf-8") as file:
            jobs = set(re.findall(r"@weft-([0-9a-f]{32})-0", file.read()))
        jobs = [job[:24] + f"{runtime:08x}" for job in jobs for runtime in range(4)]

        def greet(key, job, changed=None, proof=None):
            """Greets as rank 1; returns the challenge and what comes after the proof."""
            introduction = struct.pack("<II32sIIBBBBBB2x16s", between_magic, 2, job.encode(), 1, 0, 0, 0, 0, 1, 1, 1, os.urandom(16))
            connection = socket.create_connection(("127.0.0.1", own), 5)
            connection.sendall(introduction)
            challenge = between.read_exactly(connection, between.CHALLENGE)
            if challenge is None:
                return None, b""
            said = introduction + challenge[:32]
            told = hmac.new(key, (changed or b"c") + said, hashlib.sha256).digest() if proof is None else proof
            is_proved = hmac.compare_digest(challenge[32:], hmac.new(key, b"l" + said, hashlib.sha256).digest())
            connection.sendall(told)
            connection.settimeout(20)
            try:
                answer = connection.recv(1000)
            except ConnectionResetError:
                answer = b""
            connection.close()
            return (is_proved, told, challenge), answer
        between_magic = 0x47544657
        known, true_job = None, None
        for job in jobs:
            found, answer = greet(bytes(32), job)
            if found is None:
                continue  # of another test
            true_job = job
            self.assertFalse(found[0])
            self.assertEqual(answer, b"")
        self.assertIsNotNone(true_job)
        time.sleep(1.1)  # the line of a refusal comes once a second at most
        self.assertEqual(greet(os.urandom(32), true_job)[1], b"")
        self.assertEqual(greet(secret, "0" * 32)[0], None)  # another job
        known, answer = greet(secret, true_job)
        self.assertTrue(known[0])
        self.assertEqual(len(answer), between.ANSWER)
        self.assertEqual(greet(secret, true_job, proof=known[1])[1], b"", "a proof that was overheard")
        self.assertEqual(greet(secret, true_job, changed=b"l")[1], b"", "the proof of the other side")
        _, err = self.finish(zero, None)
        self.finish(one, None)
        self.assertIn("is refused: it does not know the secret of the job", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
