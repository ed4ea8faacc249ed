"""Ranks that differ in what all must agree on are found when they join, however they join, and never hang. What each may have for
itself is no difference."""

import shutil
import socket
import subprocess
import unittest

import weft_hosts
from weft_job import HANG_GUARD, WEFT, environment, program, run

RANK = program("hosts_rank")
# The value of rank 1, and what is told of it and of rank 0.
DIFFERENCES = (({"WEFT_NETWORK": "tcp"}, "network (WEFT_NETWORK)", "tcp"),
               ({"WEFT_PACKET_SIZE": "8K"}, "packet_size (WEFT_PACKET_SIZE)", "8K"),
               ({"WEFT_INLINE_MAX": "1K"}, "inline_max (WEFT_INLINE_MAX)", "1K"),
               ({"WEFT_UNEXPECTED_CREDITS": "16"}, "unexpected_credits (WEFT_UNEXPECTED_CREDITS)", "16"),
               ({"WEFT_RENDEZVOUS_DEVICE": "1"}, "rendezvous_device (WEFT_RENDEZVOUS_DEVICE)", "1"))
ALIKE = ({"WEFT_TCP_CREDITS": "64"}, {"WEFT_PACKETS": "512"}, {"WEFT_RENDEZVOUS": "copy"}, {"WEFT_SPIN": "1"},
         {"WEFT_LANE_SLOTS": "128"}, {"WEFT_PEER_TIMEOUT": "10"}, {"WEFT_DEVICES_MAX": "8"})


def script(changes, number="$WEFT_RANK"):
    """Runs a rank; that of this number 1 with another environment."""
    sets = " ".join(f"{name}='{value}'" for name, value in changes.items())
    return ["sh", "-c", f"test {number} = 1 && export {sets}; exec {RANK} ring --seconds 0.1"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class AgreementTest(unittest.TestCase):
    def expect_difference(self, text, name, value):
        """Rank 1 differs from whoever has come first of the others, or has come first itself."""
        name = name.replace("(", r"\(").replace(")", r"\)")
        self.assertRegex(text, rf"rank 1 on [^;]* has [^;]*{name} {value}")
        self.assertRegex(text, rf"rank (?!1 )\d+ on [^;]* has [^;]*{name} ")

    def test_one_host(self):
        for changes, name, value in DIFFERENCES:
            with self.subTest(name=name):
                result = run(2, *script(changes))
                self.assertNotEqual(result.returncode, 0, result.stdout)
                self.expect_difference(result.stderr, name, value)
        for changes in (*ALIKE, {"WEFT_NETWORK": "shm"}):
            with self.subTest(changes=changes):
                result = run(2, *script(changes))
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_many_ranks_of_which_one_differs(self):
        result = run(16, *script({"WEFT_PACKET_SIZE": "8K"}))
        self.assertNotEqual(result.returncode, 0)
        self.assertRegex(result.stderr, r"rank \d+ on .* has packet_size .*; rank \d+ on .* has packet_size ")

    def test_all_others_go_on_without_a_rank_that_differs(self):
        # The launcher lets them; what they want of it fails.
        result = subprocess.run([WEFT, "run", "-n", "3", "--keep-going", "--timeout", str(HANG_GUARD), *script({"WEFT_NETWORK": "tcp"})],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_GUARD + 20, env=environment())
        self.assertNotIn(result.returncode, (0, 124), result.stderr)
        self.expect_difference(result.stderr, "network (WEFT_NETWORK)", "tcp")

    def test_variables_of_torchrun(self):
        for changes, name, value in DIFFERENCES:
            with self.subTest(name=name):
                port = str(free_port())
                ranks = [subprocess.Popen([RANK, "ring", "--seconds", "0.1"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                          stderr=subprocess.PIPE, text=True,
                                          env=environment(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port,
                                                          **(changes if rank == 1 else {}))) for rank in range(2)]
                told = []
                try:
                    for each in ranks:
                        told.append(each.communicate(timeout=HANG_GUARD)[1])
                        self.assertNotEqual(each.returncode, 0)
                finally:
                    for each in ranks:
                        each.kill()
                        each.wait()
                for text in told:
                    self.expect_difference(text, name, value)

    def test_pmi_1(self):
        launcher = shutil.which("mpiexec.hydra") or shutil.which("mpiexec.mpich")
        if launcher is None:
            self.skipTest("no mpiexec of MPICH here")
        for changes, name, value in DIFFERENCES:
            with self.subTest(name=name):
                result = subprocess.run([launcher, "-n", "2", *script(changes, "$PMI_RANK")], stdin=subprocess.DEVNULL, capture_output=True,
                                        text=True, timeout=HANG_GUARD, env=environment())
                self.assertNotEqual(result.returncode, 0)
                self.expect_difference(result.stderr, name, value)


class HostsAgreementTest(weft_hosts.TestCase):
    def test_hosts_that_differ(self):
        for changes, name, value in (*DIFFERENCES, ({"WEFT_REMOTE_NETWORK": "ofi"}, "remote_network (WEFT_REMOTE_NETWORK)", "ofi")):
            with self.subTest(name=name):
                result = self.hosts.run("--hosts", "h0:1,h1:1,h2:2", *script(changes))
                self.assertNotIn(result.returncode, (0, 124), result.stderr)
                self.assertRegex(result.stderr, r"rank \d on .* has .*" + name.replace("(", r"\(").replace(")", r"\)"))
                self.assertRegex(result.stderr, f"{value}[,;:]")

    def test_what_hosts_may_have_for_themselves(self):
        for changes in (*ALIKE, {"WEFT_NETWORK": "mixed"}, {"WEFT_HOST_ID": "a-name-of-its-own"}):
            with self.subTest(changes=changes):
                result = self.hosts.run("--hosts", "h0:1,h1:1", *script(changes))
                self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
