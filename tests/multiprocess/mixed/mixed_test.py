"""Ranks of one host that WEFT_HOST_ID makes ranks of several: shared memory within a host, another network between
hosts."""

import json
import os
import re
import subprocess
import unittest

from weft_job import HANG_GUARD, WEFT, environment, program, run

PAIRS = {"WEFT_HOST_ID": "host%r/2"}  # ranks 0 and 1 on one host, 2 and 3 on another


def present_networks():
    result = subprocess.run([WEFT, "info", "--json"], capture_output=True, text=True, timeout=HANG_GUARD, env=environment(),
                            check=True)
    return {network["name"] for network in json.loads(result.stdout)["networks"] if network["present"]}


class MixedOverTcpTest(unittest.TestCase):
    remote = "tcp"

    def setUp(self):
        if self.remote not in present_networks():
            self.skipTest(f"no network {self.remote} here")

    def run_mixed(self, ranks, *command, **changes):
        return run(ranks, *command, env=environment(WEFT_NETWORK="mixed", WEFT_REMOTE_NETWORK=self.remote,
                                                    WEFT_OFI_PROVIDER="tcp;ofi_rxm", **changes))

    def test_messages_of_all_sizes_arrive(self):
        for hosts in ("host%r/2", "host%r%2", "host%r", "host"):
            with self.subTest(hosts=hosts):
                result = self.run_mixed(4, program("messages_rank"), "all-sizes", WEFT_HOST_ID=hosts)
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def test_a_token_goes_round(self):
        ring = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-ring")
        for ranks in (1, 2, 4):
            with self.subTest(ranks=ranks):
                result = self.run_mixed(ranks, ring, **PAIRS)
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, f"{1000 * ranks} hops\n", ""))

    def test_large_puts_and_gets_need_no_messages(self):
        result = self.run_mixed(4, program("one_sided_rank"), "ways", **PAIRS)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertEqual(result.stdout, "0 accesses by messages\n" * 4)

    def test_regions_are_reached_and_end(self):
        for arguments in (("exchange", "--by", "key"), ("forge",), ("leave", "--memory", "allocated")):
            with self.subTest(arguments=arguments):
                result = self.run_mixed(4, program("one_sided_rank"), *arguments, **PAIRS)
                self.assertEqual(result.returncode, 0, result.stdout + result.stderr)

    def test_each_rank_tells_by_which_network_it_reaches_a_peer_and_why(self):
        result = self.run_mixed(4, program("messages_rank"), "all-sizes", WEFT_LOG="mixed=info", **PAIRS)
        self.assertEqual(result.returncode, 0, result.stderr)
        told = re.findall(r"weft\[rank (\d)\] \S+ mixed info: rank (\d) is reached by (.*)", result.stderr)
        self.assertEqual(len(told), len({(rank, peer) for rank, peer, _ in told}), "a rank tells of a peer once")
        self.assertTrue(any(rank != peer for rank, peer, _ in told), result.stderr)
        for rank, peer, text in told:
            own, other = int(rank) // 2, int(peer) // 2
            if rank == peer:
                self.assertEqual(text, "shm: it is this rank")
            elif own == other:
                self.assertEqual(text, "shm: it is on this host")
            else:
                self.assertEqual(text, f'{self.remote}: its host_id is "host{other}", that of this rank "host{own}"')

    def test_shared_memory_alone_names_the_peer_that_it_does_not_reach(self):
        result = run(2, program("messages_rank"), "all-sizes", env=environment(WEFT_NETWORK="shm", WEFT_HOST_ID="host%r"))
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r'shm: rank \d does not share memory with this rank: its host_id is "host\d", that of this '
                                        r'rank "host\d"; network mixed \(WEFT_NETWORK\) connects several hosts')


class MixedOverOfiTest(MixedOverTcpTest):
    remote = "ofi"


if __name__ == "__main__":
    unittest.main()
