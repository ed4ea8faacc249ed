"""`weft run --hosts` over network namespaces: places, messages, output, input, ends."""

import json
import os
import random
import re
import subprocess
import time
import unittest

import weft_hosts
from weft_job import HANG_GUARD, WEFT, environment, program

RANK = program("hosts_rank")
MESSAGES = program("messages_rank")


class HostsTest(weft_hosts.TestCase):
    def test_ranks_know_where_all_are(self):
        result = self.hosts.run("--hosts", "h0:1,h1:2,h3:1", RANK, "where")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        told = sorted(result.stdout.splitlines())
        self.assertEqual(told, ["rank 0 of 4 hosts 3: 0 1 1 2 local: 0 network mixed",
                                "rank 1 of 4 hosts 3: 0 1 1 2 local: 1 2 network mixed",
                                "rank 2 of 4 hosts 3: 0 1 1 2 local: 1 2 network mixed",
                                "rank 3 of 4 hosts 3: 0 1 1 2 local: 3 network mixed"])

    def test_many_short_ranks_end_in_order(self):
        # What ranks tell last, and their ends, come over different connections.
        for _ in range(10):
            result = self.hosts.run("--hosts", self.hosts.names(16), RANK, "where")
            self.assertEqual((result.returncode, result.stderr, result.stdout.count("of 64 hosts 4:")), (0, "", 64))

    def test_the_first_slots_are_used(self):
        result = self.hosts.run("--hosts", "h0:2,h1:2,h2:2", "-n", 3, RANK, "where")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("rank 2 of 3 hosts 2: 0 0 1 local: 2 ", result.stdout)

    def test_one_host_has_shared_memory_alone(self):
        result = self.hosts.run("--hosts", "h2:3", RANK, "where")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.count("hosts 1: 0 0 0 local: 0 1 2 network shm"), 3)

    def test_hosts_come_from_a_file(self):
        path = os.path.join(self.hosts.folder, "hosts")
        with open(path, "w", encoding="utf-8") as file:
            file.write("# two hosts\nh1 slots=2   # one\n\nh2:1\n")
        result = self.hosts.run("--hostfile", path, RANK, "where")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("rank 2 of 3 hosts 2: 0 0 1 local: 2 ", result.stdout)

    def test_messages_of_all_sizes_arrive(self):
        for slots in (1, 2):
            for network, between in (("tcp", "tcp"), ("mixed", "tcp"), ("auto", "tcp"), ("ofi", "ofi"), ("mixed", "ofi")):
                with self.subTest(slots=slots, network=network, between=between):
                    result = self.hosts.run("--hosts", self.hosts.names(slots), MESSAGES, "all-sizes", WEFT_NETWORK=network,
                                            WEFT_REMOTE_NETWORK=between, WEFT_OFI_PROVIDER="tcp;ofi_rxm")
                    self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)

    def test_messages_go_by_one_family_of_addresses_only(self):
        for interface in ("10.77.0.0/16", "fd77::/16", "eth0"):
            with self.subTest(interface=interface):
                result = self.hosts.run("--hosts", self.hosts.names(1), "--interface", interface, RANK, "ring", "--seconds", 0.2)
                self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_ports_are_those_that_are_allowed(self):
        result = self.hosts.run("--hosts", self.hosts.names(2), "--ports", "23000-23010", RANK, "ring", "--seconds", 0.2,
                                WEFT_LOG="tcp=info")
        self.assertEqual(result.returncode, 0, result.stderr)
        ports = [int(port) for port in re.findall(r"tcp info: port (\d+) of", result.stderr)]
        self.assertEqual(len(ports), 8)
        self.assertTrue(all(23000 <= port <= 23010 for port in ports), ports)

    def test_output_is_whole(self):
        script = "for i in $(seq 2000); do echo $WEFT_RANK $i 0123456789012345678901234567890123456789; done; echo end >&2"
        result = self.hosts.run("--hosts", self.hosts.names(2), "--tag-output", "sh", "-c", script)
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 8 * 2000)
        for rank in range(8):
            own = [line for line in lines if line.startswith(f"[{rank}] {rank} ")]
            self.assertEqual([int(line.split()[2]) for line in own], list(range(1, 2001)))
        self.assertEqual(sorted(result.stderr.splitlines()), [f"[{rank}] end" for rank in range(8)])

    def test_input_goes_to_rank_0(self):
        text = "".join(f"line {number}\n" for number in range(50_000))
        command = self.hosts.hosts[2].command(WEFT, "run", "--launcher-exec", self.hosts.starter, "--timeout", HANG_GUARD, "--hosts",
                                              "h1:1,h0:1", RANK, "echo")
        result = subprocess.run(command, input=text, capture_output=True, text=True, timeout=HANG_GUARD + 20, env=environment())
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout, text)

    def test_the_environment_and_the_directory_are_those_of_the_launcher(self):
        script = "echo $WEFT_PACKETS $OWN $PASSED; pwd"
        result = self.hosts.run("--hosts", "h1:1,h2:1", "--env", "OWN=1", "--env", "PASSED", "sh", "-c", script, WEFT_PACKETS="77",
                                PASSED="yes")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(sorted(result.stdout.splitlines()), sorted(["77 1 yes", os.getcwd()] * 2))

    def test_the_secret_is_in_no_command_line_and_no_environment(self):
        script = "cat /proc/self/environ /proc/$PPID/environ /proc/[0-9]*/cmdline 2>/dev/null | tr '\\0' '\\n'"
        result = self.hosts.run("--hosts", "h1:1", "sh", "-c", script)
        self.assertIn("\nrun\n--agent\n", result.stdout)
        self.assertIn("WEFT_JOB=", result.stdout)
        self.assertEqual(re.findall(r"(?<![0-9a-f])[0-9a-f]{64}(?![0-9a-f])", result.stdout), [], "32 bytes in hexadecimal digits")

    def test_exit_codes_and_texts_name_the_rank_and_its_host(self):
        result = self.hosts.run("--hosts", self.hosts.names(1), "sh", "-c", "test $WEFT_RANK = 2 && exit 7; sleep 100")
        self.assertEqual(result.returncode, 7)
        self.assertRegex(result.stderr, r"^weft run: rank 2 \(pid \d+ on h2\) exited with code 7\n$")

    def test_keep_going_lets_the_others_end(self):
        result = self.hosts.run("--hosts", self.hosts.names(1), "--keep-going", "sh", "-c",
                                "test $WEFT_RANK = 1 && exit 3; sleep 0.3; echo survived")
        self.assertEqual((result.returncode, result.stdout), (3, "survived\n" * 3))
        self.assertRegex(result.stderr, r"weft run: 1 of 4 ranks failed: rank 1 \(pid \d+ on h1\) exited with code 3")

    def test_a_time_limit_ends_all(self):
        result = self.hosts.run("--hosts", self.hosts.names(1), "sh", "-c", "sleep 1000", guard=1)
        self.assertEqual(result.returncode, 124)
        self.assertIn("the job did not end within 1 s (--timeout)", result.stderr)
        for number in range(4):
            self.assertEqual(self.hosts.processes(number), [])

    def test_who_waits_for_whom_is_told(self):
        result = self.hosts.run("--hosts", "h0:1,h1:1", "--explain", 1, os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-deadlock"),
                                guard=4)
        self.assertEqual(result.returncode, 124, result.stderr)
        self.assertIn("the job has not ended. rank", result.stderr.lower().replace("ranks", "rank"))
        self.assertIn("wait for each other", result.stderr)

    def test_a_program_that_is_missing_is_named_with_its_host(self):
        result = self.hosts.run("--hosts", "h0:1,h1:1", "/bin/sh", "-c", "exec /no/such/program")
        self.assertEqual(result.returncode, 127, result.stderr)

    def test_hosts_that_cannot_be_reached_are_named(self):
        result = self.hosts.run("--hosts", "h0:1,nowhere:1", RANK, "where")
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r'weft run: host nowhere could not be joined to the job: ".*start nowhere .* run --agent" exited '
                                        r"with code 9 before its agent began: no host nowhere\n")
        result = self.hosts.run("--hosts", "h0:1", RANK, "where", guard=30)
        self.assertEqual(result.returncode, 0)

    def test_hosts_that_are_cut_off_are_named_in_time(self):
        self.hosts.cut(3)
        try:
            result = self.hosts.run("--hosts", "h0:1,h3:2", RANK, "where", WEFT_BOOTSTRAP_TIMEOUT="1")
        finally:
            self.hosts.mend(3)
        self.assertEqual(result.returncode, 1)
        self.assertRegex(result.stderr, r"h3 could not be joined to the job|have not joined the job within 1 s .*: h3 \(ranks 1 to 2\)")

    def test_two_hosts_are_measured(self):
        transports = [f"{workload}/{transport}" for workload in ("matched-latency", "bandwidth-1m") for transport in ("weft-tcp", "sockets")]
        result = self.perf("--rounds", 1, "--seconds", 0.02, "--pin", "none", "--json", "-", "--only", ",".join(transports + ["put-bandwidth/weft-tcp"]))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        measured = json.loads(result.stdout)
        self.assertEqual(sorted(each["name"] for each in measured["measurements"]), sorted(transports + ["put-bandwidth/weft-tcp"]))
        self.assertTrue(all(each["figure"]["median"] > 0 for each in measured["measurements"]))

    def test_messages_between_two_hosts_are_verified(self):
        result = self.perf("--verify", "--seconds", 0.1, "--only", "matched/weft-tcp,bandwidth-1m/weft-tcp,put-rate/weft-tcp,put-bandwidth/weft-tcp")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(result.stdout.count("0 lost, 0 duplicated, 0 torn"), 4, result.stdout)

    def test_transports_that_do_not_leave_a_host_are_not_measured_between_two(self):
        result = self.perf("--only", "rate/bare-ring-buffer")
        self.assertEqual(result.returncode, 2)
        self.assertIn("rate/bare-ring-buffer does not leave a host", result.stderr)

    def perf(self, *options):
        return subprocess.run(self.hosts.hosts[0].command(WEFT, "perf", "--hosts", "h0,h1", "--launcher-exec", self.hosts.starter, *options),
                              env=environment(), capture_output=True, text=True, timeout=HANG_GUARD)

    def test_kmers_are_counted_alike_on_one_host_and_on_several(self):
        dice = random.Random(3)
        genome = "".join(dice.choice("ACGT") for _ in range(20_000))
        reads = os.path.join(self.hosts.folder, "reads.fa")
        with open(reads, "w", encoding="utf-8") as file:
            for number in range(3000):
                begin = dice.randrange(len(genome) - 150)
                file.write(f">{number}\n{genome[begin:begin + 150]}\n")
        counts = {}
        for hosts in ("h0:4", "h0:2,h1:2", "h0:1,h1:1,h2:1,h3:1"):
            prefix = os.path.join(self.hosts.folder, f"counts{len(counts)}")
            kmer = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "weft-kmer")
            result = self.hosts.run("--hosts", hosts, kmer, "-k", 31, "-t", 1, "-o", prefix, reads)
            self.assertEqual((result.returncode, result.stderr), (0, ""), result.stdout)
            with open(f"{prefix}.counts", encoding="utf-8") as file:
                counts[hosts] = sorted(file.read().splitlines())
        first, *others = counts.values()
        self.assertGreater(len(first), 10_000)
        for other in others:
            self.assertEqual(other, first)

    def start_by_variables(self, slots, *command, **changes):
        """Processes on each host, with what torchrun sets."""
        size = 4 * slots
        return [subprocess.Popen(self.hosts.hosts[rank // slots].command(*command), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE, text=True,
                                 env=environment(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="10.77.0.1", MASTER_PORT="29555",
                                                 WEFT_JOB_SECRET="known to all", **changes))
                for rank in range(size)]

    def end_all(self, running):
        try:
            return [job.communicate(timeout=HANG_GUARD) for job in running]
        finally:
            for job in running:
                job.kill()
                job.wait()

    def test_ranks_of_several_hosts_join_without_a_launcher_of_weft(self):
        for mode, *options in (("where",), ("ring", "--seconds", "0.3")):
            running = self.start_by_variables(2, RANK, mode, *options)
            results = self.end_all(running)
            self.assertEqual([(job.returncode, err) for job, (_, err) in zip(running, results)], [(0, "")] * 8)
            if mode == "where":
                self.assertIn("rank 5 of 8 hosts 4: 0 0 1 1 2 2 3 3 local: 4 5 network mixed\n", results[5][0])

    def test_a_host_that_is_lost_without_a_launcher_of_weft_is_noticed(self):
        running = self.start_by_variables(1, program("failure_rank"), "traffic", WEFT_PEER_TIMEOUT="2")
        for job in running:
            self.assertRegex(job.stdout.readline(), r"pid \d+ rank \d")
        time.sleep(0.3)
        self.hosts.cut(3)
        try:
            results = self.end_all(running[:3])
        finally:
            self.hosts.mend(3)
            running[3].kill()
            running[3].communicate()
        for job, (out, err) in zip(running, results):
            self.assertEqual((job.returncode, out), (0, "survived rank 3\n"), err)

    def test_wrong_options_are_refused_with_what_would_be_right(self):
        for options, text in ((("--hosts", "a:0"), "it must be an integer from 1"), (("--hosts", "a,a"), "named twice"),
                              (("--hosts", "a,,b"), "is no host"), (("--hosts", "-oProxyCommand=x"), "is no host"),
                              (("--hosts", "a:2", "-n", 3), "they have 2"), (("--launcher-exec", "x"), "needs --hosts"),
                              (("--hostfile", "/no/such/file"), "cannot be read"), (("--hosts", ""), "--hosts is empty"),
                              (("--hosts", "h0:1", "--interface", "nothing0"), "eth0 10.77.0.1/24"),
                              (("--hosts", "h0:1", "--ports", "5-3"), "ports")):
            with self.subTest(options=options):
                job = subprocess.run(self.hosts.hosts[0].command(WEFT, "run", *options, RANK, "where"), capture_output=True, text=True,
                                     timeout=HANG_GUARD, stdin=subprocess.DEVNULL, env=environment())
                self.assertNotEqual(job.returncode, 0)
                self.assertIn(text, job.stderr)
                self.assertEqual(job.stderr.count("\n"), 1, job.stderr)


if __name__ == "__main__":
    unittest.main()
