"""Ranks that cannot see each other: namespaces, no /proc, no right to debug, system calls that the kernel refuses. Jobs work, or end
with the reason."""

import os
import shutil
import stat
import subprocess
import tempfile
import unittest

from weft_job import HANG_GUARD, WEFT, environment, program, run

RANK = program("isolated_rank")
WITHOUT = program("without_calls")


def can(*command):
    return shutil.which(command[0]) is not None and subprocess.run([*command, "true"], capture_output=True, timeout=HANG_GUARD).returncode == 0


class Isolation(unittest.TestCase):
    def works(self, command, ranks=3, around=()):
        result = subprocess.run([*around, WEFT, "run", "-n", str(ranks), "--timeout", str(HANG_GUARD), "--", *command],
                                stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_GUARD + 20, env=environment())
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"rank {rank} fine" for rank in range(ranks)], result.stderr)

    def test_by_nothing(self):
        self.works([RANK, "plain"])

    def test_by_namespaces_of_each_rank(self):
        for options in (["--user", "--map-root-user"], ["--user"], ["--net"], ["--pid", "--fork"], ["--pid", "--fork", "--mount-proc"],
                        ["--ipc", "--uts", "--mount"], ["--user", "--map-root-user", "--net", "--pid", "--fork", "--mount-proc"]):
            with self.subTest(options=options):
                if not can("unshare", *options):
                    self.skipTest(f"the kernel does not permit unshare {' '.join(options)}")
                self.works(["unshare", *options, RANK, "plain"])

    def test_by_namespaces_of_the_job(self):
        for options in (["--pid", "--fork"], ["--pid", "--fork", "--mount-proc"], ["--net"], ["--user", "--map-root-user"]):
            with self.subTest(options=options):
                if not can("unshare", *options):
                    self.skipTest(f"the kernel does not permit unshare {' '.join(options)}")
                self.works([RANK, "plain"], around=["unshare", *options])

    def test_by_the_absence_of_proc(self):
        hide = ["unshare", "--mount", "sh", "-c", 'mount -t tmpfs none /proc && exec "$@"', "sh"]
        if not can(*hide):
            self.skipTest("the kernel does not permit to hide /proc")
        self.works([*hide, RANK, "plain"])
        self.works([RANK, "plain"], around=hide)

    def test_by_the_refusal_to_be_debugged(self):
        self.works([RANK, "undumpable"])

    def test_by_a_program_that_can_only_be_executed(self):
        with tempfile.TemporaryDirectory() as folder:
            os.chmod(folder, 0o755)
            copy = os.path.join(folder, "rank")
            shutil.copy(RANK, copy)
            os.chmod(copy, stat.S_IXUSR | stat.S_IXGRP | stat.S_IXOTH)
            self.works([copy, "plain"])

    def test_by_another_user_than_that_of_the_launcher(self):
        switch = ["setpriv", "--reuid", "65534", "--clear-groups"]
        if not can(*switch):
            self.skipTest("users cannot be changed here")
        self.works([*switch, RANK, "plain"])


class RefusedCalls(unittest.TestCase):
    def around(self, error, calls):
        return [WITHOUT, str(error), calls]

    def setUp(self):
        if subprocess.run([WITHOUT, "1", "membarrier", "true"], timeout=HANG_GUARD).returncode == 77:
            self.skipTest("the kernel does not permit to refuse system calls")

    def job(self, around, *command):
        return subprocess.run([*around, WEFT, "run", "-n", "2", "--timeout", str(HANG_GUARD), "--", *command], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=HANG_GUARD + 20, env=environment())

    def test_that_have_other_ways_change_nothing(self):
        for error in (1, 38):
            for calls in ("pidfd_open", "process_vm_readv,process_vm_writev", "membarrier", "madvise", "fallocate",
                          "pidfd_open,process_vm_readv,process_vm_writev,membarrier"):
                with self.subTest(error=error, calls=calls):
                    result = self.job(self.around(error, calls), RANK, "plain")
                    self.assertEqual(result.returncode, 0, result.stderr)
                    self.assertEqual(sorted(result.stdout.splitlines()), ["rank 0 fine", "rank 1 fine"])

    def test_of_files_that_could_be_executed_change_nothing(self):
        result = self.job(self.around(13, "executable_memfd"), RANK, "plain")
        self.assertEqual(result.returncode, 0, result.stderr)

    def test_without_which_nothing_goes_are_named(self):
        for call, error, text in (("memfd_create", 1, "Operation not permitted"), ("memfd_create", 38, "Function not implemented"),
                                  ("epoll_create1", 1, "Operation not permitted"), ("epoll_create1", 38, "Function not implemented"),
                                  ("signalfd4", 1, "Operation not permitted"), ("socketpair", 1, "Operation not permitted")):
            with self.subTest(call=call, error=error):
                result = self.job(self.around(error, call), RANK, "plain")
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(f"{call.rstrip('4')}: {text}", result.stderr)

    def test_of_ranks_alone_are_named_as_well(self):
        result = self.job([], *self.around(1, "memfd_create"), RANK, "plain")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("memfd_create: Operation not permitted", result.stderr)


class ClosedDescriptors(unittest.TestCase):
    def test_of_the_launcher_are_the_reason_that_is_told(self):
        for how in ("closed", "reused"):
            with self.subTest(how=how):
                result = run(2, RANK, how)
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("the program has closed a descriptor that it did not open", result.stderr)


if __name__ == "__main__":
    unittest.main()
