"""A few seconds of mixed traffic, and of everything made and destroyed at once: nothing lost, duplicated or torn. soak_test.py is
the long form."""

import subprocess
import unittest

from weft_job import HANG_GUARD, RACE_REPORTS, environment, program, run


class ShortRun(unittest.TestCase):
    def soak(self, ranks, threads, seconds, **attributes):
        result = run(ranks, program("soak"), "--seconds", seconds, "--threads", threads, env=environment(**attributes))
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        self.assertEqual(result.stdout.count("arrived"), ranks * threads, result.stdout)

    def test_two_ranks_with_two_threads(self):
        self.soak(2, 2, 3)

    def test_four_ranks_with_three_threads_that_read_large_messages(self):
        self.soak(4, 3, 3, WEFT_RENDEZVOUS="read")

    def test_ranks_of_one_process_with_a_sanitizer_that_sees_both_sides(self):
        result = subprocess.run([program("soak"), "--in-process", "2", "--seconds", "2", "--threads", "2"], capture_output=True,
                                text=True, timeout=HANG_GUARD, env={**environment(), **RACE_REPORTS})
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        self.assertEqual(result.stdout.count("arrived"), 4, result.stdout)

    def test_small_limits(self):
        self.soak(2, 3, 3, WEFT_LANE_SLOTS="64", WEFT_LANE_SLOTS_MAX="64", WEFT_PACKETS="64", WEFT_REQUESTS="16",
                  WEFT_BACKLOG="8", WEFT_BACKLOG_PEER="4", WEFT_HELD_PACKETS="2", WEFT_RENDEZVOUS="copy")

    def churn(self, ranks, **attributes):
        result = run(ranks, program("churn"), "--seconds", 4, env=environment(**attributes))
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        self.assertEqual(result.stdout.count("runtimes"), ranks, result.stdout)

    def test_threads_devices_regions_queues_and_runtimes_come_and_go(self):
        self.churn(2)

    def test_they_come_and_go_with_small_limits(self):
        self.churn(3, WEFT_LANE_SLOTS="64", WEFT_LANE_SLOTS_MAX="64", WEFT_PACKETS="64", WEFT_REQUESTS="16", WEFT_REGIONS_MAX="4",
                   WEFT_DEVICES_MAX="2")


if __name__ == "__main__":
    unittest.main()
