"""One of four ranks is killed in heavy mixed traffic: the others end what they had with it, and go on. In collectives, whose
others wait for each other as well, all end."""

import json
import os
import random
import re
import signal
import subprocess
import time
import unittest

from weft_job import BRIEF, HANG_GUARD, WEFT, environment, program, shared_memory

TRAFFIC = (program("failure_rank"), "traffic")
COLLECTIVES = (program("collective_failure_rank"),)
ROUNDS = 20 if os.environ.get("WEFTDEV_NIGHTLY") == "1" else 1 if BRIEF else 3


def has_ofi():
    result = subprocess.run([WEFT, "info", "--json"], capture_output=True, text=True, timeout=HANG_GUARD, env=environment(),
                            check=True)
    return any(network["name"] == "ofi" and network["present"] for network in json.loads(result.stdout)["networks"])


class KilledRank(unittest.TestCase):
    def survive(self, seed, *command, **attributes):
        dice = random.Random(seed)
        victim, pause = dice.randrange(4), dice.choice((0, 0.02, 0.2, 0.5))
        job = subprocess.Popen([WEFT, "run", "-n", "4", "--keep-going", "--timeout", str(HANG_GUARD), "--", *command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment(**attributes))
        try:
            processes = {}
            while len(processes) < 4:
                line = job.stdout.readline()
                self.assertTrue(line, job.stderr.read() if job.poll() is not None else "no output")
                found = re.fullmatch(r"pid (\d+) rank (\d+)\n", line)
                processes[int(found[2])] = int(found[1])
            time.sleep(pause)
            os.kill(processes[victim], signal.SIGKILL)
            out, err = job.communicate(timeout=HANG_GUARD + 20)
        finally:
            job.kill()
            job.wait()
        self.assertEqual(job.returncode, 128 + signal.SIGKILL, err)
        self.assertEqual(out.count(f"survived rank {victim}\n"), 3, err)
        self.assertIn(f"weft run: 1 of 4 ranks failed: rank {victim} (pid {processes[victim]}) was killed by signal 9 (SIGKILL)\n", err)
        self.assertNotIn("have not ended", err)
        for process in processes.values():
            self.assertFalse(os.path.exists(f"/proc/{process}"), "a rank is still there")

    def rounds(self, *command, **attributes):
        before = shared_memory()
        for seed in range(ROUNDS):
            with self.subTest(seed=seed):
                self.survive(seed, *command, **attributes)
        self.assertEqual([name for name in shared_memory() if name not in before and "weft" in name], [])

    def test_on_shared_memory(self):
        self.rounds(*TRAFFIC)

    def test_whose_memory_the_others_have_mapped(self):
        self.rounds(*TRAFFIC, "--mapped", "yes")

    def test_when_accesses_go_by_messages_and_large_messages_are_read(self):
        self.rounds(*TRAFFIC, WEFT_ONE_SIDED="message", WEFT_RENDEZVOUS="read")

    def test_with_small_limits(self):
        self.rounds(*TRAFFIC, WEFT_LANE_SLOTS="64", WEFT_LANE_SLOTS_MAX="64", WEFT_PACKETS="64", WEFT_REQUESTS="16", WEFT_BACKLOG="8",
                    WEFT_BACKLOG_PEER="4", WEFT_HELD_PACKETS="2", WEFT_UNEXPECTED_CREDITS="4")

    def test_over_libfabric(self):
        if not has_ofi():
            self.skipTest("no libfabric here")
        self.rounds(*TRAFFIC, WEFT_NETWORK="ofi", WEFT_OFI_PROVIDER="tcp;ofi_rxm")

    def test_over_libfabric_that_puts_large_messages(self):
        if not has_ofi():
            self.skipTest("no libfabric here")
        self.rounds(*TRAFFIC, WEFT_NETWORK="ofi", WEFT_OFI_PROVIDER="tcp;ofi_rxm", WEFT_RENDEZVOUS="put")

    def test_over_shared_memory_within_hosts_and_libfabric_between_them(self):
        if not has_ofi():
            self.skipTest("no libfabric here")
        self.rounds(*TRAFFIC, WEFT_NETWORK="mixed", WEFT_OFI_PROVIDER="tcp;ofi_rxm", WEFT_HOST_ID="host%r/2")

    def test_in_collectives(self):
        self.rounds(*COLLECTIVES)

    def test_in_collectives_with_small_limits(self):
        self.rounds(*COLLECTIVES, WEFT_LANE_SLOTS="64", WEFT_LANE_SLOTS_MAX="64", WEFT_PACKETS="64", WEFT_REQUESTS="16",
                    WEFT_BACKLOG="8", WEFT_BACKLOG_PEER="4", WEFT_UNEXPECTED_CREDITS="4", WEFT_RENDEZVOUS="read")

    def test_in_collectives_over_libfabric(self):
        if not has_ofi():
            self.skipTest("no libfabric here")
        self.rounds(*COLLECTIVES, WEFT_NETWORK="ofi", WEFT_OFI_PROVIDER="tcp;ofi_rxm")


if __name__ == "__main__":
    unittest.main()
