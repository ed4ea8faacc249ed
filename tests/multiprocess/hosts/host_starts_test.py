"""Hosts on which no agent starts, or from which none comes back: told at once where something has ended, else in time, with the
stage that was reached and what the host has said."""

import os
import re
import stat
import subprocess
import tempfile
import unittest

import weft_hosts
from weft_job import WEFT, environment

# An event is told at once: long before the launcher would look by itself.
NEVER = "80000"
GUARD = 20


class StartsTest(unittest.TestCase):
    """Needs no namespaces: the hosts are scripts."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="weft-starts-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def script(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"#!/bin/sh\n{text}\n")
        os.chmod(path, stat.S_IRWXU)
        return path

    def run_on(self, *options, limit=NEVER, program=("true",), **changes):
        return subprocess.run([WEFT, "run", *options, "--", *program], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=GUARD, env=environment(WEFT_BOOTSTRAP_TIMEOUT=limit, **changes))

    def run_by_ssh(self, text, **options):
        """The script stands for ssh."""
        self.script("ssh", text)
        return self.run_on("--hosts", "h1:2", PATH=self.folder + ":" + os.environ["PATH"], **options)

    def test_a_command_that_fails_is_told_at_once(self):
        for launcher, how in (("/bin/false", "exited with code 1"), ("/bin/true", "exited with code 0"),
                              (self.script("killed", "kill -9 $$"), r"was killed by signal 9 \(SIGKILL\)")):
            for hosts in ("h1:1", "h1:1,h2:3,h3:1"):
                with self.subTest(launcher=launcher, hosts=hosts):
                    result = self.run_on("--launcher-exec", launcher, "--hosts", hosts)
                    self.assertEqual(result.returncode, 1)
                    self.assertRegex(result.stderr, rf'weft run: host h\d could not be joined to the job: "{launcher} h\d .* run --agent" '
                                                    rf"{how} before its agent began\n")

    def test_a_command_that_does_not_exist_is_told_at_once(self):
        result = self.run_on("--launcher-exec", "/no/such/launcher", "--hosts", "h1:1,h2:1")
        self.assertEqual(result.returncode, 126)
        for host in ("h1", "h2"):
            self.assertRegex(result.stderr, rf'host {host} could not be joined to the job: the command "/no/such/launcher {host} .*" cannot '
                                            "be executed: No such file or directory")

    def test_what_ssh_says_is_told_at_once(self):
        result = self.run_by_ssh("echo ssh: Could not resolve hostname h1: Name or service not known >&2; exit 255")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r'^weft run: host h1 could not be joined to the job: "ssh -o BatchMode=yes -T h1 .*" exited with code '
                                        r"255 before its agent began: ssh: Could not resolve hostname h1: Name or service not known\n$")

    def test_an_agent_that_is_not_there_is_told_at_once(self):
        # The first words of the command come from the shell of the host.
        result = self.run_by_ssh('shift 4; eval "${*%%;*}"; echo weft: not found; exit 127')
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"exited with code 127 in the shell of the host, before its agent began: weft: not found\n$")

    def test_agents_start_by_a_shell_that_takes_words_apart(self):
        result = self.run_by_ssh('shift 4; exec sh -c "$*"', program=("echo", "here"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "here\nhere\n", ""))

    def test_a_host_that_is_silent_is_told_in_time_by_what_is_known_of_it(self):
        for text, stage in (("exec sleep 1000", r'"ssh .*" runs, and nothing has come from the host$'),
                            ("echo Password:; exec sleep 1000", r'"ssh .*" runs, and nothing has come from the host \(it has printed: Password:\)$'),
                            ('shift 4; eval "${*%%;*}"; exec sleep 1000', r'its shell has begun, and the agent that "ssh .*" starts has not$')):
            with self.subTest(text=text):
                result = self.run_by_ssh(text, limit="0.5")
                self.assertEqual(result.returncode, 1)
                told = re.fullmatch(r"weft run: these hosts have not joined the job within 0.5 s \(WEFT_BOOTSTRAP_TIMEOUT\): h1 \(ranks 0 "
                                    r"to 1\): (.*)\n", result.stderr)
                self.assertTrue(told, result.stderr)
                self.assertRegex(told[1], stage)

    def test_only_the_hosts_must_have_the_program(self):
        os.mkdir(os.path.join(self.folder, "there"))
        self.script("there/only-there", "echo found")
        launcher = self.script("start", f'shift; PATH="$PATH:{self.folder}/there" exec "$@"')
        result = self.run_on("--launcher-exec", launcher, "--hosts", "h1:2", program=("only-there",))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "found\nfound\n", ""))

    def test_a_program_that_a_host_has_not_is_named_with_the_host(self):
        launcher = self.script("start", 'shift; exec "$@"')
        result = self.run_on("--launcher-exec", launcher, "--hosts", "h1:2", program=("no-such-program",))
        self.assertEqual(result.returncode, 127)
        self.assertIn("weft run: host h1: the program no-such-program cannot be started: it is not in PATH", result.stderr)


class ReachTest(weft_hosts.TestCase):
    def test_an_agent_that_cannot_come_back_tells_what_it_has_tried(self):
        self.hosts.drop(0, "24000-24010")
        try:
            result = self.hosts.run("--hosts", "h1:1,h0:1", "--ports", "24000-24010", "true", WEFT_BOOTSTRAP_TIMEOUT="1")
        finally:
            self.hosts.let_in(0)
        self.assertEqual(result.returncode, 1)
        told = re.search(r"host h1 could not be joined to the job: .* exited with code 1 after its agent began, which has not joined: (.*)",
                         result.stderr)
        self.assertTrue(told, result.stderr)
        for address in (r"10\.77\.0\.1:240\d\d", r"\[fd77::1\]:240\d\d"):
            self.assertRegex(told[1], address + r" \(.*answer")


if __name__ == "__main__":
    unittest.main()
