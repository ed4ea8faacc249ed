"""Devices that come and go: rings, reply_slots and announcements are used again, in a segment that would soon be full."""

import unittest

from weft_job import environment, program, run

RANK = program("device_churn_rank")


class DeviceChurn(unittest.TestCase):
    def succeeds(self, ranks, rounds, **attributes):
        result = run(ranks, RANK, "--rounds", rounds, env=environment(**attributes), guard=150)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")

    def test_segment_use_levels_off(self):
        for ranks in (2, 3):
            with self.subTest(ranks=ranks):
                self.succeeds(ranks, 400)

    def test_a_small_segment_is_enough(self):
        # Room for some twenty lanes.
        small = {"WEFT_SEGMENT_SIZE": "1536K", "WEFT_PACKETS": "64", "WEFT_PACKET_SIZE": "4096", "WEFT_DEVICES_MAX": "4", "WEFT_REGIONS_MAX": "16"}
        self.succeeds(2, 400, **small)


if __name__ == "__main__":
    unittest.main()
