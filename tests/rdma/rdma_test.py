"""weft over verbs, in virtual machines with soft-RoCE. Run by `./dev test --rdma`; WEFTDEV_BIN_DIR: the programs."""

import os
import shlex
import unittest
from pathlib import Path

import guest

HERE = Path(__file__).resolve().parent
BUILD = Path(os.environ["WEFTDEV_BIN_DIR"]).resolve().parent
# Every instruction of a guest is emulated: a cold and slow machine takes several times as long as a quick one.
LIMIT_S = 900


def job(name):
    """The script of a guest."""
    return (f"weft={shlex.quote(str(BUILD))}\nrdma={shlex.quote(str(HERE))}\n" + (HERE / "jobs" / "checks.sh").read_text() +
            (HERE / "jobs" / name).read_text())


@unittest.skipIf(guest.missing(), guest.missing())
class SoftRoce(unittest.TestCase):
    def report(self, machine, code):
        """Requires that a guest has checked something, and that all of it has passed."""
        output = machine.output()
        self.assertEqual(code, 0, output[-6000:])
        self.assertIn("\ncheck: passed ", output)

    def test_ranks_on_one_host(self):
        machine = guest.Guest(guest.default_folder(), job("one_host.sh"))
        self.report(machine, machine.wait(LIMIT_S))

    def test_ranks_on_two_hosts(self):
        port = guest.free_port()
        other = guest.Guest(guest.default_folder(), job("other_host.sh"), number=2, link=f"listen=127.0.0.1:{port}")
        try:
            machine = guest.Guest(guest.default_folder(), job("two_hosts.sh"), number=1, link=f"connect=127.0.0.1:{port}")
            code = machine.wait(LIMIT_S)
        finally:
            other.close()
        self.report(machine, code)


if __name__ == "__main__":
    unittest.main(verbosity=2)
