"""What is typed belongs to who is in the foreground."""

import os
import pty
import select
import signal
import time
import unittest

from launcher import HANG_GUARD, WEFT, environment


class Shell:
    """An interactive shell with job control on a terminal of its own."""

    def __init__(self):
        self.process, self.terminal = pty.fork()
        if self.process == 0:
            os.execvpe("bash", ["bash", "--norc", "--noprofile", "--noediting", "-i"], environment(PS1="", HISTFILE="/dev/null"))
        self.seen = ""
        self.run("stty -echo; PS1=")
        self.expect_answer()

    def run(self, line):
        os.write(self.terminal, line.encode() + b"\n")

    def expect(self, text):
        """Reads until the text has come; what follows it is read by the next call."""
        end = time.monotonic() + HANG_GUARD
        while text not in self.seen:
            if time.monotonic() > end:
                raise AssertionError(f"{text!r} has not come: {self.seen!r}")
            if select.select([self.terminal], [], [], 0.1)[0]:
                self.seen += os.read(self.terminal, 4096).decode(errors="replace").replace("\r", "")
        before, _, self.seen = self.seen.partition(text)
        return before

    def expect_answer(self):
        self.run("echo answer-$((6 * 7))")
        return self.expect("answer-42\n")

    def close(self):
        os.close(self.terminal)  # the shell gets SIGHUP, and passes it on to its jobs
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if os.waitpid(self.process, os.WNOHANG)[0] != 0:
                return
            time.sleep(0.01)
        os.kill(self.process, signal.SIGKILL)
        os.waitpid(self.process, 0)


class TerminalTest(unittest.TestCase):
    modes = {"local": f"{WEFT} run -n 2 -- ", "agent": f"{WEFT} run --launcher-exec 'env -u' --hosts NOTHING:2 -- "}

    def setUp(self):
        self.shell = Shell()
        self.addCleanup(self.shell.close)

    def test_a_job_in_the_background_takes_nothing(self):
        for mode, start in self.modes.items():
            with self.subTest(mode=mode):
                self.shell.run(start + "sh -c 'test $WEFT_RANK = 0 || exit 0; echo up; while read line; do echo got $line; done' &")
                self.shell.expect("up\n")
                for number in range(20):
                    self.shell.run(f"echo typed-$(({number} + 0))-")
                    self.assertNotIn("got echo", self.shell.expect(f"typed-{number}-\n"))
                self.shell.run("fg")
                self.shell.expect("weft")
                self.shell.run("words for the job")
                self.shell.expect("got words for the job\n")
                os.write(self.shell.terminal, b"\x04")  # the end of the input
                self.shell.expect_answer()

    def test_a_job_in_the_foreground_reads_what_is_typed_and_may_be_stopped(self):
        for mode, start in self.modes.items():
            with self.subTest(mode=mode):
                self.shell.run(start + "sh -c 'test $WEFT_RANK = 0 || exec sleep 1000; echo up; while read line; do echo got $line; done; exit 4'")
                self.shell.expect("up\n")
                self.shell.run("one")
                self.shell.expect("got one\n")
                os.write(self.shell.terminal, b"\x1a")
                self.shell.expect("Stopped")
                self.shell.run("echo typed-$((1 + 1))-")
                self.assertNotIn("got echo", self.shell.expect("typed-2-\n"))
                self.shell.run("bg")
                self.shell.run("echo typed-$((2 + 1))-")
                self.assertNotIn("got echo", self.shell.expect("typed-3-\n"))
                self.shell.run("fg")
                self.shell.expect("weft")
                self.shell.run("two")
                self.shell.expect("got two\n")
                os.write(self.shell.terminal, b"\x03")
                self.shell.expect("ended by SIGINT")
                self.shell.expect_answer()

    def test_the_input_of_a_file_is_read_in_the_background(self):
        for mode, start in self.modes.items():
            with self.subTest(mode=mode):
                self.shell.run("echo words | " + start + "cat &")
                self.shell.expect("words\n")
                self.shell.expect_answer()


if __name__ == "__main__":
    unittest.main()
