"""mpiexec takes the options of other launchers: ranks, hosts, variables, several programs in one job."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BIN = Path(os.environ["WEFTDEV_BIN_DIR"])
SOURCE = Path(__file__).resolve().parent / "commands" / "say.c"


class Mpiexec(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(temporary.cleanup)
        cls.folder = Path(temporary.name).resolve()
        cls.say = cls.folder / "say"
        subprocess.run([BIN / "mpicc", "-o", cls.say, SOURCE], check=True)

    def mpiexec(self, *arguments, **variables):
        return subprocess.run([BIN / "mpiexec", *arguments], capture_output=True, text=True, timeout=120, check=False, cwd=self.folder,
                              env={**os.environ, **variables})

    def said(self, *arguments, **variables):
        result = self.mpiexec(*arguments, **variables)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        return sorted(result.stdout.splitlines())

    def line(self, rank, size, program=0, a="", b="", words="", folder=None):
        return f"{rank} of {size}, program {program} in {folder or self.folder}: A={a} B={b}" + "".join(f" [{word}]" for word in words)

    def test_ranks_and_arguments(self):
        for option in ("-n", "--n", "-np", "--np"):
            self.assertEqual(self.said(option, "2", "--oversubscribe", self.say, "it's", "a b", ":x"),
                             [self.line(rank, 2, words=("it's", "a b", ":x")) for rank in range(2)])
        self.assertEqual(self.said(self.say), [self.line(0, 1)])

    def test_variables(self):
        self.assertEqual(self.said("-genv", "A", "b c", "-x", "B", "-n", "1", self.say, B="7"), [self.line(0, 1, a="b c", b="7")])
        self.assertEqual(self.said("-genv", "A=b c", "-env", "B=7", "-n", "1", self.say), [self.line(0, 1, a="b c", b="7")])

    def test_options_that_change_nothing_here(self):
        for options in (("-v",), ("--nooversubscribe",), ("--bynode",), ("--display-map",), ("-print-rank-map",), ("--cpus-per-rank", "1"),
                        ("--bind-to", "socket"), ("-bind-to", "hwthread"), ("--map-by", ":OVERSUBSCRIBE"), ("--map-by", "ppr:2:socket"),
                        ("--bind-to", "core:overload-allowed"), ("-bind-to-none",), ("--gmca", "a", "b"), ("--prtemca", "a", "b"),
                        ("--no-oversubscribe",), ("-display-map",), ("--display", "bind"), ("--get-stack-traces",), ("-rmk", "user"),
                        ("-order-nodes", "ascending"), ("-disable-hostname-propagation",), ("--prefix", "/usr"), ("--continuous",),
                        ("--stdin", "none"), ("--merge-stderr-to-stdout",), ("--stdin", "0")):
            with self.subTest(options):
                self.assertEqual(self.said(*options, "-n", "2", self.say), [self.line(rank, 2) for rank in range(2)])

    def test_several_programs(self):
        expected = [self.line(0, 3, a="it's", words=["x y"]), self.line(1, 3, a="it's", words=["x y"]), self.line(2, 3, 1, b="2", folder="/")]
        self.assertEqual(self.said("-n", "2", "-env", "A", "it's", self.say, "x y", ":", "-n", "1", "-wdir", "/", "-env", "B", "2", self.say), expected)

    def test_hosts(self):
        (self.folder / "hosts").write_text("# ours\nlocalhost\nlocalhost slots=2\n")
        for options in (("-host", "localhost"), ("-hosts", "localhost:3"), ("-H", "localhost,localhost,localhost"), ("-host", "localhost:2,localhost"),
                        ("--map-by", "ppr:3:node:PE=1", "--host", "localhost"), ("-machine-file", "hosts"), ("-H", "localhost", "-ppn", "3"), ("-machinefile", "hosts"),
                        ("--hostfile", "hosts"), ("--map-by", "ppr:3:node", "--host", "localhost")):
            with self.subTest(options):
                self.assertEqual(self.said(*options, "-n", "3", self.say), [self.line(rank, 3) for rank in range(3)])
        self.assertEqual(self.said("-machinefile", "hosts", self.say), [self.line(rank, 3) for rank in range(3)])

    def test_lines_with_their_rank(self):
        for options in (("-l",), ("-tag-output",), ("--output", "tag")):
            self.assertEqual(self.said(*options, "-n", "2", self.say), [f"[{rank}] {self.line(rank, 2)}" for rank in range(2)])

    def test_errors_among_the_output(self):
        for options in (("-merge-stderr-to-stdout",), ("--output", "merge")):
            self.assertEqual(self.said(*options, "-n", "1", "sh", "-c", "echo wrong >&2"), ["wrong"])

    def test_what_is_refused(self):
        for arguments, line in ((("-n", "two", self.say), "mpiexec: -n two: a number of ranks is needed"),
                                (("-n", "2"), "mpiexec: no program is given"),
                                (("-n", "1", self.say, ":"), "mpiexec: no program is given"),
                                (("-n",), "mpiexec: option -n needs a value"),
                                (("-machinefile", "none", self.say), "mpiexec: the file of hosts none cannot be read"),
                                (("-bind-to", "user:0", self.say), "mpiexec: -bind-to user:0: none, core, hwthread, l3cache, numa, socket, package and "
                                 "board are known"),
                                (("--map-by", "ppr:2:socket", self.say), "mpiexec: --map-by ppr:2:socket: -n is needed with it; ppr:RANKS:node "
                                 "alone gives a number of ranks"),
                                (("--stdin", "all", self.say), "mpiexec: --stdin all: 0 and none are known"),
                                (("-output", "x", self.say), "mpiexec: -output x: tag, rank and merge are known"),
                                (("-genv", "A"), "mpiexec: option -genv needs a name and a value"),
                                (("--no-such", self.say), "mpiexec: option --no-such is not known; docs/guide/bindings/mpi.md has those that are")):
            result = self.mpiexec(*arguments)
            self.assertEqual((result.returncode, result.stderr.strip()), (2, line))


if __name__ == "__main__":
    unittest.main(verbosity=2)
