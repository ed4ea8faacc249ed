"""Ten minutes of mixed traffic, and ten in which everything is made and destroyed at once: nothing lost, duplicated or torn, and
what the ranks hold levels off. Only with WEFTDEV_NIGHTLY=1."""

import os
import unittest

from weft_job import environment, program, run

SHARES = [  # ranks, threads, attributes
    (2, 2, {}),
    (4, 4, {"WEFT_RENDEZVOUS": "read"}),
    (2, 8, {"WEFT_RENDEZVOUS": "copy"}),
    (3, 3, {"WEFT_LANE_SLOTS": "64", "WEFT_LANE_SLOTS_MAX": "64", "WEFT_PACKETS": "64", "WEFT_REQUESTS": "16",
            "WEFT_BACKLOG": "8", "WEFT_BACKLOG_PEER": "4", "WEFT_HELD_PACKETS": "2"}),
]


@unittest.skipUnless(os.environ.get("WEFTDEV_NIGHTLY") == "1", "ten minutes of traffic run with WEFTDEV_NIGHTLY=1")
class TenMinutes(unittest.TestCase):
    def test_nothing_is_lost_duplicated_or_torn(self):
        seconds = 600 / len(SHARES)
        for seed, (ranks, threads, attributes) in enumerate(SHARES):
            with self.subTest(ranks=ranks, threads=threads, **attributes):
                result = run(ranks, program("soak"), "--seconds", seconds, "--threads", threads, "--seed", seed + 2,
                             guard=400, env=environment(**attributes))
                self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
                self.assertEqual(result.stdout.count("arrived"), ranks * threads, result.stdout)
                print(result.stdout)

    def test_what_ranks_hold_levels_off_while_everything_comes_and_goes(self):
        result = run(2, program("churn"), "--seconds", 600, "--levels", "yes", guard=800, env=environment())
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        print(result.stdout)


if __name__ == "__main__":
    unittest.main()
