"""LCI's interface: programs in its style as jobs, over several networks, and compiled by C++11 and C++17."""

import os
import shutil
import socket
import subprocess
import tempfile
import unittest
from pathlib import Path

from weft_job import HANG_GUARD, WEFT, environment, first, free_port, program, run

ROOT = Path(os.environ["WEFTDEV_SOURCE_DIR"])
HEADERS = ROOT / "bindings" / "lci" / "include"


class Lci(unittest.TestCase):
    def lines(self, ranks, name, network="auto", arguments=(), **variables):
        """Standard output and error."""
        if network != "auto":
            variables["WEFT_NETWORK"] = network
        result = run(ranks, program(f"lci-test-{name}"), *arguments, env=environment(**variables) if variables else None)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        return sorted(result.stdout.splitlines()), result.stderr.splitlines()

    def test_messages_reach_every_kind_of_object(self):
        for ranks, network, name in ((1, "auto", "operations"), (2, "auto", "operations-17"), (3, "auto", "operations"), (2, "tcp", "operations")):
            with self.subTest(ranks=ranks, network=network, name=name):
                self.assertEqual(self.lines(ranks, name, network), (["ok"] * ranks, []))

    def test_memory_graphs_and_collectives(self):
        for ranks, network in ((1, "auto"), (2, "auto"), (3, "auto"), (2, "tcp")):
            with self.subTest(ranks=ranks, network=network):
                output, errors = self.lines(ranks, "others", network)
                self.assertEqual(output, ["ok"] * ranks)
                # What went wrong on purpose has a line, and nothing else has.
                truncated = [line for line in errors if "was truncated: 100 bytes came for a buffer of 4" in line]
                refused = [line for line in errors if "has ended as refused" in line]
                self.assertEqual((len(truncated), len(refused), len(errors)), (ranks, ranks, 2 * ranks), errors)

    def test_attributes_numbers_and_objects_of_several_runtimes(self):
        for ranks, network in ((1, "auto"), (2, "auto"), (2, "tcp")):
            with self.subTest(ranks=ranks, network=network):
                self.assertEqual(self.lines(ranks, "semantics", network, LCI_ATTR_ZERO_COPY_AM="On"), (["ok"] * ranks, []))

    def test_every_operation_and_attribute_is_there(self):
        for name in ("interface", "interface-17"):
            self.assertEqual(self.lines(1, name), (["ok"], []))

    def test_queues(self):
        for ranks, network in ((1, "auto"), (2, "auto"), (1, "tcp")):
            with self.subTest(ranks=ranks, network=network):
                self.assertEqual(self.lines(ranks, "queues", network), (["ok"] * ranks, []))

    def test_habits_of_programs(self):
        for ranks, network in ((1, "auto"), (2, "auto"), (3, "auto"), (2, "tcp")):
            with self.subTest(ranks=ranks, network=network):
                self.assertEqual(self.lines(ranks, "habits", network), (["ok"] * ranks, []))

    def test_wrong_use_is_refused_and_what_is_left_is_freed(self):
        left = ["lci: a device ends before the program has freed 1 endpoint(s) of it: they are freed with it",
                "lci: a runtime ends before the program has freed 2 endpoint(s), 1 device(s), 1 matching engine(s), "
                "1 registered memory region(s) of it: they are freed with it"]
        for ranks, network in ((1, "auto"), (2, "auto"), (2, "tcp")):
            with self.subTest(ranks=ranks, network=network):
                output, errors = self.lines(ranks, "misuse", network)
                self.assertEqual((output, sorted(errors)), (["ok"] * ranks, sorted(left * ranks)))

    def test_threads_that_meet_give_way_to_each_other(self):
        self.assertEqual(self.lines(1, "turns"), (["ok"], []))

    def test_limits(self):
        for ranks, network in ((1, "auto"), (2, "auto"), (1, "tcp")):
            with self.subTest(ranks=ranks, network=network):
                self.assertEqual(self.lines(ranks, "limits", network), (["ok"] * ranks, []))

    def test_threads_that_send_parcels(self):
        """As a runtime of tasks does, also with more threads than processors: 4 ranks of 4 threads do not stall."""
        for ranks, network, threads, devices, parcels, objects in first(
                ((2, "auto", 4, 2, 200, "queue"), (4, "auto", 4, 2, 200, "queue"), (4, "auto", 4, 4, 200, "sync"), (3, "auto", 4, 1, 200, "sync"),
                 (1, "auto", 2, 2, 500, "queue"), (4, "tcp", 4, 2, 100, "queue"), (2, "tcp", 4, 1, 100, "sync"))):
            with self.subTest(ranks=ranks, network=network, threads=threads, devices=devices, objects=objects):
                self.assertEqual(self.lines(ranks, "parcels", network, (threads, devices, parcels, objects)), (["ok"] * ranks, []))

    def test_more_packets_than_the_usual_segment_has_room_for(self):
        for variable, value in (("NPACKETS", "100000"), ("PACKET_SIZE", "3000000")):
            with self.subTest(variable):
                self.assertEqual(self.lines(1, "allocations", **{f"LCI_ATTR_{variable}": value}), (["ok"], []))

    def test_a_rank_that_is_killed(self):
        for network in ("auto", "tcp"):
            with self.subTest(network=network):
                variables = {} if network == "auto" else {"WEFT_NETWORK": network}
                result = subprocess.run([WEFT, "run", "-n", "4", "--keep-going", "--timeout", str(HANG_GUARD), "--", program("lci-test-failure")],
                                        stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_GUARD + 20,
                                        env=environment(**variables) if variables else None)
                self.assertEqual(result.stdout.splitlines(), ["ok"] * 3, result.stderr)
                self.assertIn("has ended as peer_failed", result.stderr)

    def test_what_the_network_is_to_be_done_with_when_a_rank_is_killed(self):
        for network, what in (("auto", "between"), ("auto", "flooded"), ("tcp", "flooded")):
            with self.subTest(network=network, what=what), tempfile.TemporaryDirectory() as folder:
                variables = {} if network == "auto" else {"WEFT_NETWORK": network}
                result = subprocess.run(
                    [WEFT, "run", "-n", "3", "--keep-going", "--timeout", str(HANG_GUARD), "--", program("lci-test-resilience"), what, folder],
                    stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_GUARD + 20, env=environment(**variables))
                self.assertEqual(result.stdout.splitlines(), ["ok"] * 2, result.stderr)

    def test_ranks_without_a_launcher_find_each_other_as_with_lci(self):
        job = {"WORLD_SIZE": "2", "MASTER_PORT": "1", "WEFT_JOB_SECRET": "known to both"}
        for prefix, backends in (("LCT", {"LCT_PMI_BACKEND": "tcp"}), ("LCI", {})):
            with self.subTest(prefix):
                place = {f"{prefix}_MASTER_ADDR": "127.0.0.1", f"{prefix}_MASTER_PORT": str(free_port())}
                ranks = [subprocess.Popen([program("lci-test-operations")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                          env=environment(**job, **backends, **place, RANK=str(rank))) for rank in range(2)]
                for rank in ranks:
                    self.assertEqual((rank.communicate(timeout=HANG_GUARD), rank.returncode), (("ok\n", ""), 0))

    def test_a_rank_without_the_place_of_rank_0_runs_alone(self):
        alone = environment(RANK="1", WORLD_SIZE="2")
        result = subprocess.run([program("lci-test-operations")], capture_output=True, text=True, timeout=HANG_GUARD, env=alone)
        self.assertEqual((result.returncode, result.stdout), (0, "ok\n"), result.stderr)
        self.assertEqual(result.stderr, "lci: RANK and WORLD_SIZE are left out of account: MASTER_ADDR and MASTER_PORT do not tell where rank 0 is\n")
        # Where a launcher tells of the job, they are nobody's business.
        result = run(2, program("lci-test-turns"), env=alone)
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ok\nok\n", ""))
        # With tcp in the list it is a mistake.
        result = subprocess.run([program("lci-test-operations")], capture_output=True, text=True, timeout=HANG_GUARD,
                                env={**alone, "LCT_PMI_BACKEND": "tcp"})
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("MASTER_ADDR and MASTER_PORT", result.stderr)

    def test_ranks_meet_by_a_file_as_with_lci(self):
        with tempfile.TemporaryDirectory() as home:
            meeting = Path(home, ".tmp", "lct_pmi_file-0", "weft")
            for backends in ({"LCT_PMI_BACKEND": "file"}, {}, {"LCT_PMI_BACKEND": "pmi1,file"}):
                with self.subTest(**backends):
                    ranks = [subprocess.Popen([program("lci-test-operations")], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                              env=environment(HOME=home, LCT_PMI_FILE_NRANKS="2", **backends)) for _ in range(2)]
                    for rank in ranks:
                        self.assertEqual((rank.communicate(timeout=HANG_GUARD), rank.returncode), (("ok\n", ""), 0))
                    self.assertEqual(meeting.read_text(), "")
                    # The next job does not wait for the rest of one whose first process has died.
                    meeting.write_text(f"1 2 {socket.gethostname()} 1 known {ranks[0].pid}\n")
            with self.subTest("other backends"):
                result = subprocess.run([program("lci-test-operations")], capture_output=True, text=True, timeout=HANG_GUARD,
                                        env=environment(HOME=home, LCT_PMI_FILE_NRANKS="2", LCT_PMI_BACKEND="local"))
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ok\n", ""))
            with self.subTest("no number"):
                result = subprocess.run([program("lci-test-operations")], capture_output=True, text=True, timeout=HANG_GUARD,
                                        env=environment(HOME=home, LCT_PMI_FILE_NRANKS="two"))
                self.assertNotEqual(result.returncode, 0)
                self.assertIn("lci: the variable LCT_PMI_FILE_NRANKS is 'two': it must be the number of ranks", result.stderr)

    def test_lcrun_starts_programs_by_weft(self):
        lcrun = ROOT / "bindings" / "lci" / "lcrun"

        def start(*arguments, path=os.path.dirname(WEFT)):
            return subprocess.run([lcrun, *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=HANG_GUARD,
                                  env=environment(PATH=f"{path}:/usr/bin:/bin"))

        result = start("-n", "2", program("lci-test-operations"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "ok\nok\n", ""))
        self.assertEqual(start("-n", "2", "sh", "-c", "exit 7").returncode, 7)
        self.assertEqual((start("-n", "2").returncode, start("-n", "2").stderr), (2, "usage: lcrun -n RANKS PROGRAM [ARGUMENTS...]\n"))
        if shutil.which("weft", path="/usr/bin:/bin") is None:
            result = start("-n", "2", "true", path="/usr/bin")
            self.assertEqual((result.returncode, "install the component launcher" in result.stderr), (127, True), result.stderr)

    def test_thread_domains_are_those_of_the_attribute(self):
        for variables, chosen in (({}, "per_qp"), ({"LCI_ATTR_IBV_TD_STRATEGY": "none"}, "none"),
                                  ({"LCI_ATTR_IBV_TD_STRATEGY": "none", "WEFT_IBV_THREAD_DOMAINS": "per_qp"}, "per_qp")):
            with self.subTest(chosen, **variables):
                result = run(1, program("lci-test-allocations"), env=environment(WEFT_LOG="debug", **variables))
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stderr, rf"attributes other than by default:.*\bibv_thread_domains={chosen}\b")

    def test_an_allocator_without_memory_ends_the_program(self):
        result = run(1, program("lci-test-semantics"), "no memory")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("lci: the allocator has no 8 bytes for an active message from rank 0", result.stderr)

    def test_nothing_is_allocated_for_a_message(self):
        self.assertEqual(self.lines(1, "allocations"), (["ok"], []))

    def test_a_variable_that_is_wrong_is_named(self):
        for name, value, right in (("CQ_TYPE", "ring", "one of array_atomic, lcrq"), ("SHM_ENABLE", "2", "1, on, true or yes, or 0, off, false or no"),
                                   ("NPACKETS", "many", "a number")):
            with self.subTest(name):
                result = run(1, program("lci-test-others"), env=environment(**{f"LCI_ATTR_{name}": value}))
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(f"the variable LCI_ATTR_{name} is '{value}': it must be {right}", result.stderr)

    def test_a_bootstrap_that_lci_does_not_know_is_refused(self):
        for backends, rest in (("torchrun", "torchrun"), ("pmi1, carrier pigeon;tcp", "carrier")):
            with self.subTest(backends):
                result = run(1, program("lci-test-operations"), env=environment(LCT_PMI_BACKEND=backends))
                self.assertNotEqual(result.returncode, 0)
                self.assertIn(f"Unknown env LCT_PMI_BACKEND '{rest}': it must be of local, file, pmi1, pmi2, pmix, mpi and tcp", result.stderr)
        result = run(1, program("lci-test-operations"), env=environment(LCT_PMI_BACKEND="pmi1, pmi2;local"))
        self.assertEqual((result.returncode, result.stdout), (0, "ok\n"), result.stderr)

    def test_tools(self):
        result = subprocess.run([program("lci-test-tools")], capture_output=True, text=True, timeout=300)
        self.assertEqual(result.returncode, 0, result.stderr)
        counters = [line.split(",")[4:7] for line in result.stdout.splitlines() if line.startswith("pcounter,")]
        self.assertEqual(counters, [["sends", "2", "12.000"], ["timer", "1", "2.000"]])
        self.assertIn("error(loud): written 2", result.stderr)
        self.assertEqual(len(result.stderr.splitlines()), 1)


class Headers(unittest.TestCase):
    def test_they_include_none_of_weft(self):
        for path in sorted(HEADERS.rglob("*.h*")):
            for line in path.read_text().splitlines():
                if line.startswith("#include"):
                    self.assertNotIn("weft", line, path.name)


if __name__ == "__main__":
    unittest.main()
