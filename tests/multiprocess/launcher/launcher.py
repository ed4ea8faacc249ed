"""What the tests of `weft run` share: starting it, and finding what it may have left behind."""

import os
import signal
import subprocess
import time
import uuid

WEFT = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "weft")
RANK = os.path.join(os.environ["WEFTDEV_TEST_BIN_DIR"], "launcher_rank")
HANG_GUARD = 100  # seconds; generous, no test waits for it to pass


def environment(**changes):
    """This process's environment without what a launcher around the tests may have set."""
    result = {key: value for key, value in os.environ.items() if key not in FOREIGN_VARIABLES}
    result.update(changes)
    return result


FOREIGN_VARIABLES = {"WEFT_RANK", "WEFT_SIZE", "WEFT_JOB", "WEFT_BOOTSTRAP", "PMI_RANK", "PMI_FD", "PMI_SIZE", "PMIX_RANK",
                     "PMIX_NAMESPACE", "SLURM_PROCID", "SLURM_NTASKS", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"}


def run(*arguments, input=None, env=None):
    """`weft run` to its end."""
    return subprocess.run([WEFT, "run", *map(str, arguments)], input=input, stdin=None if input else subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=HANG_GUARD, env=env or environment())


def shell(ranks, script, *options, **rest):
    return run("-n", ranks, *options, "--", "sh", "-c", script, **rest)


def wait_until(condition, what):
    end = time.monotonic() + HANG_GUARD
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(f"still not so after {HANG_GUARD} s: {what}")
        time.sleep(0.01)


def with_enough_time(attempt, holds, times=(1, 5, 25)):
    """The outcome of attempt(seconds) for the least of these times of which it holds, else for the longest: on a busy machine
    processes have not come far when a limit of a moment passes."""
    for seconds in times:
        outcome = attempt(seconds)
        if holds(outcome):
            break
    return outcome


def parent_of(process):
    """The parent's id, or None for a process that is gone or only waits to be reaped."""
    try:
        with open(f"/proc/{process}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[1])


class Job:
    """A `weft run` in the background whose processes, descendants included, carry a mark in their environment."""

    def __init__(self, ranks, *command, options=()):
        self.mark = "WEFTDEV_TEST_MARK=" + uuid.uuid4().hex
        name, value = self.mark.split("=")
        self.front = subprocess.Popen([WEFT, "run", "-n", str(ranks), *options, "--", *command], stdin=subprocess.DEVNULL,
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env=environment(**{name: value}))

    def processes(self):
        found = []
        for entry in os.listdir("/proc"):
            if not entry.isdigit() or parent_of(entry) is None:
                continue
            try:
                with open(f"/proc/{entry}/environ", "rb") as file:
                    if self.mark.encode() in file.read().split(b"\0"):
                        found.append(int(entry))
            except OSError:
                pass
        return found

    def guardian(self):
        children = [process for process in self.processes() if parent_of(process) == self.front.pid]
        return children[0] if len(children) == 1 else None

    def wait_for_lines(self, count):
        """The first lines of output: ranks tell that they are up by writing one."""
        return [self.front.stdout.readline().rstrip("\n") for _ in range(count)]

    def finish(self):
        out, err = self.front.communicate(timeout=HANG_GUARD)
        return self.front.returncode, out, err

    def expect_nothing_left(self):
        wait_until(lambda: not self.processes(), f"no process of the job is left ({self.processes()})")

    def __enter__(self):
        return self

    @staticmethod
    def kill(processes):
        for process in processes:
            try:
                os.kill(process, signal.SIGKILL)
            except ProcessLookupError:
                pass  # the launcher was faster

    def __exit__(self, *_):
        self.kill(self.processes())
        self.front.stdout.close()
        self.front.stderr.close()
        self.front.wait()
