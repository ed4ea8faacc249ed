"""weft over verbs, in virtual machines with soft-RoCE. Run by `./dev test --rdma`; WEFTDEV_BIN_DIR: the programs."""

import os
import shlex
import time
import unittest
from pathlib import Path

import guest

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["WEFTDEV_BIN_DIR"]).resolve().parent
# Of the whole run. Every instruction of a guest is emulated: a cold and slow machine takes several times as long as a quick one.
LIMIT_S = 1200
END = time.monotonic() + LIMIT_S


def job(name):
    """The script of a guest."""
    return (f"weft={shlex.quote(str(BUILD))}\nrdma={shlex.quote(str(HERE))}\n" + (HERE / "jobs" / "checks.sh").read_text() +
            (HERE / "jobs" / name).read_text())


class SoftRoce(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        if lacks := guest.missing():
            raise RuntimeError(lacks)  # whoever asks for guests wants to know

    def start(self, name, **options):
        machine = guest.Guest(guest.default_folder(), job(name), **options)
        self.addCleanup(machine.close)
        return machine

    def require(self, machine):
        """Requires that a guest comes to its end, that it has checked something, and that all of it has passed."""
        code = machine.wait(max(0, END - time.monotonic()))
        output = machine.output()
        self.assertEqual(code, 0, output[-6000:])
        self.assertIn("\ncheck: passed ", output)

    def test_ranks_on_one_host(self):
        self.require(self.start("one_host.sh"))

    def test_ranks_on_two_hosts(self):
        port = guest.free_port()
        self.start("other_host.sh", number=2, link=f"listen=127.0.0.1:{port}")
        self.require(self.start("two_hosts.sh", number=1, link=f"connect=127.0.0.1:{port}"))


if __name__ == "__main__":
    guest.end_on_signals()
    unittest.main(verbosity=2)
