"""Programs of tasks and parcels as several processes: on one host, over sockets, on two hosts, and with a rank that dies."""

import subprocess
import unittest

import weft_hosts
from weft_job import HANG_GUARD, WEFT, environment, program, run, shared_memory

CONFIGURATIONS = ("", "aggregation=immediate", "aggregation=queued", "workers=2,devices=2", "zero_copy=64",
                  "port=tcp", "port=tcp,aggregation=queued,workers=2")
NODES = "32767 nodes\n"


class ParcelTest(unittest.TestCase):
    def setUp(self):
        self.segments = shared_memory()

    def tearDown(self):
        self.assertEqual(shared_memory(), self.segments)

    def check(self, ranks, mode, expected, options="", **changes):
        result = run(ranks, program("parcel_rank"), mode, "--options", options, env=environment(**changes))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, expected, ""))

    def test_arrays_of_all_sizes_come_back(self):
        for options in CONFIGURATIONS:
            with self.subTest(options=options):
                self.check(3, "all-sizes", "", options)

    def test_a_tree_of_parcels_is_counted_exactly(self):
        for ranks in (1, 2, 5):
            for options in CONFIGURATIONS:
                with self.subTest(ranks=ranks, options=options):
                    self.check(ranks, "tree", NODES, options)

    def test_over_sockets(self):
        self.check(3, "all-sizes", "", WEFT_NETWORK="tcp")
        self.check(4, "tree", NODES, WEFT_NETWORK="tcp")
        self.check(4, "tree", NODES, WEFT_NETWORK="mixed", WEFT_REMOTE_NETWORK="tcp", WEFT_HOST_ID="host%r/2")

    def test_calls_to_a_rank_that_dies_end_and_the_others_go_on(self):
        for network, options in (("shm", ""), ("tcp", ""), ("shm", "port=tcp")):
            with self.subTest(network=network, options=options):
                result = subprocess.run([WEFT, "run", "-n", "3", "--keep-going", "--timeout", str(HANG_GUARD), "--",
                                         program("parcel_rank"), "death", "--options", options], capture_output=True, text=True,
                                        timeout=HANG_GUARD + 20, env=environment(WEFT_NETWORK=network), check=False)
                self.assertEqual(sorted(result.stdout.splitlines()), ["rank 0 goes on", "rank 2 goes on"], result.stderr)
                self.assertNotEqual(result.returncode, 0)

    def test_a_bad_option_is_one_line(self):
        result = run(1, program("parcel_rank"), "tree", "--options", "workers=many")
        self.assertEqual(result.returncode, 1)
        self.assertEqual(result.stderr.splitlines()[0], "parcel_rank: parcel option workers is 'many'; it must be 0 to 256")


@unittest.skipIf(weft_hosts.why_not(), weft_hosts.why_not())
class ParcelsOnTwoHostsTest(unittest.TestCase):
    def test_arrays_and_trees(self):
        with weft_hosts.Hosts(2) as hosts:
            for mode, expected, options in (("all-sizes", "", ""), ("tree", NODES, ""), ("tree", NODES, "port=tcp")):
                with self.subTest(mode=mode, options=options):
                    result = hosts.run("--hosts", hosts.names(2), "--", program("parcel_rank"), mode, "--options", options)
                    self.assertEqual((result.returncode, result.stdout), (0, expected), result.stderr)


if __name__ == "__main__":
    unittest.main()
