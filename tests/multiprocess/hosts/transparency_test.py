"""Between hosts a job behaves as on one: bytes are bytes, readers may pause, signals and their dispositions are those of the user."""

import os
import signal
import subprocess
import time
import unittest

import weft_hosts
from weft_job import HANG_GUARD, WEFT, environment, program

INTERRUPTED = program("interrupted_rank")
ANY = b"caf\xe9 \xff\x80'\"$x\n\t\\ end"  # no UTF-8, and what shells and JSON would change


class TransparencyTest(weft_hosts.TestCase):
    def start(self, *options, starter=None, stdin=subprocess.DEVNULL, **changes):
        command = self.hosts.hosts[0].command(WEFT, "run", "--launcher-exec", starter or self.hosts.starter, "--timeout", HANG_GUARD)
        return subprocess.Popen([*command, *options], stdin=stdin, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={os.fsencode(name): os.fsencode(value) for name, value in environment(**changes).items()})

    def finish(self, job, input=None):
        try:
            out, err = job.communicate(input, timeout=HANG_GUARD + 20)
        finally:
            job.kill()
            job.wait()
        return job.returncode, out, err

    def test_arguments_and_variables_may_be_any_bytes(self):
        script = 'printf "%s|%s" "$1" "$VALUE"'
        job = self.start("--hosts", "h1:1", "--env", b"VALUE=" + ANY, "--", "sh", "-c", script, "x", ANY)
        self.assertEqual(self.finish(job), (0, ANY + b"|" + ANY, b""))

    def test_folders_and_programs_may_have_any_name(self):
        folder = os.path.join(os.fsencode(self.hosts.folder), b"folder \xe9'")
        os.mkdir(folder)
        name = os.path.join(folder, b"program \xff")
        with open(name, "wb") as file:
            file.write(b"#!/bin/sh\npwd; printf %s \"$0\"\n")
        os.chmod(name, 0o755)
        command = self.hosts.hosts[0].command(WEFT, "run", "--launcher-exec", self.hosts.starter, "--hosts", "h1:1", "--timeout", HANG_GUARD)
        result = subprocess.run([*command, name], cwd=folder, capture_output=True, env=environment(), timeout=HANG_GUARD + 20)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, folder + b"\n" + name, b""))

    def test_a_reader_that_pauses_longer_than_the_peer_timeout_gets_everything(self):
        for redirection in ("", ">&2"):
            with self.subTest(redirection=redirection):
                job = self.start("--hosts", "h1:1,h2:1", "--env", "WEFT_PEER_TIMEOUT=1", "--", "sh", "-c",
                                 f"yes 0123456 | head -c 12000000 {redirection}", WEFT_PEER_TIMEOUT="1")
                time.sleep(4)  # for a connection that is full for so long, not as a measure
                code, out, err = self.finish(job)
                text = err if redirection else out
                self.assertEqual((code, len(text), set(text.splitlines())), (0, 24_000_000, {b"0123456"}))

    def test_while_a_reader_pauses_ends_and_the_other_stream_are_told(self):
        script = "if test $WEFT_RANK = 0; then yes; else sleep 1; echo words >&2; exit 5; fi"
        job = self.start("--hosts", "h1:1,h2:1", "--", "sh", "-c", script)
        try:
            self.assertEqual(job.stderr.readline(), b"words\n")
            self.assertRegex(job.stderr.readline(), rb"^weft run: rank 1 \(pid \d+ on h2\) exited with code 5\n")
        finally:
            job.stdout.close()
            self.assertEqual(job.wait(timeout=HANG_GUARD), 5)
            job.stderr.close()

    def test_processes_of_the_launcher_that_are_stopped_lose_nothing(self):
        job = self.start("--hosts", "h1:1", "--env", "WEFT_PEER_TIMEOUT=1", "--", "sh", "-c", "echo up >&2; yes 0123456 | head -c 20000000",
                         WEFT_PEER_TIMEOUT="1")
        self.assertEqual(job.stderr.readline(), b"up\n")
        children = f"/proc/{job.pid}/task/{job.pid}/children"
        with open(children, encoding="ascii") as file:
            guardian = int(file.read().split()[0])
        os.kill(guardian, signal.SIGSTOP)
        time.sleep(4)
        os.kill(guardian, signal.SIGCONT)
        code, out, err = self.finish(job)
        self.assertEqual((code, len(out), err), (0, 20_000_000, b""))

    def test_a_reader_that_goes_away_ends_the_job(self):
        job = self.start("--hosts", "h1:1,h2:1", "--", "yes")
        job.stdout.read(10)
        job.stdout.close()
        self.assertEqual(job.wait(timeout=HANG_GUARD), 128 + signal.SIGPIPE)
        job.stderr.close()

    def test_input_waits_for_a_rank_that_reads_late_and_ends_with_one_that_reads_no_more(self):
        job = self.start("--hosts", "h1:1", "--env", "WEFT_PEER_TIMEOUT=1", "--", "sh", "-c", "sleep 3; wc -c", stdin=subprocess.PIPE,
                         WEFT_PEER_TIMEOUT="1")
        self.assertEqual(self.finish(job, b"x" * 3_000_000), (0, b"3000000\n", b""))
        job = self.start("--hosts", "h1:1", "--", "sh", "-c", "exec <&-; sleep 1; echo done", stdin=subprocess.PIPE)
        try:
            with self.assertRaises(BrokenPipeError):
                for _ in range(10_000):
                    job.stdin.write(b"x" * 65536)
            self.assertEqual(job.stdout.read(), b"done\n")
        finally:
            job.stdout.close()
            job.stderr.close()
            self.assertEqual(job.wait(timeout=HANG_GUARD), 0)

    def other_starter(self, text):
        """The starter of these tests, started by a program that changes what it inherits."""
        path = os.path.join(self.hosts.folder, "other-starter")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/usr/bin/env python3\nimport os, signal, sys\n{text}\nos.execv({self.hosts.starter!r}, ['start', *sys.argv[1:]])\n")
        os.chmod(path, 0o755)
        return path

    def test_what_a_starter_does_with_signals_does_not_matter(self):
        for change in ("signal.signal(signal.SIGCHLD, signal.SIG_IGN)", "signal.signal(signal.SIGPIPE, signal.SIG_IGN)",
                       "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 32))", "[signal.signal(n, signal.SIG_IGN) for n in (1, 2, 3, 15, 17)]"):
            with self.subTest(change=change):
                starter = self.other_starter(change)
                tells = self.start("--hosts", "h1:1", "--", "grep", "-E", "Sig(Blk|Ign)", "/proc/self/status", starter=starter)
                code, out, err = self.finish(tells)
                # Those that are blocked and those that are ignored; from 32 on they are for the C library.
                told = [int(line.split()[1], 16) & 0x7FFFFFFF for line in out.splitlines()]
                self.assertEqual((code, told), (0, [0, 0]), err)
                fails = self.start("--hosts", "h1:1,h2:1", "--", "sh", "-c", "sleep 0.1 & wait; exit 3", starter=starter)
                self.assertEqual(self.finish(fails)[0], 3)

    def test_a_timer_of_the_program_does_not_matter(self):
        for mode in ("joins", "joins", "talks", "talks", "sleeps"):
            with self.subTest(mode=mode):
                job = self.start("--hosts", "h0:2,h1:1,h2:1", "--", INTERRUPTED, "200", mode)
                self.assertEqual(self.finish(job), (0, b"all of 4\n", b""))

    def test_a_timer_does_not_matter_without_a_launcher_either(self):
        ranks = [subprocess.Popen(self.hosts.hosts[rank].command(INTERRUPTED, "200", "talks"), stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                  env=environment(RANK=str(rank), WORLD_SIZE="4", MASTER_ADDR="10.77.0.1", MASTER_PORT="29577",
                                                  WEFT_JOB_SECRET="known to all four"))
                 for rank in range(4)]
        results = [self.finish(rank) for rank in ranks]
        self.assertEqual([(code, err) for code, _, err in results], [(0, b"")] * 4)
        self.assertEqual(results[0][1], b"all of 4\n")


if __name__ == "__main__":
    unittest.main()
