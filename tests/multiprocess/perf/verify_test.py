"""`weft perf --verify`, and how its processes end."""

import os
import signal
import subprocess
import time
import unittest
import uuid

from perf import HANG_GUARD, WEFT, perf


def processes_with(mark):
    found = []
    for entry in os.listdir("/proc"):
        try:
            with open(f"/proc/{entry}/environ", "rb") as file:
                if entry.isdigit() and mark.encode() in file.read().split(b"\0"):
                    found.append(int(entry))
        except OSError:
            pass
    return found


def wait_until(condition, what):
    end = time.monotonic() + HANG_GUARD
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"still not so: {what}")
        time.sleep(0.01)


class VerifyTest(unittest.TestCase):
    def test_nothing_is_lost_duplicated_or_torn(self):
        for size in ("8", "1", "48", "200", "5000", "70K"):
            with self.subTest(size):
                result = perf("--verify", "--size", size, "--seconds", "0.02")
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
                lines = result.stdout.splitlines()
                self.assertGreaterEqual(len(lines), 5)
                for line in lines:
                    self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
                    self.assertGreater(int(line.split()[1]), 0)

    def test_a_killed_perf_leaves_no_process(self):
        value = uuid.uuid4().hex
        mark = f"WEFT_TEST_MARK={value}"
        for measurement in ("rate/ring", "rate/serial-handler"):
            with self.subTest(measurement):
                front = subprocess.Popen([WEFT, "perf", "--only", measurement, "--seconds", "20"], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, env={**os.environ, "WEFT_TEST_MARK": value})
                try:
                    wait_until(lambda: len(processes_with(mark)) >= 3, "the round runs")
                finally:
                    front.send_signal(signal.SIGKILL)
                    front.wait()
                wait_until(lambda: not processes_with(mark), "no process is left")

    def test_the_worker_refuses_what_is_no_task(self):
        result = perf("--worker", "everything")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertIn('--worker "everything" is not a task', result.stderr)


if __name__ == "__main__":
    unittest.main()
