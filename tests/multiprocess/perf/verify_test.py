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
                    self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)

    def test_contents_are_right_at_every_size_and_window(self):
        names = "matched/weft,matched-latency/weft,exchange/weft,unexpected/weft,matched-unacknowledged/weft"
        result = perf("--verify", "--only", names, "--size", "0,1,7,9,5000,70K", "--window", "1,3,64", "--seconds", "0.01")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 3 * 6 * 3 + 2 * 6)
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
        self.assertTrue(any(line.startswith("unexpected/weft at 5000 bytes, window 3 ") for line in lines))

    def test_contents_are_right_among_several_ranks(self):
        result = perf("--verify", "--only", "many-to-one,all-to-all", "--ranks", "2,3,5", "--window", "7", "--seconds", "0.01")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = [line for line in result.stdout.splitlines() if "is left out" not in line]
        for ranks in (2, 3, 5):
            self.assertTrue(any(line.startswith(f"all-to-all/weft at window 7, {ranks} ranks ") for line in lines), lines)
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
            self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)

    def test_sums_over_all_ranks_are_right(self):
        result = perf("--verify", "--only", "allreduce", "--size", "8,1K,1M", "--ranks", "2,3", "--seconds", "0.01")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        lines = [line for line in result.stdout.splitlines() if "is left out" not in line]
        for ranks in ("", ", 3 ranks"):
            self.assertTrue(any(line.startswith(f"allreduce/weft at 1024 bytes{ranks} ") for line in lines), lines)
        for line in lines:
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
            self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)

    def test_contents_are_right_with_a_progress_thread(self):
        result = perf("--verify", "--only", "matched,threads-2,shared-2,pairs-2", "--compare", "weft", "--progress-thread",
                      "--compute", "100", "--pin", "none", "--warm-up", "0", "--seconds", "0.01")
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        self.assertEqual(len(result.stdout.splitlines()), 4)
        for line in result.stdout.splitlines():
            self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)

    def test_a_killed_perf_leaves_no_process(self):
        value = uuid.uuid4().hex
        mark = f"WEFTDEV_TEST_MARK={value}"
        for measurement in ("rate/bare-ring-buffer", "rate/serial-handler"):
            with self.subTest(measurement):
                front = subprocess.Popen([WEFT, "perf", "--only", measurement, "--seconds", "20"], stdout=subprocess.DEVNULL,
                                         stderr=subprocess.DEVNULL, env={**os.environ, "WEFTDEV_TEST_MARK": value})
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
