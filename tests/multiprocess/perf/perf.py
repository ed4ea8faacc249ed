"""What the tests of `weft perf` share: starting it, with and without a ucx_perftest."""

import os
import subprocess
import tempfile

WEFT = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "weft")
HANG_GUARD = 170  # seconds; generous, no test waits for it to pass
SHORT = ("--rounds", "2", "--seconds", "0.01")
# Rounds are compared only within one state of the machine: with two, none may be comparable.
ENOUGH_FOR_BARS = ("--rounds", "8", "--seconds", "0.01")

# Prints what the real one prints, without measuring anything; as the server it waits to be ended.
FAKE_UCX = """#!/bin/sh
case "$*" in
  *ucp_am_*) echo "Final:              200000      0.040     0.051     0.050      150.00     151.00    20000000    18000000" ;;
  *) exec sleep 100 ;;
esac
"""
BROKEN_UCX = """#!/bin/sh
case "$*" in
  *ucp_am_*) echo "no transport today" >&2; exit 3 ;;
  *) exec sleep 100 ;;
esac
"""


def perf(*arguments, path="/usr/bin:/bin", **environment):
    return subprocess.run([WEFT, "perf", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          timeout=HANG_GUARD, env={**os.environ, "PATH": path, **environment})


def perf_without_ucx(*arguments, **environment):
    with tempfile.TemporaryDirectory() as empty:
        return perf(*arguments, path=empty, **environment)


def perf_with_ucx(script, *arguments):
    """With a ucx_perftest that is `script`."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "ucx_perftest")
        with open(program, "w") as file:
            file.write(script)
        os.chmod(program, 0o755)
        return perf(*arguments, path=f"{folder}:/usr/bin:/bin")


def have_a_pass_in_common(one, other):
    """Whether both have a round of the same pass that counts; another one says nothing about their ratio."""
    return any((a["kept"] or one["disturbed"]) and (b["kept"] or other["disturbed"])
               for a, b in zip(one["rounds"], other["rounds"]))
