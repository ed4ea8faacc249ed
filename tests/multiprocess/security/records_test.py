"""Somebody between two ranks changes what they send each other: the connection ends, nothing false is taken, and the others go on."""

import subprocess
import unittest

import between
from weft_job import HANG_GUARD, WEFT, environment, program

RANK = program("secured_rank")
SHIFT = 1000
CHANGED = "what came over the connection was changed on its way"


def flip(piece, place):
    return piece[:place] + bytes([piece[place] ^ 1]) + piece[place + 1:]


class Records(unittest.TestCase):
    def talk(self, change, ranks=3, rounds=25, guard=HANG_GUARD, **changes):
        """Rank 0 talks with the others, over somebody who changes; returns the job and what was seen."""
        ports = between.free_ports(ranks)
        settings = environment(WEFT_NETWORK="tcp", WEFT_INTERFACE="127.0.0.0/8", WEFT_PORTS=f"{ports[0]}-{ports[-1]}",
                               SECURED_PORTS=f"{ports[0]}-{ports[-1]}", SECURED_SHIFT=str(SHIFT), **changes)
        with between.Between(ports, SHIFT, change) as middle:
            job = subprocess.run([WEFT, "run", "-n", str(ranks), "--keep-going", "--timeout", str(guard), "--", RANK, "talk", "--rounds",
                                  str(rounds)], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=guard + 20, env=settings)
            return job, middle

    def expect_cut(self, change, **changes):
        """Ranks 0 and 1 lose each other, for the true reason; rank 2 notices nothing."""
        job, _ = self.talk(change, **changes)
        self.assertIn(CHANGED, job.stderr)
        self.assertNotIn("was taken", job.stderr)
        # Who has noticed first says that the other cannot be reached, and that one is ended.
        if "with 1: it has failed" in job.stdout:
            self.assertIn("with 2: all rounds", job.stdout, job.stderr)
        else:
            self.assertRegex(job.stderr, "rank 0 .*cannot reach|rank 1 cannot reach it")
        return job

    def at(self, number, replace, direction=None):
        """A change of the frame of this number between ranks 0 and 1."""
        def change(pair, way, count, piece):
            if sorted(pair) == [0, 1] and count == number and direction in (None, way):
                return replace(piece)
            return [piece]
        return change

    def test_without_a_change_all_is_well(self):
        for name, changes in (("authenticated", {}), ("encrypted", {"WEFT_TCP_ENCRYPT": "yes"}), ("none", {"WEFT_TCP_AUTHENTICATE": "no"})):
            with self.subTest(name):
                ports = between.free_ports(2)
                settings = environment(WEFT_NETWORK="tcp", WEFT_INTERFACE="127.0.0.0/8", WEFT_PORTS=f"{ports[0]}-{ports[-1]}",
                                       SECURED_PORTS=f"{ports[0]}-{ports[-1]}", SECURED_SHIFT=str(SHIFT), **changes)
                with between.Between(ports, SHIFT, framed=False) as middle:
                    job = subprocess.run([WEFT, "run", "-n", "2", "--timeout", str(HANG_GUARD), "--", RANK, "talk"], stdin=subprocess.DEVNULL,
                                         capture_output=True, text=True, timeout=HANG_GUARD + 20, env=settings)
                self.assertEqual((job.returncode, job.stderr), (0, ""))
                self.assertIn("with 1: all rounds", job.stdout)
                secret = bytes.fromhex(job.stdout.split()[1])
                self.assertEqual(len(secret), 32)
                self.assertNotIn(secret, middle.seen)
                self.assertNotIn(secret.hex().encode(), middle.seen)
                self.assertGreater(len(middle.seen), 4_000_000)
                self.assertEqual(b"what the ranks say is not for others" in middle.seen, name != "encrypted")

    def test_a_changed_byte_ends_the_connection(self):
        for place in (0, 9, 20, -1):
            for encrypts in ("no", "yes"):
                with self.subTest(place=place, encrypts=encrypts):
                    self.expect_cut(self.at(3, lambda piece, place=place: [flip(piece, place % len(piece))]), WEFT_TCP_ENCRYPT=encrypts)

    def test_a_changed_byte_of_a_large_message_ends_the_connection(self):
        has_changed = []

        def change(pair, _, __, piece):
            if sorted(pair) != [0, 1] or len(piece) < 20000 or has_changed:
                return [piece]
            has_changed.append(True)
            return [flip(piece, 15000)]
        self.expect_cut(change)
        self.assertTrue(has_changed)

    def test_a_repeated_record_ends_the_connection(self):
        self.expect_cut(self.at(4, lambda piece: [piece, piece]))

    def test_an_inserted_record_ends_the_connection(self):
        self.expect_cut(self.at(4, lambda piece: [bytes(len(piece)), piece]))
        self.expect_cut(self.at(4, lambda piece: [piece[:16] + bytes(len(piece) - 16), piece]))

    def test_a_record_that_is_left_out_ends_the_connection(self):
        # The first part of a put: what follows has another number. The last of a direction would only be waited for.
        dropped = []

        def change(pair, _, __, piece):
            if sorted(pair) != [0, 1] or len(piece) < 32768 or dropped:
                return [piece]
            dropped.append(piece)
            return []
        self.expect_cut(change)

    def test_records_in_another_order_end_the_connection(self):
        held = []

        def change(pair, way, _, piece):
            if sorted(pair) != [0, 1] or (len(piece) < 32768 and not held) or (held and held[0] != way) or len(held) == 3:
                return [piece]
            held.extend([piece] if held else [way, piece])
            return [] if len(held) == 2 else [held[2], held[1]]
        self.expect_cut(change)

    def test_a_record_that_is_sent_back_ends_the_connection(self):
        last = {}

        def change(pair, way, count, piece):
            if sorted(pair) != [0, 1]:
                return [piece]
            last[way] = piece
            other = last.get("down" if way == "up" else "up")
            return [other, piece] if count == 5 and other is not None else [piece]
        self.expect_cut(change)

    def test_records_of_another_connection_end_the_connection(self):
        other = []

        def change(pair, way, count, piece):
            if count == 3 and way == "up" and sorted(pair) == [0, 2]:
                other.append(piece)
            if sorted(pair) == [0, 1] and other and count > 3 and way == "up":
                return [other.pop()]
            return [piece]
        self.expect_cut(change)

    def test_a_greeting_that_is_changed_is_made_again(self):
        for direction, number, size in (("up", -2, 72), ("down", -2, 64), ("up", -1, 32)):
            for place in (4, size - 1):
                with self.subTest(direction=direction, number=number, place=place):
                    changed = []

                    def change(pair, way, count, piece):
                        if sorted(pair) != [0, 1] or way != direction or count != number or changed:
                            return [piece]
                        changed.append(True)
                        return [flip(piece, place)]
                    job, _ = self.talk(change, ranks=2, rounds=3)
                    self.assertEqual(job.returncode, 0, job.stderr)
                    self.assertTrue(changed)
                    self.assertIn("with 1: all rounds", job.stdout)

    def test_an_answer_that_is_changed_is_not_believed(self):
        """It is the last of a greeting: one side has a connection that the other has given up."""
        for place in (4, 23):
            changed = []

            def change(pair, way, count, piece):
                if sorted(pair) != [0, 1] or way != "down" or count != -1 or changed:
                    return [piece]
                changed.append(True)
                return [flip(piece, place)]
            job, _ = self.talk(change, ranks=2, rounds=3)
            self.assertTrue(changed)
            self.assertNotIn("was taken", job.stderr)
            self.assertTrue(job.returncode == 0 or "it has closed the connection" in job.stderr, job.stderr)

    def test_ranks_that_protect_differently_are_told(self):
        command = "test $WEFT_RANK = 1 && export WEFT_TCP_ENCRYPT=yes; exec " + RANK + " talk --rounds 2"
        job = subprocess.run([WEFT, "run", "-n", "2", "--timeout", "60", "--", "sh", "-c", command], stdin=subprocess.DEVNULL, capture_output=True,
                             text=True, timeout=HANG_GUARD, env=environment(WEFT_NETWORK="tcp", WEFT_PEER_TIMEOUT="5"))
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(job.stderr, r"authenticated|WEFT_TCP_ENCRYPT|tcp_encrypt")


if __name__ == "__main__":
    unittest.main(verbosity=2)
