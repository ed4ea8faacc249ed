"""Wrong command lines get one clear line and start nothing."""

import json
import os
import subprocess
import tempfile
import unittest

from launcher import HANG_GUARD, WEFT, environment, run, shell


def weft(*arguments, **env):
    return subprocess.run([WEFT, *arguments], capture_output=True, text=True, timeout=HANG_GUARD, env=environment(**env))


class CommandLineTest(unittest.TestCase):
    def expect_refusal(self, result, code, *parts):
        self.assertEqual(result.returncode, code, result.stderr)
        self.assertEqual(result.stdout, "")
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for part in parts:
            self.assertIn(part, result.stderr)

    def test_a_number_of_ranks_outside_1_to_4096_is_refused(self):
        for ranks in ("0", "-1", "4097", "two", "", "1.5", "99999999999999999999"):
            with self.subTest(ranks=ranks):
                self.expect_refusal(run("-n", ranks, "true"), 2, f"-n {ranks} ", "integer from 1 to 4096")

    def test_what_is_missing_is_named(self):
        self.expect_refusal(run("true"), 2, "-n is required")
        self.expect_refusal(run("-n", 2), 2, "program to start is missing")
        self.expect_refusal(run("-n", 2, "--"), 2, "program to start is missing")

    def test_bad_values_of_options_are_refused(self):
        self.expect_refusal(run("-n", 2, "--env", "NAME", "true"), 2, "--env NAME ", "NAME=VALUE")
        self.expect_refusal(run("-n", 2, "--env", "=1", "true"), 2, "NAME=VALUE")
        self.expect_refusal(run("-n", 2, "--env", "WEFT_RANK=0", "true"), 2, "sets WEFT_RANK itself")
        self.expect_refusal(run("-n", 2, "--bind", "socket", "true"), 2, "--bind socket ", "core, node or none")
        for option in ("--timeout", "--explain"):  # a guard whose time is empty, as that of an unset variable, would guard nothing
            self.expect_refusal(run("-n", 2, option, "", "true"), 2, option, "empty")
            self.expect_refusal(run("-n", 2, f"{option}=", "true"), 2, option)
        for seconds in ("0", "-1", "soon", "0s", "1d", "1 s", "s"):
            self.expect_refusal(run("-n", 2, "--timeout", seconds, "true"), 2, f"--timeout {seconds} ", "such as 500ms, 30s or 2m")
        self.expect_refusal(run("-n", 2, "--bogus", "true"), 2, "there is no option --bogus (")
        self.expect_refusal(run("-n", 2, "--tag-outputs", "true"), 2, "there is no option --tag-outputs: did you mean --tag-output?")
        self.expect_refusal(run("-n"), 2, "-n needs a value: -n N")

    def test_the_names_of_other_launchers_for_the_number_of_ranks_are_known(self):
        for option in (["-np", "2"], ["--np", "2"], ["-np=2"], ["--tag-output", "-np", "2"], ["--timeout", "60", "-np", "2"]):
            with self.subTest(option=option):
                result = run(*option, "sh", "-c", "echo $WEFT_SIZE $1", "x", "-np")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
                self.assertEqual([line.split("] ")[-1] for line in result.stdout.splitlines()], ["2 -np"] * 2)
        for ranks in ("0", "two"):
            self.expect_refusal(run("-np", ranks, "true"), 2, f"-n {ranks} ", "integer from 1 to 4096")
        self.expect_refusal(run("-np"), 2, "-n needs a value")
        self.expect_refusal(run("-N", 2, "true"), 2, "there is no option -N: the number of ranks is -n N")

    def test_durations_have_units(self):
        for duration in ("60", "60s", "1m", "1min", "1h", "60000ms", "0.5m"):
            with self.subTest(duration=duration):
                result = run("-n", 1, "--timeout", duration, "--explain", duration, "true")
                self.assertEqual((result.returncode, result.stderr), (0, ""))
        ended = run("-n", 1, "--timeout", "100ms", "sleep", "60")
        self.assertEqual(ended.returncode, 124)
        self.assertIn("0.1 s", ended.stderr)
        self.assertIn("duration such as 500ms, 30s or 2m", weft("info", WEFT_PEER_TIMEOUT="soon").stderr)
        for text, value in (("2m", "120"), ("1500ms", "1.5"), ("7", "7")):
            self.assertEqual(json.loads(weft("info", "peer_timeout", "--json", WEFT_PEER_TIMEOUT=text).stdout)["value"], value)
        for text, value in (("20us", "20"), ("1ms", "1000"), ("7", "7")):
            self.assertEqual(json.loads(weft("info", "spin", "--json", WEFT_SPIN=text).stdout)["value"], value)

    def test_a_program_that_is_not_there_is_127(self):
        self.expect_refusal(run("-n", 2, "no-such-program-anywhere"), 127, "no-such-program-anywhere", "not in PATH")
        self.expect_refusal(run("-n", 2, "./no-such-program"), 127, "No such file")

    def test_a_program_that_cannot_be_executed_is_126(self):
        with tempfile.TemporaryDirectory() as folder:
            plain = os.path.join(folder, "plain")
            with open(plain, "w") as file:
                file.write("text")
            self.expect_refusal(run("-n", 2, plain), 126, plain, "not executable")
            self.expect_refusal(run("-n", 2, folder), 126, "directory")
            os.chmod(plain, 0o755)
            self.expect_refusal(run("-n", 2, plain), 126, plain, "Exec format error")

    def test_too_few_open_files_for_the_ranks_are_noticed_before_anything_starts(self):
        result = subprocess.run(["sh", "-c", f'ulimit -n 64; exec "{WEFT}" run -n 40 echo started'], capture_output=True,
                                text=True, timeout=HANG_GUARD, env=environment())
        self.expect_refusal(result, 1, "40 ranks need 232 open files", "the limit is 64")

    def test_options_after_the_program_belong_to_the_program(self):
        result = run("-n", 1, "echo", "-n", "5", "--timeout", "x")
        self.assertEqual((result.returncode, result.stdout), (0, "5 --timeout x"))
        result = run("-n", 1, "--", "echo", "--", "x")
        self.assertEqual(result.stdout, "-- x\n")

    def test_env_sets_variables_of_the_ranks(self):
        result = shell(1, 'echo "$ONE|$TWO|$THREE"', "--env", "ONE=a=b c", "--env", "TWO=", "--env", "THREE=3")
        self.assertEqual(result.stdout, "a=b c||3\n")

    def test_binding_gives_each_rank_one_core(self):
        count = "import os; print(len(os.sched_getaffinity(0)))"
        bound = run("-n", 3, "--bind", "core", "python3", "-c", count)
        self.assertEqual(bound.returncode, 0, bound.stderr)
        free = run("-n", 1, "--bind", "none", "python3", "-c", count)
        self.assertEqual(int(free.stdout), len(os.sched_getaffinity(0)))
        if len(os.sched_getaffinity(0)) > 1:
            self.assertTrue(all(int(line) <= len(os.sched_getaffinity(0)) for line in bound.stdout.split()))

    def test_binding_to_nodes_gives_each_rank_the_cores_of_one(self):
        processors = "import os; print(*sorted(os.sched_getaffinity(0)))"
        bound = run("-n", 3, "--bind", "node", "python3", "-c", processors)
        self.assertEqual(bound.returncode, 0, bound.stderr)
        nodes = {}
        for core in json.loads(weft("info", "--json").stdout)["host"]["cores"]:
            nodes.setdefault(core["numa_node"], []).extend(core["processors"])
        expected = {" ".join(map(str, sorted(processors))) for processors in nodes.values()}
        self.assertLessEqual(set(bound.stdout.splitlines()), expected)
        self.assertEqual(len(set(bound.stdout.splitlines())), min(3, len(nodes)))

    def test_help_and_version_are_no_errors(self):
        self.assertIn("run", weft("--help").stdout)
        for version in ("-V", "--version", "version"):
            self.assertRegex(weft(version).stdout, r"^weft \d+\.\d+\.\d+\n$")
        self.assertIn("--timeout", weft("run", "--help").stdout)
        self.assertIn("--tree", weft("study", "uts", "--help").stdout)
        for arguments in (("--help",), ("--version",), ("run", "--help"), ("info", "--help"), ("study", "uts", "--help")):
            self.assertEqual(weft(*arguments).returncode, 0)

    def test_an_unknown_command_is_refused_with_the_nearest_one(self):
        for typed, meant in (("rum", "run"), ("pref", "perf"), ("stduy", "study"), ("versoin", "version"), ("--verison", "--version")):
            self.expect_refusal(weft(typed), 2, f'"{typed}"', f'did you mean "{meant}"')

    def test_a_command_that_is_near_to_none_gets_no_suggestion(self):
        for typed in ("nonsense", "x", "go", ""):
            result = weft(typed)
            self.expect_refusal(result, 2, f'there is no command "{typed}" (')
            self.assertNotIn("did you mean", result.stderr)

    def test_an_unknown_option_is_refused_with_the_nearest_one(self):
        self.expect_refusal(weft("perf", "--round", "3"), 2, "there is no option --round: did you mean --rounds?")
        self.expect_refusal(weft("study", "uts", "--worker=3"), 2, "there is no option --worker: did you mean --workers?")
        self.expect_refusal(weft("study", "utz"), 2, 'there is no "utz": did you mean uts?')
        self.expect_refusal(weft("study"), 2, "a command is missing: parcels, chains, devices, uts, taskbench, matching")
        self.expect_refusal(weft("info", "--jsn"), 2, "there is no option --jsn: did you mean --json?")
        self.expect_refusal(weft("info", "--nonsense"), 2, "there is no option --nonsense (")

    def test_bad_values_of_studies_are_refused_in_the_same_words(self):
        for option, value, right in (("--ranks", "two", "an integer from 1 to 64"), ("--workers", "65", "an integer from 1 to 64"),
                                     ("--steps", "0", "an integer from 1 to 1000000000"), ("--chains", "4,x", "an integer from 1 to"),
                                     ("--injection", "-1", "a number from 0 to"), ("--grain", "2s", "a duration such as 20us or 2ms")):
            with self.subTest(option=option):
                shown = value.split(",")[-1]
                self.expect_refusal(weft("study", "chains", option, value), 2, f"{option} {shown} is not valid", right)
        self.expect_refusal(weft("study", "taskbench", "--kernel", "none"), 2, "--kernel none is not valid", "compute, imbalance or empty")
        self.expect_refusal(weft("study", "uts", "--rounds"), 2, "--rounds needs a value: --rounds N")


if __name__ == "__main__":
    unittest.main()
