"""Ranks that cannot be started: the reason given is the true one."""

import os
import tempfile
import unittest

from launcher import RANK, environment, run


class StartTest(unittest.TestCase):
    def test_a_binding_that_the_kernel_refuses_names_the_processors(self):
        # hwloc is told of a host with more processors than any of today has.
        result = run("-n", 64, "--bind", "core", RANK, "gather",
                     env=environment(HWLOC_SYNTHETIC="node:2 core:512 pu:1"))
        if result.returncode == 0:
            self.skipTest("this build has no hwloc, or it does not take HWLOC_SYNTHETIC")
        self.assertEqual(result.returncode, 126, result.stderr)
        self.assertRegex(result.stderr, r"rank \d cannot be started: it cannot be bound to the processors \d+ \(--bind\)")
        self.assertNotIn("cannot be executed", result.stderr)

    def test_a_script_whose_interpreter_is_missing_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            script = os.path.join(folder, "script")
            with open(script, "w") as file:
                file.write("#!/no/such/interpreter\n")
            os.chmod(script, 0o755)
            result = run("-n", 2, script)
        self.assertEqual(result.returncode, 126)
        self.assertIn("the interpreter or loader that it names is not there", result.stderr)

    def test_a_file_that_is_no_program_says_so(self):
        with tempfile.TemporaryDirectory() as folder:
            program = os.path.join(folder, "program")
            with open(program, "w") as file:
                file.write("no program\n")
            os.chmod(program, 0o755)
            result = run("-n", 1, program)
        self.assertEqual(result.returncode, 126)
        self.assertIn("cannot be executed: Exec format error", result.stderr)

    def test_variables_that_are_somebody_elses_are_told_once_and_change_nothing(self):
        result = run("-n", 3, os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-hello"), env=environment(WEFT_ROOT="/opt/weft"))
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(result.stderr.count("WEFT_ROOT names no attribute"), 1, result.stderr)


if __name__ == "__main__":
    unittest.main()
