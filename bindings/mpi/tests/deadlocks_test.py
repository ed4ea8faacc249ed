"""Programs of MPI that hang end with the line of a deadlock, or are explained. They are the functions of wrong/deadlocks.c."""

import os
import re
import signal
import subprocess
import threading
import time
import unittest
from pathlib import Path

from wrong_programs import BIN, HANG_GUARD, TestOfWrongPrograms, line_of

MOST_EXPLANATIONS = 30


class Deadlocks(TestOfWrongPrograms):
    compiled = ("deadlocks",)

    def assert_explained(self, name, ranks, *parts):
        """What is said about a job that never ends, which is ended then. On a busy machine its ranks may have got where they stay only
        after the first explanation: then there is another."""
        with subprocess.Popen([BIN / "weft", "run", "-n", str(ranks), "--explain", "1", "--timeout", "200", "--",
                               Path(self.folder.name) / "deadlocks", name], stderr=subprocess.PIPE, text=True) as job:
            guard = threading.Timer(HANG_GUARD, job.kill)
            guard.start()
            text = ""
            try:
                for _ in range(MOST_EXPLANATIONS):
                    text = ""
                    while "has not ended" not in text:
                        line = job.stderr.readline()
                        self.assertNotEqual(line, "", f"{name}: {text}")
                        text += line
                    if all(re.search(part, text) for part in parts):
                        break
                    time.sleep(1)
                    job.send_signal(signal.SIGUSR1)
            finally:
                job.send_signal(signal.SIGTERM)
                job.communicate()
                guard.cancel()
            self.assertNotEqual(job.returncode, 0)
        self.assert_says(text, *parts)

    def test_two_ranks_that_receive_first(self):
        self.assert_explained("each_receives_first", 2,
            rf"Rank 0 waits in MPI_Recv on MPI_COMM_WORLD at {line_of('deadlocks.c', 'each receives first')} \([\d.]+ s\) for a message "
            r"from rank 1 with tag 5 on MPI_COMM_WORLD, which rank 1 has not sent\.",
            r"So ranks 0 and 1 wait for each other \(0 -> 1 -> 0\)")

    def test_two_ranks_that_send_synchronously_or_much(self):
        for name, comment, call, size in (("each_sends_synchronously", "each sends synchronously", "MPI_Ssend", 4),
                                          ("each_sends_much", "each sends much", "MPI_Send", 1 << 20)):
            with self.subTest(name):
                self.assert_explained(name, 2,
                    rf"Rank 1 waits in {call} on MPI_COMM_WORLD at {line_of('deadlocks.c', comment)} \([\d.]+ s\) for rank 0 to take a message "
                    rf"with tag 5 on MPI_COMM_WORLD \({size} bytes: ", r"So ranks 0 and 1 wait for each other")

    def test_a_ring_of_receives(self):
        self.assert_explained("ring_of_receives", 3,
            rf"Rank 2 waits in MPI_Wait on MPI_COMM_WORLD at {line_of('deadlocks.c', 'ring of receives')}",
            r"So ranks 0, 1 and 2 wait for each other in a circle")

    def test_a_tag_that_nobody_sends_names_the_communicator_and_what_has_come(self):
        self.assert_explained("wrong_tag", 2,
            rf"Rank (\d) waits in MPI_Recv on halo at {line_of('deadlocks.c', 'wrong tag')} \([\d.]+ s\) for a message from rank (\d) with tag 5 on "
            r"halo \(rank 0 there\), which rank \d has not sent; what rank \d holds meanwhile fits no receive: .*rank \d with tag 6 "
            r"on halo \(rank 0 there\) \(4 bytes\)",
            r"Rank 1 waits in MPI_Finalize at deadlocks\.c:\d+ .*for the barrier of the runtime, which rank 0 has not entered")

    def test_a_probe_of_a_message_that_nobody_sends(self):
        self.assert_explained("message_that_nobody_sends", 2,
            rf"Rank 0 waits in MPI_Probe on MPI_COMM_WORLD at {line_of('deadlocks.c', 'nobody sends')} \([\d.]+ s\) for a message from "
            r"any rank with any tag")

    def test_a_partition_that_nobody_takes(self):
        self.assert_explained("partition_that_nobody_takes", 2,
            rf"Rank 0 waits in MPI_Wait on MPI_COMM_WORLD at {line_of('deadlocks.c', 'partition that nobody takes')} \([\d.]+ s\) for rank 1 to take "
            r"a message with the tag of partition 1 of a partitioned message")

    def test_a_collective_that_one_rank_does_not_call(self):
        self.assert_explained("collective_without_one", 3,
            rf"Rank 0 waits in MPI_Barrier on MPI_COMM_WORLD at {line_of('deadlocks.c', 'collective without one')} \([\d.]+ s\) for "
            r"number 1 of its collectives.*rank 1 has not called it yet")

    def test_two_collectives_in_one_place(self):
        self.assert_explained("two_collectives", 2,
            rf"Rank 0 waits in MPI_Bcast on MPI_COMM_WORLD at {line_of('deadlocks.c', 'a broadcast')} \([\d.]+ s\) for number 2 of its "
            r"collectives.*but rank 1 has called MPI_Reduce with root 1 as number 2 there: all ranks must call the same")

    def test_two_roots(self):
        self.assert_explained("two_roots", 2,
            rf"Rank 0 waits in MPI_Gather on MPI_COMM_WORLD at {line_of('deadlocks.c', 'two roots')} \([\d.]+ s\) for number 1 of its "
            r"collectives.*but rank 1 has called MPI_Gather with root 1 as number 1 there: all ranks must call the same")

    def test_a_collective_over_a_side_or_neighbours_that_one_rank_does_not_call(self):
        for name, call, communicator in (("sides_without_one", "MPI_Barrier", "sides"), ("neighbours_without_one", "MPI_Neighbor_allgather", "ring")):
            with self.subTest(name):
                comment = name.replace("_", " ")
                self.assert_explained(name, 3,
                    rf"Rank 0 waits in {call} on {communicator} at {line_of('deadlocks.c', comment)} \([\d.]+ s\) for number 1 of its "
                    r"collectives.*rank \d has not called it yet")

    def test_a_communicator_of_a_group_is_no_collective_of_all(self):
        self.assert_explained("group_without_one", 3,
            rf"Rank 1 waits in MPI_Comm_create_group on MPI_COMM_WORLD at {line_of('deadlocks.c', 'group without one')} \([\d.]+ s\) "
            r"for a message from rank 0 with tag 3 by which a communicator is made, on MPI_COMM_WORLD, which rank 0 has not sent")

    def test_deadlocks_end_with_a_line_by_themselves(self):
        head = "weft-mpi: deadlock: every rank waits, and no message is under way\\. "
        circle = r"So ranks 0 and 1 wait for each other \(0 -> 1 -> 0\)\."

        def at(comment):
            return line_of("deadlocks.c", comment)
        for name, ranks, *expected in (
                ("each_receives_first", 2, rf"Rank 0 waits in MPI_Recv on MPI_COMM_WORLD at {at('each receives first')} for a message from rank 1 with tag 5\.",
                 circle),
                ("each_sends_much", 2, rf"Rank 1 waits in MPI_Send on MPI_COMM_WORLD at {at('each sends much')} for rank 0 to take a message with tag 5\.",
                 circle),
                ("ring_of_receives", 3, r"So ranks 0, 1 and 2 wait for each other \(0 -> 1 -> 2 -> 0\)\."),
                ("wrong_tag", 2, rf"Rank 0 waits in MPI_Recv on halo at {at('wrong tag')} for a message from rank 0 there with tag 5; what has come there is a "
                 r"message from rank 0 with tag 6\.", r"Rank 1 waits in MPI_Finalize at deadlocks\.c:\d+ for all ranks\.", circle),
                ("message_that_nobody_sends", 2, rf"Rank 0 waits in MPI_Probe on MPI_COMM_WORLD at {at('nobody sends')} for a message from any rank with any tag"),
                ("collective_without_one", 3, r"for number 1 of its collectives; rank 1 has not called it\."),
                ("two_collectives", 2, rf"Rank 0 waits in MPI_Bcast on MPI_COMM_WORLD at {at('a broadcast')} for number 2 of its collectives; rank 1 calls "
                 r"MPI_Reduce with root 1 in its place: all ranks must call the same\."),
                ("two_roots", 2, r"rank 1 calls MPI_Gather with root 1 in its place"),
                ("group_without_one", 3, r"Rank 1 waits in MPI_Comm_create_group on MPI_COMM_WORLD"),
                ("sides_without_one", 3, r"in MPI_Barrier on sides at \S+ for number 1 of its collectives; rank 2 has not called it"),
                ("neighbours_without_one", 3, r"in MPI_Neighbor_allgather on ring at \S+ for number 1 of its collectives; rank 1 has not called it"),
                ("partition_not_ready", 2, rf"Rank 0 waits in MPI_Wait on MPI_COMM_WORLD at {at('partition not ready')} for all partitions of the message"),
                ("freed_by_one", 2, r"Rank 1 waits in MPI_Barrier on own at \S+ for number 1 of its collectives; rank 0 has freed the communicator", circle),
                ("nothing_for_one", 2, r"Rank 1 waits in MPI_Alltoallv on MPI_COMM_WORLD .*; rank 0 has gone on from it: the ranks have passed different "
                 r"counts or roots\.")):
            for network in ("shm", "tcp"):
                with self.subTest(f"{name} over {network}"):
                    self.assert_says(self.run_to_end("deadlocks", name, ranks, WEFT_NETWORK=network, WEFT_MPI_DEADLOCK="0.2"), head, *expected)

    def test_a_deadlock_ends_without_an_attribute(self):
        for ranks in (1, 2):
            with self.subTest(ranks):
                self.assert_says(self.run_to_end("deadlocks", "message_that_nobody_sends", ranks), "deadlock: every rank waits")

    def test_who_waits_for_a_rank_that_computes_is_no_deadlock(self):
        result = subprocess.run([BIN / "weft", "run", "-n", "3", "--", Path(self.folder.name) / "deadlocks", "computes_meanwhile"], capture_output=True,
                                text=True, timeout=HANG_GUARD, check=False, env={**os.environ, "WEFT_MPI_DEADLOCK": "1"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_who_waits_for_a_long_message_is_in_no_deadlock(self):
        for network, way in (("shm", "read"), ("tcp", "auto")):
            with self.subTest(network):
                result = subprocess.run([BIN / "weft", "run", "-n", "2", "--", Path(self.folder.name) / "deadlocks", "long_transfer"], capture_output=True,
                                        text=True, timeout=HANG_GUARD, check=False,
                                        env={**os.environ, "WEFT_MPI_DEADLOCK": "0.01", "WEFT_NETWORK": network, "WEFT_RENDEZVOUS": way})
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_deadlocks_are_not_looked_for_where_the_attribute_says_so(self):
        result = subprocess.run([BIN / "weft", "run", "-n", "2", "--timeout", "5", "--", Path(self.folder.name) / "deadlocks", "each_receives_first"],
                                capture_output=True, text=True, timeout=HANG_GUARD, check=False, env={**os.environ, "WEFT_MPI_DEADLOCK": "0"})
        self.assertEqual(result.returncode, 124, result.stderr)


if __name__ == "__main__":
    unittest.main()
