"""More devices that send to one than it has lanes for: what they send arrives all the same."""

import unittest

from weft_job import environment, program, run

RANK = program("shared_lanes_rank")


class SharedLanes(unittest.TestCase):
    def succeeds(self, ranks, devices, **attributes):
        result = run(ranks, RANK, "--devices", devices, env=environment(**attributes), guard=150)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        self.assertEqual(result.stdout.count("all arrived"), ranks, result.stdout)

    def test_many_devices_of_many_ranks(self):
        self.succeeds(17, 64)

    def test_more_ranks_than_lanes(self):
        for lanes in ("1", "8"):
            with self.subTest(lanes=lanes):
                self.succeeds(16, 2, WEFT_LANES_MAX=lanes)


if __name__ == "__main__":
    unittest.main()
