"""Active messages over the libraries that are installed."""

import unittest

from perf import perf

PEERS = ("ucp", "mpich", "openmpi", "openmpi-ucx")


class ActiveMessagesTest(unittest.TestCase):
    def test_contents_are_right_over_every_library(self):
        for size in ("8", "200K"):
            with self.subTest(size):
                names = ",".join(f"rate/{over}" for over in ("serial-handler", *PEERS))
                result = perf("--verify", "--only", names, "--size", size, "--seconds", "0.01")
                self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
                self.assertIn("rate/serial-handler", result.stdout)
                for line in result.stdout.splitlines():
                    if "is left out" not in line:
                        self.assertTrue(line.endswith("messages, 0 lost, 0 duplicated, 0 torn"), line)
                        self.assertGreater(int(line.split(" messages,")[0].split()[-1]), 0)

    def test_every_library_has_a_rate_and_a_latency_or_is_named(self):
        names = ",".join(f"{workload}/{over}" for workload in ("rate", "latency") for over in PEERS)
        result = perf("--rounds", "1", "--seconds", "0.01", "--only", names)
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for over in PEERS:
            told = [line for line in result.stdout.splitlines() if line.split()[:1] == [over]]
            self.assertTrue(len(told) >= 2 or f"{over} is left out: " in result.stdout, result.stdout)


if __name__ == "__main__":
    unittest.main()
