"""Ports that a firewall closes: every rank tells every address and port that was tried, and none waits for ever."""

import re
import subprocess
import unittest

import weft_hosts
from weft_job import HANG_GUARD, environment, program

RANK = program("hosts_rank")
DATA = "26000-26010"


class FirewallTest(weft_hosts.TestCase):
    def variables(self, rank, **changes):
        return environment(RANK=str(rank), WORLD_SIZE="3", MASTER_ADDR="10.77.0.1", MASTER_PORT="27000", WEFT_PORTS=DATA, **changes)

    def end_all(self, places, *command, **changes):
        """A rank on each of these hosts, by variables; returns what each has told."""
        ranks = [subprocess.Popen(self.hosts.hosts[place].command(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=self.variables(rank, **changes)) for rank, place in enumerate(places)]
        try:
            return [(each.returncode, out, err) for each in ranks for out, err in [each.communicate(timeout=HANG_GUARD)]]
        finally:
            for each in ranks:
                each.kill()
                each.wait()

    def test_closed_data_ports_of_ranks(self):
        for number in (0, 1):
            self.hosts.drop(number, DATA)
        try:
            result = self.hosts.run("--hosts", "h0:1,h1:1", "sh", "-c", f"WEFT_PORTS={DATA} exec {RANK} ring --seconds 1", WEFT_PEER_TIMEOUT="1")
        finally:
            for number in (0, 1):
                self.hosts.let_in(number)
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        told = re.search(r"weft run: rank (\d) \(pid \d+ on h\d\) is ended, because rank \d cannot reach it: (.*)", result.stderr)
        self.assertTrue(told, result.stderr)
        last = int(told[1]) + 1
        for address in (rf"10\.77\.0\.{last}:260\d\d \(", rf"\[fd77::{last}\]:260\d\d \("):
            self.assertRegex(told[2], address)

    def test_only_the_port_of_rank_0_is_open(self):
        self.hosts.drop(0, DATA)
        try:
            results = self.end_all((0, 1, 1), RANK, "where", WEFT_BOOTSTRAP_TIMEOUT="1")
        finally:
            self.hosts.let_in(0)
        for code, _, err in results:
            self.assertNotEqual(code, 0)
            for address in (r"10\.77\.0\.1:260\d\d \(", r"\[fd77::1\]:260\d\d \("):
                self.assertRegex(err, address)

    def test_a_rank_that_cannot_join_tells_all_why(self):
        results = self.end_all((0, 1, 2), "sh", "-c", f"test $RANK = 0 && export WEFT_INTERFACE=none0; exec {RANK} where")
        for code, _, err in results:
            self.assertNotEqual(code, 0)
            self.assertIn("none0", err)

    def test_rank_0_that_is_killed_ends_what_other_hosts_wait_for(self):
        ranks = [subprocess.Popen(self.hosts.hosts[rank].command(RANK, "barriers"), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, text=True, env=self.variables(rank)) for rank in range(3)]
        try:
            for each in ranks:
                self.assertEqual(each.stdout.readline(), "joined\n")
            ranks[0].kill()
            for each in ranks[1:]:
                _, err = each.communicate(timeout=HANG_GUARD)
                self.assertNotEqual(each.returncode, 0)
                self.assertIn("rank 0", err)
        finally:
            for each in ranks:
                each.kill()
                each.communicate()


if __name__ == "__main__":
    unittest.main()
