"""First contact between ranks: among strangers who hold connections, of all with all at once, and where ranks listen."""

import os
import socket
import subprocess
import sys
import time
import unittest

import weft_hosts
from weft_job import HANG_GUARD, environment, program

RANK = program("hosts_rank")
STRANGERS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "strangers.py")
COUNT = 1000


def listening(host):
    """The addresses and ports at which something listens in the namespace of a host."""
    places = set()
    for line in host.run("cat", "/proc/net/tcp", "/proc/net/tcp6").stdout.splitlines():
        words = line.split()
        if words[0] == "sl" or words[3] != "0A":
            continue
        address, port = words[1].split(":")
        # Words of four bytes, in the order of this machine.
        raw = b"".join(int(address[at:at + 8], 16).to_bytes(4, sys.byteorder) for at in range(0, len(address), 8))
        places.add((socket.inet_ntop(socket.AF_INET if len(raw) == 4 else socket.AF_INET6, raw), int(port, 16)))
    return places


class Strangers:
    """Holds COUNT connections to each of the places, from the namespace of a host."""

    def __init__(self, host, *places):
        self.process = subprocess.Popen(host.command(sys.executable, STRANGERS, COUNT, *places), stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "there\n"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.communicate()


class ContactTest(weft_hosts.TestCase):
    def start(self, slots, *options, **changes):
        command = self.hosts.hosts[0].command(weft_hosts.WEFT, "run", "--launcher-exec", self.hosts.starter, "--timeout", HANG_GUARD,
                                              "--hosts", self.hosts.names(slots), *options, RANK, "meet")
        job = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=environment(**changes))
        self.addCleanup(job.communicate)
        self.addCleanup(job.kill)
        return job

    def await_listeners(self, count, addresses=1):
        """Until so many ports are open on each host, that of the launcher included, at so many addresses; returns them."""
        until = time.monotonic() + HANG_GUARD
        while time.monotonic() < until:
            found = [listening(host) for host in self.hosts.hosts]
            ports = [{port for _, port in places} for places in found]
            # A rank opens its port at one address after the other.
            is_open = all(len({address for address, _ in places}) >= addresses for places in found)
            if is_open and all(len(each) >= count + (number == 0) for number, each in enumerate(ports)):
                return found
            time.sleep(0.05)
        self.fail(f"ranks do not listen: {found}")

    def expect_all_met(self, job, size):
        out, err = job.communicate("\n", timeout=HANG_GUARD + 20)
        self.assertEqual(job.returncode, 0, err)
        self.assertEqual(sorted(out.splitlines()), sorted(f"rank {rank} has met {size - 1}" for rank in range(size)))
        return err

    def test_ranks_meet_among_strangers(self):
        for place in (0, 3):  # strangers on a host of the job, from the addresses that its ranks have, and on another one
            with self.subTest(host=place):
                job = self.start(2, WEFT_NETWORK="tcp")
                found = self.await_listeners(2)
                ports = [f"10.77.0.{number + 1}:{port}" for number in (0, 1) for port in {port for _, port in found[number]}]
                with Strangers(self.hosts.hosts[place], *ports):
                    err = self.expect_all_met(job, 8)
                # Lines tell of strangers, never of a rank that is lost.
                self.assertEqual([line for line in err.splitlines() if "is refused: " not in line], [])

    def test_hosts_join_among_strangers(self):
        with Strangers(self.hosts.hosts[0], "10.77.0.1:23500"), Strangers(self.hosts.hosts[1], "10.77.0.1:23500"):
            self.expect_all_met(self.start(1, "--ports", "23500-23510"), 4)

    def test_ranks_meet_all_at_once_and_nobody_is_refused(self):
        job = self.start(8, WEFT_LOG="tcp=info")
        err = self.expect_all_met(job, 32)
        self.assertNotIn("refused", err)
        self.assertNotIn("has not answered", err)

    def test_ranks_and_launcher_listen_at_the_chosen_addresses_only(self):
        for interface, chosen in (("eth0", ("10.77.0.{}", "fd77::{}")), ("10.77.0.0/16", ("10.77.0.{}",)), ("fd77::/16", ("fd77::{}",)),
                                  ("eth0,lo", ("10.77.0.{}", "fd77::{}", "127.0.0.1", "::1"))):
            with self.subTest(interface=interface):
                job = self.start(1, "--interface", interface)
                found = self.await_listeners(1, len(chosen))
                self.expect_all_met(job, 4)
                for number, places in enumerate(found):
                    self.assertEqual({address for address, _ in places}, {each.format(number + 1) for each in chosen})

    def test_rank_0_listens_at_the_chosen_addresses_and_where_the_others_are_told_to_come(self):
        for master, chosen in (("10.77.0.1", {"10.77.0.1"}), ("fd77::1", {"10.77.0.1", "fd77::1"})):
            with self.subTest(master=master):
                ranks = []
                for rank in (0, 1):
                    if rank == 1:
                        until = time.monotonic() + HANG_GUARD
                        while len(found := {address for address, port in listening(self.hosts.hosts[0]) if port == 27000}) < len(chosen):
                            self.assertLess(time.monotonic(), until, "rank 0 does not listen")
                            time.sleep(0.02)
                        self.assertEqual(found, chosen)
                    variables = environment(RANK=str(rank), WORLD_SIZE="2", MASTER_ADDR=master, MASTER_PORT="27000",
                                            WEFT_INTERFACE="10.77.0.0/16", WEFT_JOB_SECRET="a test")
                    ranks.append(subprocess.Popen(self.hosts.hosts[rank].command(RANK, "meet"), stdin=subprocess.PIPE,
                                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=variables))
                    self.addCleanup(ranks[-1].communicate)
                    self.addCleanup(ranks[-1].kill)
                for rank, process in enumerate(ranks):
                    process.stdin.write("\n")
                    process.stdin.flush()
                for rank, process in enumerate(ranks):
                    out, err = process.communicate(timeout=HANG_GUARD)
                    self.assertEqual((process.returncode, out), (0, f"rank {rank} has met 1\n"), err)


if __name__ == "__main__":
    unittest.main()
