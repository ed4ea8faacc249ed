"""Programs of tasks and parcels as several processes: on one host, over sockets, on two hosts, and with a rank that dies."""

import os
import shutil
import signal
import subprocess
import unittest

import weft_hosts
from weft_job import BRIEF, HANG_GUARD, WEFT, environment, first, program, run, shared_memory, thorough

CONFIGURATIONS = ("", "aggregation=immediate", "aggregation=queued", "workers=2,devices=2", "zero_copy=64",
                  "port=tcp", "port=tcp,aggregation=queued,workers=2", "port=putsendrecv,progress=pinned",
                  "port=sendrecv,header_completion=synchronizer,followup_completion=synchronizer")
LAUNCHERS = (("mpiexec.mpich",), ("mpiexec.openmpi", "--oversubscribe"))
EXAMPLE = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-jacobi")
NODES = "32767 nodes\n"


class ParcelTest(unittest.TestCase):
    def setUp(self):
        self.segments = shared_memory()

    def tearDown(self):
        self.assertEqual(shared_memory(), self.segments)

    def check(self, ranks, mode, expected, options="", **changes):
        result = run(ranks, program("parcel_rank"), mode, "--options", options, env=environment(**changes))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, expected, ""))

    def test_arrays_of_all_sizes_come_back(self):
        for options in first(CONFIGURATIONS, 2):
            with self.subTest(options=options):
                self.check(3, "all-sizes", "", options)

    def test_a_tree_of_parcels_is_counted_exactly(self):
        for ranks in first((2, 1, 5)):
            for options in first(CONFIGURATIONS):
                with self.subTest(ranks=ranks, options=options):
                    self.check(ranks, "tree", NODES, options)

    def test_over_sockets(self):
        self.check(3, "all-sizes", "", WEFT_NETWORK="tcp")
        self.check(4, "tree", NODES, WEFT_NETWORK="tcp")
        self.check(4, "tree", NODES, WEFT_NETWORK="mixed", WEFT_REMOTE_NETWORK="tcp", WEFT_HOST_ID="host%r/2")

    def test_locks_that_block_all_workers_are_held_over_calls_and_the_job_ends(self):
        for workers in first((1, 2, 4)):
            for options in first(("", ",port=tcp", ",port=sendrecv", ",devices=2", ",progress=thread", ",aggregation=queued")):
                with self.subTest(workers=workers, options=options):
                    self.check(2, "locks", "", f"workers={workers}{options}")

    def test_calls_to_a_rank_that_dies_end_and_the_others_go_on(self):
        for network, options in first((("tcp", ""), ("shm", ""), ("shm", "port=tcp"), ("shm", "port=putsendrecv"),
                                       ("shm", "port=sendrecv,workers=2"))):
            with self.subTest(network=network, options=options):
                result = subprocess.run([WEFT, "run", "-n", "3", "--keep-going", "--timeout", str(HANG_GUARD), "--",
                                         program("parcel_rank"), "death", "--options", options], capture_output=True, text=True,
                                        timeout=HANG_GUARD + 20, env=environment(WEFT_NETWORK=network), check=False)
                self.assertEqual(sorted(result.stdout.splitlines()), ["rank 0 goes on", "rank 2 goes on"], result.stderr)
                self.assertNotEqual(result.returncode, 0)

    def test_a_rank_that_dies_while_answers_are_under_way_is_what_they_end_with(self):
        for network, options in first((("shm", ""), ("shm", "port=tcp"), ("shm", "port=tcp,aggregation=queued"), ("tcp", ""),
                                       ("shm", "progress=thread"), ("shm", "port=putsendrecv"), ("shm", "port=sendrecv"))):
            for _ in range(1 if BRIEF else 3):
                with self.subTest(network=network, options=options):
                    result = subprocess.run([WEFT, "run", "-n", "3", "--keep-going", "--timeout", str(HANG_GUARD), "--",
                                             program("parcel_rank"), "answers", "--options", options], capture_output=True, text=True,
                                            timeout=HANG_GUARD + 20, env=environment(WEFT_NETWORK=network), check=False)
                    self.assertEqual(result.stdout, "all have ended\n", result.stderr)

    def test_an_action_of_a_library_that_is_loaded_late_is_refused_at_its_caller(self):
        result = run(2, program("library_rank"), "late", program("parcel_library_one.so"), env=environment())
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for rank, line in zip((1, 0), sorted(result.stdout.splitlines(), reverse=True)):
            self.assertRegex(line, rf"^action .*answer_of_library.* was called on rank {rank}, which does not know it: its library was "
                                   r"loaded after the parcel runtime had started; load it on all ranks before that$")

    def test_actions_of_one_name_in_two_libraries_are_told_apart_in_whatever_order_they_are_loaded(self):
        result = run(2, program("library_rank"), "same-names", program("parcel_library_one.so"), program("parcel_library_other.so"),
                     env=environment())
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "one other\none other\n", ""))

    def test_ranks_of_different_programs_are_refused_with_the_actions_that_differ(self):
        script = f'test "$WEFT_RANK" = 0 && exec {program("parcel_rank")} tree; exec {EXAMPLE}'
        result = subprocess.run([WEFT, "run", "-n", "2", "--timeout", str(HANG_GUARD), "--", "sh", "-c", script], capture_output=True,
                                text=True, timeout=HANG_GUARD + 20, env=environment(), check=False)
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("the ranks run programs with different actions", result.stderr)
        # Either rank may be the one that tells: both sides are named, each with an action that only it has.
        of_the_program, of_the_example = r"'[^;]*::answers\(weft::parcel::Runtime&\)[^;]*", r"'[^;]*Action<&\(anonymous namespace\)::add>[^;]*"
        told_by = {0: (of_the_example, of_the_program), 1: (of_the_program, of_the_example)}
        self.assertRegex(result.stderr, "|".join(f"rank {rank} does not have {missing}; only rank {rank} has {own}"
                                                 for rank, (missing, own) in told_by.items()))

    def test_a_bad_option_is_one_line(self):
        for options, text in (
                ("workers=many", "workers is 'many'; it must be 0 to 256"),
                ("port=ucx", "port is 'ucx'; it must be weft, tcp, putsendrecv, sendrecv, mpi or mpi-original, or one that the program "
                 "registers"),
                ("port=sendrecv,retries=mine", "retries is 'mine'; it must be shared or own"),
                ("port=mpi,mpi_library=/nowhere/libmpi.so",
                 "mpi_library: /nowhere/libmpi.so: cannot open shared object file: No such file or directory")):
            with self.subTest(options=options):
                result = run(1, program("parcel_rank"), "tree", "--options", options)
                self.assertEqual(result.returncode, 1)
                self.assertEqual(result.stderr.splitlines()[0], "parcel_rank: parcel option " + text)


