"""Two hosts with a delay between them: everything arrives, whatever is in flight.

By hand it also shows rates, weft's beside another program's:
  delay_test.py --measure MICROSECONDS 'weft run --launcher-exec $START --hosts h0:1,h1:1 -- PROGRAM'
"""

import os
import subprocess
import sys
import unittest

import weft_hosts
from weft_job import program

LINK = program("delayed_link")


class DelayedHosts(weft_hosts.Hosts):
    """h0 and h1, 10.78.0.1 and 10.78.0.2, joined by a link that delays each packet."""

    def __init__(self, microseconds):
        self.link = None
        super().__init__(0)
        try:
            self.hosts += [weft_hosts.Namespace(), weft_hosts.Namespace()]
            self.link = subprocess.Popen([LINK, *(str(host.process.pid) for host in self.hosts), str(microseconds)],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
            if self.link.stdout.readline() != "ready\n":
                raise unittest.SkipTest("no interfaces of a program (/dev/net/tun) can be made here")
            for number, host in enumerate(self.hosts):
                host.run("ip", "address", "add", f"10.78.0.{number + 1}/24", "dev", "far")
                host.run("ip", "link", "set", "far", "mtu", "65000", "txqueuelen", "20000", "up")
            self.write_starter()
        except BaseException:
            self.close()
            raise

    def close(self):
        if self.link is not None:
            self.link.stdin.close()
            self.link.wait()
            self.link.stdout.close()
        super().close()


class DelayTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        reason = weft_hosts.why_not()
        if reason:
            raise unittest.SkipTest(reason)
        cls.hosts = DelayedHosts(1000)
        cls.addClassCleanup(cls.hosts.close)

    def test_messages_of_all_sizes_arrive_whole(self):
        result = self.hosts.run("--hosts", self.hosts.names(1), "--", program("messages_rank"), "all-sizes")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertEqual(result.stdout.count("messages by"), 2)

    def test_ranks_that_end_at_once_lose_nothing(self):
        result = self.hosts.run("--hosts", self.hosts.names(1), "--", program("messages_rank"), "send-and-leave")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        with DelayedHosts(int(sys.argv[2])) as hosts:
            sys.exit(subprocess.call(hosts.hosts[0].command("sh", "-c", sys.argv[3]), env=dict(os.environ, START=hosts.starter)))
    unittest.main()
