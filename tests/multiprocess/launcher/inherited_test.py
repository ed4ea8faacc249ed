"""What `weft run` was started with: signals that are ignored or blocked, and variables that cannot be."""

import os
import signal
import subprocess
import unittest

from launcher import HANG_GUARD, WEFT, environment, run

TELL = ("grep", "-E", "Sig(Blk|Ign)", "/proc/self/status")


def bits(*signals):
    return sum(1 << number - 1 for number in signals)


def told(text, name):
    """What the ranks tell of their signals; from 32 on they are for the C library."""
    return [int(line.split()[1], 16) & 0x7FFFFFFF for line in text.splitlines() if line.startswith(name)]


class InheritedTest(unittest.TestCase):
    def start(self, before, *command):
        return subprocess.run([WEFT, "run", "-n", "2", "--timeout", str(HANG_GUARD), "--", *command], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=HANG_GUARD + 20, env=environment(), preexec_fn=before,
                              restore_signals=False)

    def test_a_launcher_that_is_started_to_ignore_the_ends_of_children_learns_of_them(self):
        def ignore():
            signal.signal(signal.SIGPIPE, signal.SIG_DFL)
            signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        result = self.start(ignore, *TELL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(told(result.stdout, "SigIgn"), [0, 0], "ranks learn of the ends of their children as well")
        self.assertEqual(self.start(ignore, "sh", "-c", "sleep 0.1 & wait; exit 6").returncode, 6)

    def test_ranks_get_the_signals_that_the_launcher_was_started_to_block_and_ignore(self):
        def change():
            for number in (signal.SIGPIPE, signal.SIGXFSZ):
                signal.signal(number, signal.SIG_DFL)
            signal.signal(signal.SIGUSR2, signal.SIG_IGN)
            signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM])
        result = self.start(change, *TELL)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(told(result.stdout, "SigBlk"), [bits(signal.SIGUSR1, signal.SIGCHLD, signal.SIGALRM)] * 2)
        self.assertEqual(told(result.stdout, "SigIgn"), [bits(signal.SIGUSR2)] * 2)

    def test_a_variable_with_a_bad_value_starts_nothing_and_is_told_in_one_line(self):
        for name, value, right in (("WEFT_NETWORK", "carrier", "shm"), ("WEFT_PACKETS", "many", "integer"), ("WEFT_PORTS", "5-x", "LO-HI"),
                                   ("WEFT_LOG", "loud", "")):
            for options, variables in ((("--env", f"{name}={value}"), {}), ((), {name: value})):
                with self.subTest(name=name, options=options):
                    result = run("-n", 2, *options, "--", "echo", "started", env=environment(**variables))
                    self.assertEqual((result.returncode, result.stdout), (2, ""))
                    self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                    for part in ("weft run: ", name, value, right):
                        self.assertIn(part, result.stderr)

    def test_programs_of_weft_tell_a_bad_variable_in_one_line(self):
        folder = os.environ["WEFTDEV_BIN_DIR"]
        for name in ("example-hello", "example-ring", "weft-kmer"):
            with self.subTest(name=name):
                result = subprocess.run([os.path.join(folder, name)], capture_output=True, text=True, timeout=HANG_GUARD,
                                        env=environment(WEFT_PACKETS="many"), stdin=subprocess.DEVNULL)
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assertIn("WEFT_PACKETS=many is not valid", result.stderr)


if __name__ == "__main__":
    unittest.main()
