"""What fails between hosts: a rank, an agent, the launcher, a link. Everybody is told in time, nothing is left, and what is only
slow is no failure."""

import os
import re
import signal
import subprocess
import time
import unittest

import weft_hosts
from weft_job import BRIEF, HANG_GUARD, program, thorough

RANK = program("hosts_rank")
TRAFFIC = (program("failure_rank"), "traffic")
PEER_TIMEOUT = 2


class HostFailuresTest(weft_hosts.TestCase):
    def start_traffic(self, network):
        job = self.hosts.launch("--timeout", HANG_GUARD, "--keep-going", "--hosts", self.hosts.names(1), *TRAFFIC, WEFT_NETWORK=network,
                                WEFT_PEER_TIMEOUT=str(PEER_TIMEOUT))
        processes = {}
        while len(processes) < 4:
            line = job.stdout.readline()
            self.assertTrue(line, job.stderr.read() if job.poll() is not None else "no output")
            found = re.fullmatch(r"pid (\d+) rank (\d+)\n", line)
            processes[int(found[2])] = int(found[1])
        return job, processes

    def end(self, job):
        try:
            return job.communicate(timeout=HANG_GUARD + 20)
        finally:
            job.kill()
            job.wait()

    def expect_nothing_left(self, numbers=range(4)):
        until = time.monotonic() + 20
        while any(self.hosts.processes(number) for number in numbers) and time.monotonic() < until:
            time.sleep(0.05)
        for number in numbers:
            self.assertEqual(self.hosts.processes(number), [], f"on h{number}")

    def test_a_rank_that_is_killed_is_noticed_by_all(self):
        # Several times: the bootstrap and the launcher learn of the end over different connections.
        for network in ("tcp", "mixed") * (1 if BRIEF else 3):
            with self.subTest(network=network):
                job, processes = self.start_traffic(network)
                time.sleep(0.2)
                os.kill(processes[2], signal.SIGKILL)
                out, err = self.end(job)
                self.assertEqual(job.returncode, 128 + signal.SIGKILL, err)
                self.assertEqual(out.count("survived rank 2\n"), 3, err)
                self.assertIn(f"1 of 4 ranks failed: rank 2 (pid {processes[2]} on h2) was killed by signal 9 (SIGKILL)", err)
                self.expect_nothing_left()

    @thorough
    def test_a_host_whose_link_is_down_is_given_up_in_time(self):
        job, _ = self.start_traffic("mixed")
        time.sleep(0.2)
        self.hosts.cut(3)
        try:
            out, err = self.end(job)
        finally:
            self.hosts.mend(3)
        self.assertNotEqual(job.returncode, 0)
        self.assertEqual(out.count("survived rank 3\n"), 3, err)
        self.assertRegex(err, r"rank 3 \(pid \d+ on h3\)")
        self.expect_nothing_left()

    def test_an_agent_that_is_killed_takes_its_ranks_with_it(self):
        job, processes = self.start_traffic("mixed")
        with open(f"/proc/{processes[1]}/stat", encoding="utf-8") as file:
            agent = int(file.read().rsplit(")", 1)[1].split()[1])
        os.kill(agent, signal.SIGKILL)
        out, err = self.end(job)
        self.assertEqual(out.count("survived rank 1\n"), 3, err)
        self.assertRegex(err, r"rank 1 \(pid \d+ on h1\) was lost with the agent of its host h1: ")
        self.expect_nothing_left()

    def test_nothing_is_left_when_the_launcher_is_killed(self):
        job, _ = self.start_traffic("mixed")
        job.send_signal(signal.SIGKILL)
        self.end(job)
        self.expect_nothing_left()

    @thorough
    def test_signals_reach_all_ranks(self):
        job = self.hosts.launch("--timeout", HANG_GUARD, "--hosts", self.hosts.names(1), "sh", "-c",
                                "trap 'echo got it; exit 0' TERM; echo ready; while :; do sleep 0.05; done")
        for _ in range(4):
            self.assertEqual(job.stdout.readline(), "ready\n")
        # Through the process that the test has started, which is nsenter until it becomes `weft run`.
        job.send_signal(signal.SIGTERM)
        out, err = self.end(job)
        self.assertEqual(out, "got it\n" * 4, err)
        # Shells say that the program which they had started was terminated.
        told = [line for line in err.splitlines() if line != "Terminated"]
        self.assertEqual((job.returncode, told), (128 + signal.SIGTERM, ["weft run: ended by SIGTERM, and the ranks with it"]))
        self.expect_nothing_left()

    def test_a_rank_that_is_stopped_for_longer_than_the_time_limit_of_peers_goes_on(self):
        job = self.hosts.launch("--timeout", HANG_GUARD, "--hosts", self.hosts.names(1), "sh", "-c", f"echo $$; exec {RANK} ring --seconds 5",
                                WEFT_PEER_TIMEOUT="1")
        processes = [int(job.stdout.readline()) for _ in range(4)]
        time.sleep(0.5)
        try:
            os.kill(processes[2], signal.SIGSTOP)
        except ProcessLookupError:
            self.fail(f"the rank has ended before: {self.end(job)}")
        time.sleep(3)
        os.kill(processes[2], signal.SIGCONT)
        out, err = self.end(job)
        self.assertEqual((job.returncode, err), (0, ""), out)
        self.assertEqual(out.count("messages on\n"), 4)

    @thorough
    def test_a_slow_link_is_no_failure(self):
        self.hosts.hosts[1].run("tc", "qdisc", "add", "dev", "eth0", "root", "tbf", "rate", "20mbit", "burst", "32kbit", "latency", "400ms")
        try:
            result = self.hosts.run("--hosts", self.hosts.names(1), RANK, "ring", "--seconds", 2, WEFT_PEER_TIMEOUT="1")
        finally:
            self.hosts.hosts[1].run("tc", "qdisc", "del", "dev", "eth0", "root")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    @thorough
    def test_connections_that_are_reset_end_in_a_verdict_of_the_launcher(self):
        job = self.hosts.launch("--timeout", HANG_GUARD, "--hosts", "h0:1,h1:1", RANK, "ring", "--seconds", 60, WEFT_NETWORK="tcp",
                                WEFT_LOG="tcp=info")
        ports = {}
        while len(ports) < 2:
            found = re.match(r"weft\[rank (\d)\] \S+ tcp info: port (\d+) of", job.stderr.readline())
            if found:
                ports[int(found[1])] = found[2]
        time.sleep(1)
        ended = self.hosts.hosts[0].run("ss", "-KtH", "state", "established",
                                        f"( sport = :{ports[0]} or dport = :{ports[1]} )")
        if not ended.stdout.strip():
            job.terminate()
            self.end(job)
            self.skipTest("this kernel ends no connections on request")
        _, err = self.end(job)
        self.assertNotEqual(job.returncode, 0)
        self.assertRegex(err, r"weft run: rank \d \(pid \d+ on h\d\) is ended, because rank \d cannot reach it: ")
        self.expect_nothing_left()


if __name__ == "__main__":
    unittest.main()
