"""The launchers of the field start weft programs: right ranks and sizes, messages, and a clear end when a rank never comes. Those
that are not installed are left out."""

import glob
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import unittest

from weft_job import HANG_GUARD, environment, free_port, program

RANK = program("hosts_rank")
TIME_LIMIT = "2"  # seconds, of bootstrap_timeout where a rank is missing


def find(*names):
    """The first of these programs that is installed, also by a wheel of this Python."""
    for name in names:
        for folder in (None, os.path.join(sys.prefix, "bin")):
            found = shutil.which(name, path=folder)
            if found:
                return found
    return None


def end(*commands, env=None, guard=HANG_GUARD):
    """Runs programs side by side; returns for each its exit code, output, and errors."""
    running = [subprocess.Popen(list(map(str, command)), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=each) for command, each in zip(commands, env)]
    try:
        return [(job.returncode, out, err) for job in running for out, err in [job.communicate(timeout=guard)]]
    finally:
        for job in running:
            job.kill()
            job.wait()


class Launchers(unittest.TestCase):
    def expect_ranks(self, output, size, hosts=1):
        told = re.findall(r"rank (\d+) of (\d+) hosts (\d+):", output)
        self.assertEqual(sorted(told), [(str(rank), str(size), str(hosts)) for rank in range(size)], output)

    def expect_job(self, *launcher, hosts=1, **changes):
        """Four ranks know each other, and pass messages round."""
        (code, out, err), = end([*launcher, RANK, "where"], env=[environment(**changes)])
        self.assertEqual(code, 0, out + err)
        self.expect_ranks(out, 4, hosts)
        (code, out, err), = end([*launcher, RANK, "ring", "--seconds", 0.2], env=[environment(**changes)])
        self.assertEqual((code, out.count("messages on\n")), (0, 4), out + err)

    def expect_end(self, *launcher, text, **changes):
        """Rank 2 never makes its runtime."""
        variable = "${PMI_RANK:-${PMIX_RANK:-${SLURM_PROCID:-}}}"
        script = f"test {variable} = 2 && exec sleep 6; exec {RANK} where"
        (code, out, err), = end([*launcher, "sh", "-c", script], env=[environment(WEFT_BOOTSTRAP_TIMEOUT=TIME_LIMIT, **changes)])
        self.assertNotEqual(code, 0, out)
        self.assertRegex(err + out, text)

    def test_hydra_of_mpich(self):
        launcher = find("mpiexec.hydra", "mpiexec.mpich")
        if launcher is None:
            self.skipTest("no mpiexec of MPICH here")
        self.expect_job(launcher, "-n", "4")
        self.expect_end(launcher, "-n", "4", text=r"PMI-1: of 4 ranks (2 has|some have) not made a weft::Runtime")
        for command in ((launcher, "-n", "1"), ()):
            (code, out, err), = end([*command, RANK, "where"], env=[environment()])
            self.assertEqual(code, 0, err)
            self.expect_ranks(out, 1)

    def test_hydra_of_the_wheel(self):
        found = glob.glob(os.path.join(sys.prefix, "lib", "python*", "site-packages", "mpich*", "**", "mpiexec*"), recursive=True)
        launcher = next(iter(found), None)
        if launcher is None:
            self.skipTest("no wheel mpich here")
        self.expect_job(launcher, "-n", "4")

    def test_mpirun_of_open_mpi(self):
        launcher = find("mpirun.openmpi", "prterun")
        if launcher is None:
            self.skipTest("no mpirun of Open MPI here")
        root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
        self.expect_job(launcher, "--oversubscribe", "-n", "4", **root)
        self.expect_end(launcher, "--oversubscribe", "-n", "4", text=r"PMIx: not all of the 4 ranks have made a weft::Runtime", **root)

    def variables(self, rank, size, port, **changes):
        return environment(RANK=str(rank), WORLD_SIZE=str(size), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), **changes)

    def test_variables_of_torchrun(self):
        for changes in ({}, {"WEFT_JOB_SECRET": "known to all"}):
            for mode, *options in (("where",), ("ring", "--seconds", "0.2")):
                port = free_port()
                results = end(*[[RANK, mode, *options]] * 4, env=[self.variables(rank, 4, port, **changes) for rank in range(4)])
                self.assertEqual([code for code, _, _ in results], [0] * 4, results)
                if mode == "where":
                    self.expect_ranks("".join(out for _, out, _ in results), 4)

    def test_a_rank_that_never_comes_is_named(self):
        port = free_port()
        results = end(*[[RANK, "where"]] * 3, env=[self.variables(rank, 4, port, WEFT_BOOTSTRAP_TIMEOUT=TIME_LIMIT) for rank in (0, 1, 3)])
        for code, _, err in results:
            self.assertNotEqual(code, 0)
            self.assertIn(f"of 4 ranks 2 has not come to rank 0 at 127.0.0.1:{port} within the time limit (WEFT_BOOTSTRAP_TIMEOUT)", err)

    def test_rank_0_that_never_comes_is_named(self):
        port = free_port()
        (code, _, err), = end([RANK, "where"], env=[self.variables(1, 2, port, WEFT_BOOTSTRAP_TIMEOUT="1")])
        self.assertNotEqual(code, 0)
        self.assertIn(f"rank 1 of 2 cannot reach rank 0 at 127.0.0.1:{port}", err)

    def test_ranks_that_differ_are_refused(self):
        port = free_port()
        results = end(*[[RANK, "ring", "--seconds", 0.2]] * 2, env=[self.variables(0, 2, port), self.variables(1, 2, port, WEFT_PACKET_SIZE="8K")])
        for code, _, err in results:
            self.assertNotEqual(code, 0)
            self.assertRegex(err, r"rank \d on \S+ has packet_size \(WEFT_PACKET_SIZE\) 8?3?2?K; rank \d on \S+ has packet_size \(WEFT_PACKET_SIZE\) ")
        port = free_port()
        results = end(*[[RANK, "where"]] * 2, env=[self.variables(0, 3, port, WEFT_BOOTSTRAP_TIMEOUT="1"), self.variables(1, 2, port)])
        self.assertIn("rank 1 was started as one of 2 ranks, rank 0 as one of 3", results[1][2])

    def test_strangers_at_the_port_of_rank_0_are_refused(self):
        port = free_port()
        job = subprocess.Popen([RANK, "where"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=self.variables(0, 2, port, WEFT_JOB_SECRET="known"))
        try:
            until = time.monotonic() + 20
            while time.monotonic() < until:
                try:
                    with socket.create_connection(("127.0.0.1", port), 1) as stranger:
                        stranger.sendall(b"GET / HTTP/1.0\r\n\r\n" * 100)
                    break
                except OSError:
                    time.sleep(0.02)
            (code, _, err), = end([RANK, "where"], env=[self.variables(1, 2, port, WEFT_JOB_SECRET="another")])
            self.assertNotEqual(code, 0)
            self.assertIn("WEFT_JOB_SECRET differs", err)
            (code, _, err), = end([RANK, "where"], env=[self.variables(1, 2, port, WEFT_JOB_SECRET="known")])
            self.assertEqual(code, 0, err)
            out, err = job.communicate(timeout=HANG_GUARD)
            self.assertEqual(job.returncode, 0, err)
            self.assertIn("a stranger is refused", err)
            self.expect_ranks(out.split("\n")[0] + "rank 1 of 2 hosts 1:", 2)
        finally:
            job.kill()
            job.wait()

    def test_a_rank_that_dies_is_noticed(self):
        # Rank 0 serves the others.
        for victim in (2, 0):
            with self.subTest(victim=victim):
                port = free_port()
                running = [subprocess.Popen([program("failure_rank"), "traffic"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                            stderr=subprocess.PIPE, text=True, env=self.variables(rank, 4, port)) for rank in range(4)]
                try:
                    for job in running:
                        self.assertRegex(job.stdout.readline(), r"pid \d+ rank \d+")
                    time.sleep(0.2)
                    running[victim].kill()
                    for rank, job in enumerate(running):
                        out, err = job.communicate(timeout=HANG_GUARD)
                        if rank != victim:
                            self.assertEqual((job.returncode, out), (0, f"survived rank {victim}\n"), err)
                finally:
                    for job in running:
                        job.kill()
                        job.wait()

    def test_an_abort_ends_all_and_tells_why(self):
        port = free_port()
        results = end(*[[program("launcher_rank"), "last-aborts"]] * 3, env=[self.variables(rank, 3, port) for rank in range(3)])
        self.assertEqual(results[2][0], 7)
        for code, _, _ in results[:2]:
            self.assertNotEqual(code, 0)
        self.assertIn("rank 2 aborted the job with code 7: the input is broken", results[0][2])

    def test_many_silent_strangers_do_not_keep_ranks_away(self):
        port = free_port()
        job = subprocess.Popen([RANK, "where"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=self.variables(0, 2, port, WEFT_JOB_SECRET="known"))
        strangers = []
        try:
            until = time.monotonic() + 20
            while len(strangers) < 80 and time.monotonic() < until:
                try:
                    strangers.append(socket.create_connection(("127.0.0.1", port), 1))
                except OSError:
                    time.sleep(0.02)
            (code, _, err), = end([RANK, "where"], env=[self.variables(1, 2, port, WEFT_JOB_SECRET="known")])
            self.assertEqual(code, 0, err)
            _, err = job.communicate(timeout=HANG_GUARD)
            self.assertEqual([line for line in err.splitlines() if "WEFT_JOB_SECRET is not set" not in line], [])
        finally:
            for stranger in strangers:
                stranger.close()
            job.kill()
            job.wait()

    def test_a_copy_of_a_rank_by_fork_ends_by_itself(self):
        for launcher in (find("mpiexec.hydra", "mpiexec.mpich"), find("mpirun.openmpi")):
            if launcher is None:
                continue
            root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
            (code, out, err), = end([launcher, "-n", "2", RANK, "fork"], env=[environment(**root)])
            self.assertEqual((code, out.count("the copy has ended\n")), (0, 2), out + err)


class Slurm(Launchers):
    """A cluster of two nodes on this machine, without a service of the system."""

    @classmethod
    def setUpClass(cls):
        if not all(find(name) for name in ("slurmctld", "slurmd", "srun", "munged")) or os.geteuid() != 0:
            raise unittest.SkipTest("no Slurm here (slurmctld, slurmd, srun, munged), or not root")
        cls.folder = tempfile.mkdtemp(prefix="weft-slurm-")
        cls.daemons = []
        cls.addClassCleanup(cls.close)
        cls.start()

    @classmethod
    def start(cls):
        folder = cls.folder
        os.chmod(folder, 0o755)
        name = socket.gethostname()
        with open(f"{folder}/munge.key", "wb") as file:
            file.write(os.urandom(1024))
        os.chmod(f"{folder}/munge.key", 0o600)
        os.makedirs(f"{folder}/state")
        ports = []
        for _ in range(3):
            with socket.socket() as listener:
                listener.bind(("127.0.0.1", 0))
                ports.append(listener.getsockname()[1])
        with open(f"{folder}/slurm.conf", "w", encoding="utf-8") as file:
            file.write(f"""ClusterName=weft
SlurmctldHost={name}(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CryptoType=crypto/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
SlurmctldPort={ports[0]}
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmdParameters=config_overrides
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
NodeName=n1 NodeHostname={name} NodeAddr=127.0.0.1 Port={ports[1]} CPUs=4
NodeName=n2 NodeHostname={name} NodeAddr=127.0.0.1 Port={ports[2]} CPUs=4
PartitionName=all Nodes=ALL Default=YES State=UP
""")
        cls.changes = {"SLURM_CONF": f"{folder}/slurm.conf"}
        env = environment(**cls.changes)
        commands = [["munged", "-F", "--force", f"--key-file={folder}/munge.key", f"--socket={folder}/munge.socket",
                     f"--pid-file={folder}/munge.pid", f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed"],
                    ["slurmctld", "-D"], ["slurmd", "-D", "-N", "n1"], ["slurmd", "-D", "-N", "n2"]]
        for command in commands:
            cls.daemons.append(subprocess.Popen([find(command[0]), *command[1:]], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                                stderr=subprocess.DEVNULL, env=env))
            until = time.monotonic() + 10
            while command[0] == "munged" and not os.path.exists(f"{folder}/munge.socket") and time.monotonic() < until:
                time.sleep(0.02)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            told = subprocess.run(["srun", "-N2", "-n2", "true"], capture_output=True, env=env, timeout=30)
            if told.returncode == 0:
                return
            time.sleep(0.2)
        raise unittest.SkipTest("Slurm does not start here: " + told.stderr.decode(errors="replace")[-300:])

    @classmethod
    def close(cls):
        for daemon in reversed(cls.daemons):
            daemon.terminate()
        for daemon in cls.daemons:
            try:
                daemon.wait(timeout=10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(cls.folder, ignore_errors=True)

    def test_srun_with_pmi2(self):
        self.expect_job("srun", "-N2", "-n4", "--mpi=pmi2", **self.changes)
        self.expect_end("srun", "-N2", "-n4", "--mpi=pmi2", text=r"PMI-1: of 4 ranks .* not made a weft::Runtime", **self.changes)
        (code, out, err), = end(["srun", "-n1", "--mpi=pmi2", RANK, "where"], env=[environment(**self.changes)])
        self.assertEqual(code, 0, err)
        self.expect_ranks(out, 1)

    def test_srun_with_pmix(self):
        told = subprocess.run(["srun", "-N1", "-n1", "--mpi=pmix", "true"], capture_output=True, text=True, env=environment(**self.changes),
                              timeout=30)
        if told.returncode != 0:
            self.skipTest(f"this Slurm cannot use PMIx: {told.stderr}")
        self.expect_job("srun", "-N1", "-n4", "--mpi=pmix", **self.changes)

    def test_srun_without_a_plugin(self):
        self.expect_job("srun", "-N1", "-n4", "--mpi=none", **self.changes)


# The tests of Launchers are not for Slurm once more.
for name in [name for name in dir(Launchers) if name.startswith("test_")]:
    setattr(Slurm, name, None)


if __name__ == "__main__":
    unittest.main()
