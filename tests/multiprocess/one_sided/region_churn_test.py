"""Regions that are made, reached by peers and freed: what they took is free again, and what still names them is refused."""

import resource
import unittest

from weft_job import environment, first, program, run, thorough

RANK = program("region_churn_rank")


class RegionChurn(unittest.TestCase):
    def succeeds(self, ranks, *arguments, guard=120, **attributes):
        result = run(ranks, RANK, *arguments, env=environment(**attributes), guard=guard)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")

    def test_mappings_and_descriptors_level_off(self):
        for ranks in first((2, 1, 3)):
            for path in ("auto", "message"):
                with self.subTest(ranks=ranks, path=path):
                    self.succeeds(ranks, "churn", WEFT_ONE_SIDED=path)

    def test_a_peer_that_only_polls_gives_up_what_its_owner_has_freed(self):
        self.succeeds(2, "poll")

    def test_accesses_that_race_with_the_release_never_fault(self):
        self.succeeds(2, "race", "--rounds", "30")

    @thorough
    def test_more_regions_than_mappings_are_reached_all_the_same(self):
        with open("/proc/sys/vm/max_map_count", encoding="ascii") as file:
            most = int(file.read())
        peers = 5
        count = most // 2 // peers + 200
        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if hard != resource.RLIM_INFINITY and hard < count + 100 or count > 60000:
            self.skipTest("too few descriptors for so many regions")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, count + 100), hard))
        try:
            self.succeeds(peers + 1, "crowd", "--regions", count, WEFT_REGIONS_MAX="65536")
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


if __name__ == "__main__":
    unittest.main()