class ParcelsOverMpiTest(unittest.TestCase):
    """The ranks are those of mpiexec; every variant of the parcelport, with each MPI that is installed."""

    def launchers(self):
        found = [launcher for launcher in LAUNCHERS if shutil.which(launcher[0])]
        if not found:
            self.skipTest("neither MPICH nor Open MPI is installed")
        return found

    def run_under(self, launcher, ranks, *command):
        # UCX, below MPICH, writes warnings about the machine to standard output.
        settings = environment(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", UCX_LOG_LEVEL="fatal")
        with subprocess.Popen([*launcher, "-n", str(ranks), *command], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=settings, start_new_session=True) as job:
            try:
                out, err = job.communicate(timeout=HANG_GUARD)
            except subprocess.TimeoutExpired:
                os.killpg(job.pid, signal.SIGKILL)
                raise
        return job.returncode, out, err

    def test_the_conformance_suite(self):
        for launcher in self.launchers():
            for ranks in first((2, 3)):
                with self.subTest(launcher=launcher[0], ranks=ranks):
                    code, out, err = self.run_under(launcher, ranks, program("conformance-parcel"), "--gtest_filter=Mpi*",
                                                    "--gtest_brief=1")
                    self.assertEqual(code, 0, out + err)
                    self.assertEqual(out.count("[  PASSED  ]"), ranks, out + err)

    def test_arrays_and_trees(self):
        for launcher in self.launchers():
            for options in first(("port=mpi", "port=mpi-original,workers=2", "port=mpi,zero_copy=64,aggregation=queued")):
                for ranks, mode, expected in first(((3, "all-sizes", ""), (4, "tree", NODES), (1, "tree", NODES))):
                    with self.subTest(launcher=launcher[0], options=options, mode=mode, ranks=ranks):
                        code, out, err = self.run_under(launcher, ranks, program("parcel_rank"), mode, "--options", options)
                        self.assertEqual((code, out), (0, expected), err)

    def test_a_job_of_another_launcher_is_refused(self):
        self.launchers()
        result = run(2, program("parcel_rank"), "tree", "--options", "port=mpi")
        self.assertEqual(result.returncode, 1)
        self.assertIn("parcel option port=mpi: MPI has 1 rank, and the job has 2: start it with mpiexec", result.stderr)


@unittest.skipIf(weft_hosts.why_not(), weft_hosts.why_not())
class ParcelsOnTwoHostsTest(unittest.TestCase):
    def test_arrays_and_trees(self):
        with weft_hosts.Hosts(2) as hosts:
            for mode, expected, options in first((("all-sizes", "", ""), ("tree", NODES, ""), ("tree", NODES, "port=tcp"),
                                                  ("all-sizes", "", "port=tcp"))):
                with self.subTest(mode=mode, options=options):
                    result = hosts.run("--hosts", hosts.names(2), "--", program("parcel_rank"), mode, "--options", options)
                    self.assertEqual((result.returncode, result.stdout), (0, expected), result.stderr)

    @thorough
    def test_the_port_tcp_finds_its_peers_as_the_network_tcp_does(self):
        with weft_hosts.Hosts(2) as hosts:
            for number, host in enumerate(hosts.hosts):
                # First, as docker0 often is, an address that both have, and at which only the host itself answers.
                host.run("ip", "-4", "address", "flush", "dev", "eth0")
                host.run("ip", "address", "add", "172.17.0.1/16", "dev", "eth0")
                host.run("ip", "address", "add", f"10.77.0.{number + 1}/24", "dev", "eth0")

            def check(*options):
                result = hosts.run("--hosts", hosts.names(1), *options, "--", program("parcel_rank"), "all-sizes", "--options", "port=tcp")
                self.assertEqual((result.returncode, result.stdout), (0, ""), result.stderr)

            for options in ((), ("--interface", "eth0"), ("--interface", "10.77.0.0/16"), ("--interface", "fd77::/16")):
                with self.subTest(options=options):
                    check(*options)
            for host in hosts.hosts:
                host.run("ip", "-4", "address", "flush", "dev", "eth0")
            with self.subTest("addresses of IPv6 alone"):
                check()


if __name__ == "__main__":
    unittest.main()
