"""Standard input, output and error of a job."""

import os
import subprocess
import time
import unittest
from collections import Counter

from launcher import HANG_GUARD, WEFT, environment, run, shell

LINES = """
import os, sys
rank = os.environ["WEFT_RANK"]
for i in range(2000):
    for piece in (f"<{rank}", f" {i}", " " + "x" * (i % 300), ">\\n"):
        os.write(1, piece.encode())
"""


class OutputTest(unittest.TestCase):
    def test_lines_of_different_ranks_are_never_torn(self):
        result = run("-n", 4, "python3", "-c", LINES)
        self.assertEqual(result.returncode, 0, result.stderr)
        expected = Counter(f"<{rank} {i} {'x' * (i % 300)}>" for rank in range(4) for i in range(2000))
        self.assertEqual(Counter(result.stdout.splitlines()), expected)

    def test_tagged_lines_begin_with_their_rank(self):
        result = shell(2, "printf 'one\\n\\ntwo\\n'; echo oops >&2", "--tag-output")
        self.assertEqual(sorted(result.stdout.splitlines()), ["[0] ", "[0] one", "[0] two", "[1] ", "[1] one", "[1] two"])
        self.assertEqual(sorted(result.stderr.splitlines()), ["[0] oops", "[1] oops"])

    def test_an_unfinished_line_comes_at_the_end(self):
        self.assertEqual(shell(1, "printf 'no line break'").stdout, "no line break")
        result = shell(2, "printf $WEFT_RANK$WEFT_RANK$WEFT_RANK")
        self.assertEqual(sorted(result.stdout.split("\n")), ["000", "111"])

    def test_the_bytes_of_one_rank_pass_unchanged_whatever_the_length_of_lines(self):
        script = "head -c 3000000 /dev/zero | tr '\\0' z; printf '\\n\\n'; head -c 100 /dev/zero"
        result = subprocess.run([WEFT, "run", "-n", "1", "sh", "-c", script], capture_output=True, timeout=HANG_GUARD,
                                env=environment())
        self.assertEqual(result.stdout, b"z" * 3000000 + b"\n\n" + b"\0" * 100)

    def test_a_slow_reader_loses_nothing(self):
        process = subprocess.Popen([WEFT, "run", "-n", "2", "sh", "-c", "yes 0123456 | head -c 8000000"],
                                   stdout=subprocess.PIPE, env=environment())
        time.sleep(0.5)  # the pipes fill up meanwhile
        out, _ = process.communicate(timeout=HANG_GUARD)
        self.assertEqual(process.returncode, 0)
        self.assertEqual(len(out), 16000000)
        self.assertEqual(set(out.splitlines()), {b"0123456"})

    def test_a_reader_that_goes_away_ends_the_job(self):
        process = subprocess.Popen([WEFT, "run", "-n", "2", "yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                   env=environment())
        process.stdout.read(10)
        process.stdout.close()
        self.assertEqual(process.wait(timeout=HANG_GUARD), 128 + 13)
        process.stderr.close()

    def test_output_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "wb") as full:
            result = subprocess.run([WEFT, "run", "-n", "1", "echo", "lost"], stdout=full, stderr=subprocess.PIPE, text=True,
                                    timeout=HANG_GUARD, env=environment())
        self.assertEqual(result.returncode, 1)
        self.assertIn("standard output cannot be written", result.stderr)

    def test_a_reader_that_never_reads_does_not_outlast_the_time_limit(self):
        process = subprocess.Popen([WEFT, "run", "-n", "2", "--timeout", "0.3", "yes"], stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL, env=environment())
        self.assertEqual(process.wait(timeout=HANG_GUARD), 124)
        process.stdout.close()

    def test_rank_0_reads_the_input_and_the_others_read_nothing(self):
        result = shell(3, 'echo "$WEFT_RANK: $(cat)"', input="words\n")
        self.assertEqual(sorted(result.stdout.splitlines()), ["0: words", "1: ", "2: "])

    def test_last_words_stand_before_the_line_about_the_end(self):
        result = shell(1, "echo last words >&2; exit 5")
        self.assertRegex(result.stderr, r"^last words\nweft run: rank 0 \(pid \d+\) exited with code 5\n$")

    def test_closed_standard_descriptors_do_no_harm(self):
        result = subprocess.run(["sh", "-c", f'"{WEFT}" run -n 2 sh -c "echo out; echo err >&2" <&- >&- 2>&-'],
                                timeout=HANG_GUARD, env=environment())
        self.assertEqual(result.returncode, 0)

    def test_ranks_get_no_descriptor_of_the_launcher_but_the_one_that_they_join_by(self):
        result = shell(2, "ls /proc/self/fd", env=environment())
        # 0, 1, 2, and the folder that ls reads; and one of each rank's own
        found = Counter(result.stdout.split())
        own = found - Counter({"0": 2, "1": 2, "2": 2, "3": 2})
        self.assertEqual(sum(found.values()), 10, found)
        self.assertEqual(sum(own.values()), 2, found)

    def test_output_to_a_file_is_complete(self):
        path = os.path.join(os.environ.get("TMPDIR", "/tmp"), f"weft-output-test-{os.getpid()}")
        try:
            with open(path, "wb") as file:
                subprocess.run([WEFT, "run", "-n", "4", "sh", "-c", "yes line | head -n 5000"], stdout=file, check=True,
                               timeout=HANG_GUARD, env=environment())
            with open(path, "rb") as file:
                self.assertEqual(file.read(), b"line\n" * 20000)
        finally:
            os.unlink(path)


if __name__ == "__main__":
    unittest.main()
