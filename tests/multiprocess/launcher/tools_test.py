"""What holds for every tool: help that a terminal shows whole, output that is lost is told, wrong options, nothing unfinished stays."""

import fcntl
import itertools
import os
import pty
import shutil
import signal
import struct
import subprocess
import tempfile
import termios
import time
import unittest
from pathlib import Path

BIN = Path(os.environ["WEFTDEV_BIN_DIR"])
WEFT = str(BIN / "weft")
KMER = str(BIN / "weft-kmer")
HANG_GUARD_S = 120
COMMANDS = [[WEFT], [WEFT, "run"], [WEFT, "info"], [WEFT, "perf"], [WEFT, "study"], [KMER], [KMER, "synth"],
            *([WEFT, "study", name] for name in ("parcels", "chains", "uts", "taskbench", "matching"))]
# A call of each kind of output, each of moments.
PRINTING = [[WEFT, "--help"], [WEFT, "--version"], [WEFT, "--manual"], [WEFT, "--completion", "bash"], [WEFT, "run", "--help"],
            [WEFT, "info"], [WEFT, "info", "--json"], [WEFT, "info", "--markdown"], [WEFT, "info", "packet_size"],
            [WEFT, "perf", "--list"], [WEFT, "perf", "--only", "latency/bare-cache-line", "--rounds", "1", "--seconds", "0.01"],
            [WEFT, "perf", "--only", "latency/bare-cache-line", "--rounds", "1", "--seconds", "0.01", "--json", "-"],
            [WEFT, "study", "matching", "--mode", "replay", "--decompositions", "5pt:2x2", "--runs", "1", "--orders", "in-order"],
            [KMER, "--help"], [KMER, "--version"], [KMER, "synth", "--help"]]


def run(command, **options):
    return subprocess.run(command, text=True, check=False, timeout=HANG_GUARD_S, stdin=subprocess.DEVNULL, stderr=subprocess.PIPE,
                          **options)


