"""`weft perf --hosts` where something does not start: what was measured stays, and why the rest was not is told."""

import os
import signal
import subprocess
import time
import unittest

import weft_hosts
from weft_job import HANG_GUARD, WEFT, environment

SHORT = ("--rounds", "1", "--seconds", "0.02", "--pin", "none")


class PerfTest(weft_hosts.TestCase):
    def starter(self, name, text):
        path = os.path.join(self.hosts.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, 0o755)
        return path

    def command(self, starter, *options):
        return self.hosts.hosts[0].command(WEFT, "perf", "--hosts", "h0,h1", "--launcher-exec", starter, *options)

    def perf(self, starter, *options, **changes):
        return subprocess.run(self.command(starter, *options), env=environment(**changes), capture_output=True, text=True, timeout=HANG_GUARD)

    def has_mpich(self):
        listed = subprocess.run([WEFT, "perf", "--list"], capture_output=True, text=True, check=True, env=environment()).stdout
        return any(line.split()[:1] == ["mpich-tcp"] and "not " not in line for line in listed.splitlines())

    def test_a_library_that_does_not_start_costs_its_row_only(self):
        if not self.has_mpich():
            self.skipTest("no MPICH")
        hangs = self.starter("hangs", f'case "$*" in *--shell*) exec sleep 1000;; esac; exec {self.hosts.starter} "$@"')
        fails = self.starter("fails", f'case "$*" in *--shell*) echo "no way to $1" >&2; exit 5;; esac; exec {self.hosts.starter} "$@"')
        for starter, reason in ((hangs, "no result within "), (fails, "mpich-tcp")):
            with self.subTest(reason=reason):
                result = self.perf(starter, *SHORT, "--only", "matched/mpich-tcp,matched/weft-tcp,matched-latency/mpich-tcp",
                                   WEFT_BOOTSTRAP_TIMEOUT="2")
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stdout, r"(?m)^ *weft-tcp .*\d")
                self.assertRegex(result.stdout, rf"(?m)^matched/mpich-tcp is left out: .*{reason}")
                self.assertEqual(result.stderr.count("\n"), 1 if starter == hangs else result.stderr.count("\n"))
        self.assertEqual([self.hosts.processes(number) for number in (0, 1)], [[], []])

    def test_a_starter_that_joins_words_starts_mpi_as_well(self):
        joins = self.starter("joins", f'host=$1\nshift\nexec {self.hosts.starter} $host sh -c "$*"')
        names = ["matched/weft-tcp"] + (["matched/mpich-tcp"] if self.has_mpich() else [])
        for attempt in ("first", "second"):
            # As long as a busy machine needs, on which MPICH 4 has failed to start once.
            result = self.perf(joins, *SHORT, "--only", ",".join(names), HYDRA_IFACE="eth0", WEFT_BOOTSTRAP_TIMEOUT="90")
            if attempt == "second" or "matched/mpich-tcp is left out: matched/mpich-tcp: no result within" not in result.stdout:
                break
        self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
        for name in names:
            self.assertNotIn(f"{name} is left out", result.stdout)

    def test_what_does_not_leave_a_host_is_left_out(self):
        result = self.perf(self.hosts.starter, *SHORT, "--only", "rate")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertRegex(result.stdout, r"(?m)^left out, as with --hosts they do not leave a host: rate/bare-ring-buffer")
        self.assertRegex(result.stdout, r"(?m)^ *serial-handler .*\d")

    def test_rounds_that_are_done_stay_when_a_later_one_fails_or_the_user_interrupts(self):
        counted = os.path.join(self.hosts.folder, "count")
        once = self.starter("once", f'echo x >> {counted}; test $(wc -l < {counted}) -le 2 || exit 5; exec {self.hosts.starter} "$@"')
        result = self.perf(once, *SHORT, "--only", "matched/weft-tcp,put-rate/weft-tcp")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stdout, r"(?m)^ *weft-tcp .*\d")
        self.assertIn("ended early: ", result.stdout)
        self.assertIn("not measured: ", result.stdout)
        self.assertIn("could not be joined", result.stderr)
        marker = os.path.join(self.hosts.folder, "waits")
        waits = self.starter("waits-later", f'echo x >> {marker}; test $(wc -l < {marker}) -le 2 || exec sleep 1000; exec {self.hosts.starter} "$@"')
        job = subprocess.Popen(self.command(waits, *SHORT, "--only", "matched/weft-tcp,put-rate/weft-tcp"), stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, env=environment())
        end = time.monotonic() + HANG_GUARD
        while time.monotonic() < end and (not os.path.exists(marker) or os.path.getsize(marker) < 6):
            time.sleep(0.05)
        job.send_signal(signal.SIGINT)
        out, err = job.communicate(timeout=HANG_GUARD)
        self.assertEqual((job.returncode, err), (128 + signal.SIGINT, "weft perf: interrupted\n"))
        self.assertIn("ended early: interrupted; not measured: ", out)


if __name__ == "__main__":
    unittest.main()
