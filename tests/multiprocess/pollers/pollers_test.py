"""Programs that only poll end, however many more of their threads than cores there are."""

import os
import unittest

import weft_job

TRIPS = {1: 1000, 64: 50}  # of each message, by window


def cores(count):
    """The first `count` of the cores that the tests may use."""
    return sorted(os.sched_getaffinity(0))[:count]


class Pollers(unittest.TestCase):
    def play(self, ranks, threads, window, devices, **changes):
        with self.subTest(ranks=ranks, threads=threads, window=window, devices=devices, **changes):
            before = os.sched_getaffinity(0)
            os.sched_setaffinity(0, cores(2))
            try:
                result = weft_job.run(ranks, weft_job.program("polling_rank"), "--threads", threads, "--window", window, "--devices", devices,
                                      "--trips", TRIPS[window], env=weft_job.environment(**changes))
            finally:
                os.sched_setaffinity(0, before)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(result.stdout.split(), ["ended"] * ranks)
            self.assertEqual(result.stderr, "")

    def test_every_number_of_threads_window_and_sharing_ends_on_two_cores(self):
        for threads in weft_job.first((4, 2, 1)):
            for window in weft_job.first((64, 1)):
                for devices in ("own", "one"):
                    self.play(2, threads, window, devices)

    @weft_job.thorough
    def test_sixteen_threads_of_four_ranks_end_on_two_cores(self):
        for window in (1, 64):
            for devices in ("own", "one"):
                self.play(4, 4, window, devices)

    def test_they_end_without_giving_way_as_well(self):
        self.play(2, 2, 1, "own", WEFT_POLL_YIELD="no")


if __name__ == "__main__":
    unittest.main()