def printed_on_a_terminal(command, columns):
    """What a command prints on a terminal of so many columns."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs) as process:
        os.close(theirs)
        output = b""
        try:
            while part := os.read(ours, 65536):
                output += part
        except OSError:  # the other end is closed
            pass
        os.close(ours)
        process.wait(HANG_GUARD_S)
    return output.decode()


class Help(unittest.TestCase):
    def test_is_as_wide_as_the_terminal_within_bounds(self):
        for command in COMMANDS:
            piped = run([*command, "--help"], stdout=subprocess.PIPE)
            self.assertEqual((piped.returncode, piped.stderr), (0, ""), command)
            self.assertLessEqual(max(map(len, piped.stdout.splitlines())), 80, command)
            for columns, most in ((30, 60), (72, 72), (300, 100)):
                text = printed_on_a_terminal([*command, "--help"], columns)
                most = 80 if command == [WEFT] else most  # the list of commands is as it is
                self.assertLessEqual(max(map(len, text.splitlines())), most, (command, columns))
                self.assertEqual(text.split(), piped.stdout.split(), (command, columns))


class CommandsThatAreProgramsOfTheirOwn(unittest.TestCase):
    def test_are_the_same_by_either_name(self):
        for command in ("perf", "study"):
            for option in ("--help", "--manual", "--no-such-option"):
                with self.subTest(command=command, option=option):
                    by_weft, alone = (run(words, stdout=subprocess.PIPE) for words in ([WEFT, command, option], [f"{WEFT}-{command}", option]))
                    self.assertEqual((alone.returncode, alone.stdout, alone.stderr), (by_weft.returncode, by_weft.stdout, by_weft.stderr))
                    self.assertTrue(alone.stdout + alone.stderr)

    def test_are_named_where_they_are_missing(self):
        with tempfile.TemporaryDirectory() as folder:
            weft = shutil.copy(WEFT, folder)
            for words in (["perf", "--help"], ["study", "--help"], ["--completion", "bash"]):
                with self.subTest(words=words):
                    result = run([weft, *words], stdout=subprocess.PIPE)
                    self.assertEqual(result.returncode, 1)
                    name = "perf" if words[0].startswith("--") else words[0]
                    self.assertRegex(result.stderr, rf"^weft: `weft {name}` is a program of its own, {folder}/weft-{name}, which cannot be "
                                     r"started: No such file or directory; build it \(`./dev build` builds everything\), or install it beside weft\n$")
            self.assertEqual(run([weft, "info", "--json"], stdout=subprocess.PIPE).returncode, 0)


class LostOutput(unittest.TestCase):
    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_is_told_in_one_line_by_every_tool(self):
        for command in PRINTING:
            with open("/dev/full", "w", encoding="utf-8") as full:
                result = run(command, stdout=full)
            self.assertEqual(result.returncode, 1, (command, result.stderr))
            self.assertRegex(result.stderr.splitlines()[-1], r"^weft[a-z -]*: (error: )?standard output cannot be written", command)
            self.assertEqual(result.stderr.count("standard output"), 1, command)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_is_told_of_files_too_before_anything_is_measured_where_that_is_known(self):
        perf = [WEFT, "perf", "--only", "latency/bare-cache-line", "--rounds", "1", "--seconds", "0.01"]
        study = [WEFT, "study", "matching", "--mode", "replay", "--decompositions", "5pt:2x2", "--runs", "1", "--orders", "in-order"]
        for command in (perf, study):
            result = run([*command, "--json", "/dev/full"], stdout=subprocess.DEVNULL)
            self.assertEqual(result.returncode, 1)
            self.assertIn("--json /dev/full: No space left on device", result.stderr)
        for command in ([WEFT, "perf", "--seconds", "60"], [WEFT, "study", "chains", "--rounds", "100"]):
            result = run([*command, "--json", "/no/such/folder/x.json"], stdout=subprocess.DEVNULL)
            self.assertEqual((result.returncode, result.stderr),
                             (1, f"{Path(WEFT).name} {command[1]}: --json /no/such/folder/x.json: No such file or directory\n"))


class WrongOptions(unittest.TestCase):
    def test_end_every_tool_with_exit_code_2_and_one_line(self):
        for command, name in (([WEFT, "study", "--mode", "x"], "--mode"), ([WEFT, "study", "matching", "--mode", "x"], "'x'"),
                              ([WEFT, "study", "matching", "--engines", "q"], "'q'"),
                              ([WEFT, "study", "matching", "--decompositions", "5pt:0x1"], "5pt:0x1"),
                              ([WEFT, "study", "matching", "--orders", "q"], "'q'"), ([WEFT, "study", "matching", "--runs", "0"], "--runs 0"),
                              ([WEFT, "study", "matching", "--threads", "1,65"], "--threads 65"),
                              ([WEFT, "study", "matching", "--mode", "trace"], "--trace"),
                              ([WEFT, "study", "chains", "--variants", "q"], "'q'"), ([WEFT, "study", "uts", "--tree", "q"], "'q'"),
                              ([WEFT, "study", "uts", "--variants", "plain-mpi"], "plain-mpi"),
                              ([WEFT, "study", "taskbench", "--pattern", "q"], "'q'"), ([WEFT, "study", "parcels", "--ranks", "3"], "--ranks"),
                              ([WEFT, "study", "chains", "--chains", "1,2", "--bytes", "8,16K"], "--bytes"),
                              ([WEFT, "study", "chains", "--bytes", "16Q"], "--bytes 16Q"),
                              ([WEFT, "perf", "--size", "16Q"], "--size 16Q"), ([WEFT, "perf", "--rounds", "x"], "--rounds x"),
                              ([WEFT, "info", "no_such_attribute"], "no_such_attribute"), ([KMER, "--buffer", "16Q", "-k", "5", "-o", "x", "y"], "16Q")):
            result = run(command, stdout=subprocess.PIPE)
            self.assertEqual((result.returncode, result.stdout), (2, ""), (command, result.stderr))
            self.assertEqual(len(result.stderr.splitlines()), 1, (command, result.stderr))
            self.assertIn(name, result.stderr, command)


def heed_signals():
    """In a child: whoever runs the tests may ignore or block signals (nohup, background jobs, supervisors that read them from a
    descriptor), and both would be inherited."""
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    for number in numbers:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, numbers)


class CtrlC(unittest.TestCase):
    """Nothing unfinished stays, what was there before is as it was, and the end is that of the signal."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="weft-tools-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)
        (self.directory / "tmp").mkdir()

    def interrupt(self, command, begun, ending=signal.SIGINT, with_children=False):
        """Starts the command, sends it the signal once a file that matches `begun` (and a process that it has started) is there,
        and waits for its end."""
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                              cwd=self.directory, env={**os.environ, "TMPDIR": str(self.directory / "tmp")},
                              preexec_fn=heed_signals) as process:
            try:
                deadline = time.monotonic() + HANG_GUARD_S
                children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
                while not list(self.directory.glob(begun)) or (with_children and not children.read_text()):
                    self.assertIsNone(process.poll(), f"{command} has ended before it could be interrupted")
                    self.assertLess(time.monotonic(), deadline, f"{command} has not begun {begun}")
                    time.sleep(0.005)
                process.send_signal(ending)
                self.assertEqual(process.wait(HANG_GUARD_S), -ending)
            finally:
                process.kill()

    def files(self):
        return sorted(path.relative_to(self.directory).as_posix() for path in self.directory.rglob("*") if path.is_file())

    def test_leaves_results_as_they_were(self):
        (self.directory / "old.json").write_text("before\n")
        for ending, with_children in itertools.product((signal.SIGINT, signal.SIGTERM, signal.SIGHUP), (False, True)):
            self.interrupt([WEFT, "perf", "--only", "latency/bare-cache-line", "--rounds", "5", "--seconds", "60", "--json", "old.json"],
                           "old.json.partial-*", ending, with_children)
            self.assertEqual(self.files(), ["old.json"])
            self.assertEqual((self.directory / "old.json").read_text(), "before\n")

    def test_leaves_no_folder_of_a_study(self):
        self.interrupt([WEFT, "study", "matching", "--mode", "live", "--engines", "list", "--runs", "1000"], "tmp/weft-experiment-*")
        self.assertEqual(list((self.directory / "tmp").iterdir()), [])

    def test_leaves_no_part_of_synthetic_reads_nor_of_counts(self):
        self.interrupt([KMER, "synth", "--length", "50M", "-o", "reads.fq"], "reads.fq.partial-*")
        self.assertEqual(self.files(), [])
        made = run([KMER, "synth", "--length", "2M", "--coverage", "20", "-o", str(self.directory / "reads.fq")], stdout=subprocess.DEVNULL)
        self.assertEqual(made.returncode, 0, made.stderr)
        self.interrupt([KMER, "-k", "51", "-t", "1", "-o", "out", "reads.fq"], "out.json.partial-*")
        self.assertEqual(self.files(), ["reads.fq"])


if __name__ == "__main__":
    unittest.main(verbosity=2)
