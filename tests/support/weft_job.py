"""Starts programs through `weft run` and sees what they leave behind."""

import contextlib
import os
import random
import re
import socket
import subprocess
import sys
import unittest

WEFT = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "weft")
HANG_GUARD = 240  # seconds; generous, no test waits for it to pass
# For programs whose ranks live in one process: reports are switched off for jobs of several (tests/CMakeLists.txt).
RACE_REPORTS = {"TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "").replace("report_bugs=0:", "")}
# The tier quick looks at a part of what some tests vary, and the tier full at all of it: tests/CMakeLists.txt registers these twice.
BRIEF = os.environ.get("WEFTDEV_BRIEF") == "1"
thorough = unittest.skipIf(BRIEF, "for the tier full")
FOREIGN = ("WEFT_", "PMI", "SLURM_", "OMPI_")


def environment(**changes):
    """This process's environment without what a launcher around the tests may have set."""
    kept = {key: value for key, value in os.environ.items()
            if not key.startswith(FOREIGN)}
    kept.update(changes)
    return kept


def first(cases, count=1):
    """All cases, or where the test is to be brief the first of them."""
    return cases[:count] if BRIEF else cases


def free_port():
    """A port below those that the kernel gives out: a connection of another test does not take it meanwhile."""
    with open("/proc/sys/net/ipv4/ip_local_port_range", encoding="ascii") as file:
        given_out = int(file.read().split()[0])
    for port in random.sample(range(4096, max(given_out, 8192)), 64):
        with socket.socket() as listener:
            try:
                listener.bind(("127.0.0.1", port))
                return port
            except OSError:
                pass
    raise AssertionError("64 ports below those that the kernel gives out are taken")


@contextlib.contextmanager
def busy_processors():
    """Another program on each processor."""
    with contextlib.ExitStack() as stack:
        for _ in os.sched_getaffinity(0):
            other = stack.enter_context(subprocess.Popen([sys.executable, "-c", "while True: pass"]))
            stack.callback(other.kill)
        yield


def program(name):
    return os.path.join(os.environ["WEFTDEV_TEST_BIN_DIR"], name)


# What a rank says whose packets have not all come back to it: they are lost, or its program has kept some.
MISSING_PACKETS = re.compile(r".*the runtime ends with \d+ of its \d+ packets missing.*")


def run(ranks, *command, guard=HANG_GUARD, env=None, may_miss_packets=False):
    """`weft run -n RANKS COMMAND` to its end; the launcher itself ends a job that hangs. No rank may lose packets."""
    result = subprocess.run([WEFT, "run", "-n", str(ranks), "--timeout", str(guard), "--", *map(str, command)], stdin=subprocess.DEVNULL,
                          capture_output=True, text=True, timeout=guard + 20, env=env or environment())
    told = MISSING_PACKETS.search(result.stderr)
    assert told is None or may_miss_packets, told.group(0)
    return result


# Segments of Open MPI, of MPICH and of libfabric (process:user:endpoint), which tests that run meanwhile may have.
OF_OTHERS = re.compile(r"vader_segment\.|ucx_shm|mpich|\d+:\d+:\d+$")


def shared_memory():
    return sorted(name for name in os.listdir("/dev/shm") if not OF_OTHERS.match(name))
