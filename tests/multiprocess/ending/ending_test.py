"""Ranks that end while others are slow, stopped, or gone: what was accepted arrives, or its loss is an error of the job."""

import os
import re
import signal
import subprocess
import time
import unittest

from weft_job import HANG_GUARD, WEFT, environment, program

RANK = program("ending_rank")
# Much shorter than what the receivers compute: it must not decide over what living ranks get.
SHORT = {"WEFT_DRAIN_TIMEOUT": "0.2"}
KINDS = ("am", "packet", "large-am", "send", "packet-send", "large-send", "ordered", "signal", "bodies", "backlog", "broadcast")


class Ending(unittest.TestCase):
    def run_ranks(self, ranks, *arguments, options=(), **attributes):
        return subprocess.run([WEFT, "run", "-n", str(ranks), "--timeout", str(HANG_GUARD), *options, "--", RANK, *arguments],
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_GUARD + 20,
                              env=environment(**{**SHORT, **attributes}))

    def succeeds(self, ranks, *arguments, **attributes):
        result = self.run_ranks(ranks, *arguments, **attributes)
        self.assertEqual(result.returncode, 0, f"{arguments}: {result.stdout}\n{result.stderr}")
        self.assertNotIn(" error: ", result.stderr)
        return result

    def start(self, *arguments):
        """A job of two whose rank 1 has said its process: the job, that process, and what else was said."""
        job = subprocess.Popen([WEFT, "run", "-n", "2", "--keep-going", "--timeout", str(HANG_GUARD), "--", RANK, *arguments],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment(**SHORT))
        said = [job.stdout.readline(), job.stdout.readline()]
        process = [int(found[1]) for line in said if (found := re.fullmatch(r"pid (\d+)\n", line))]
        if len(process) != 1 or "rank 0 ends\n" not in said:
            job.kill()
            self.fail(f"{arguments}: {said} {job.communicate()}")
        return job, process[0]


class WhatWasAccepted(Ending):
    def test_arrives_however_late_the_receiver_looks(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                self.assertIn("rank 1 has all\n", self.succeeds(2, "late", kind).stdout)

    def test_arrives_by_other_ways(self):
        for kind, attributes in (("large-send", {"WEFT_RENDEZVOUS": "read"}), ("large-am", {"WEFT_RENDEZVOUS": "read"}),
                                 ("bodies", {"WEFT_RENDEZVOUS": "read"}), ("signal", {"WEFT_ONE_SIDED": "message"}),
                                 ("am", {"WEFT_LANE_SLOTS": "64"}), ("send", {"WEFT_UNEXPECTED_CREDITS": "1"})):
            with self.subTest(kind=kind, attributes=attributes):
                self.assertIn("rank 1 has all\n", self.succeeds(2, "late", kind, **attributes).stdout)

    def test_arrives_at_a_rank_that_was_stopped(self):
        for kind in ("am", "large-send"):
            with self.subTest(kind=kind):
                job, process = self.start("stopped", kind, "--milliseconds", "0")
                time.sleep(1)
                os.kill(process, signal.SIGCONT)
                out, err = job.communicate(timeout=HANG_GUARD + 20)
                self.assertEqual(job.returncode, 0, f"{out}\n{err}")
                self.assertIn("rank 1 has all\n", out)

    def test_arrives_from_a_device_that_was_closed_and_opened_again(self):
        self.assertIn("rank 1 has all\n", self.succeeds(2, "reopened", "", "--milliseconds", "100").stdout)

    def test_and_is_lost_with_its_receiver_is_named_and_is_an_error_of_the_job(self):
        for kind, what in (("am", "up to 5 messages"), ("large-send", "2 large messages"), ("backlog", "5 active messages")):
            with self.subTest(kind=kind):
                job, process = self.start("killed", kind)
                time.sleep(0.5)
                os.kill(process, signal.SIGKILL)
                _, err = job.communicate(timeout=HANG_GUARD + 20)
                self.assertEqual(job.returncode, 128 + signal.SIGKILL, err)
                self.assertRegex(err, r"runtime error: device 0 closes and drops what it had accepted for ranks that have failed: "
                                      rf".*{what}.* for rank 1\n")
                self.assertRegex(err, rf"weft run: rank 0 \(pid \d+\) had accepted messages that are lost: .*{what}.* for rank 1\n")

    def test_and_is_lost_is_an_error_also_where_every_rank_ends_with_success(self):
        job, _ = self.start("gone", "am")
        _, err = job.communicate(timeout=HANG_GUARD + 20)
        self.assertNotEqual(job.returncode, 0, err)
        self.assertIn("had accepted messages that are lost: ", err)


class WhatNobodyTakes(Ending):
    def test_ends_with_the_rank_that_leaves_without_it(self):
        for kind, what in (("am", "up to 5 messages"), ("large-send", "2 large messages"), ("bodies", "2 large messages"),
                           ("backlog", "5 active messages")):
            with self.subTest(kind=kind):
                # Rank 0 closes its device before rank 1 leaves: otherwise what is large has ended by then.
                result = self.succeeds(2, "untaken", kind, "--milliseconds", "1500")
                self.assertRegex(result.stderr, rf"runtime warn: device 0 closes with what nobody has received: .*{what}.* for rank 1\n")

    def test_does_not_keep_ranks_that_end_together(self):
        for kind in KINDS:
            if kind == "broadcast":
                continue
            for ranks in (2, 3):
                with self.subTest(kind=kind, ranks=ranks):
                    result = self.succeeds(ranks, "mutual", kind)
                    self.assertEqual(result.stdout.count(" ends\n"), ranks)


class ARankThatHasLeft(Ending):
    def test_ends_what_only_it_could_have_ended(self):
        for what in ("receive", "send", "access", "collective", "wildcard"):
            for ranks in (2, 3):
                for one_sided in ("auto", "message"):
                    if one_sided == "message" and what != "access":
                        continue
                    with self.subTest(what=what, ranks=ranks, one_sided=one_sided):
                        result = self.succeeds(ranks, "left", what, WEFT_ONE_SIDED=one_sided)
                        self.assertEqual(result.stdout.count("is through\n"), 1 if what == "wildcard" else ranks - 1)


if __name__ == "__main__":
    unittest.main()
