"""`pip install bindings/mpi/python` makes a whole stack: mpi4py is built by its mpicc, and runs by its mpiexec. Builds weft anew, and needs a
network: nightly."""

import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ["WEFTDEV_SOURCE_DIR"])
HALF_AN_HOUR = 1800
# What pip says where there is no network, or no index that has the package: no fault of ours.
NOT_THERE = ("Failed to establish a new connection", "Temporary failure in name resolution", "Connection to", "ConnectTimeoutError", "ProxyError",
             "No matching distribution found")


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=HALF_AN_HOUR, check=False, **options)


@unittest.skipUnless(os.environ.get("WEFTDEV_NIGHTLY") == "1", "builds weft anew: with WEFTDEV_NIGHTLY=1")
class PythonPackage(unittest.TestCase):
    def test_is_a_whole_stack_with_mpi4py(self):
        with tempfile.TemporaryDirectory() as folder:
            made = run(sys.executable, "-m", "venv", folder)
            self.assertEqual(made.returncode, 0, made.stdout + made.stderr)
            pip = Path(folder) / "bin" / "pip"
            got = run(pip, "download", "--no-deps", "-d", folder, "scikit-build-core")
            if got.returncode != 0 and any(reason in got.stderr for reason in NOT_THERE):
                self.skipTest("no package can be downloaded here")
            self.assertEqual(got.returncode, 0, got.stderr)
            variables = {**os.environ, "PATH": f"{folder}/bin:{os.environ['PATH']}", "MPICC": "mpicc"}
            built = run(pip, "install", ROOT / "bindings" / "mpi" / "python", env=variables)
            self.assertEqual(built.returncode, 0, built.stderr)
            for name in ("bin/mpicc", "bin/mpic++", "bin/mpiexec", "bin/weft", "lib/libmpi_abi.so.1", "include/weft-mpi/mpi.h"):
                self.assertTrue((Path(folder) / name).exists(), name)
            built = run(pip, "install", "--no-binary", "mpi4py", "mpi4py", env=variables)
            self.assertEqual(built.returncode, 0, built.stderr)
            said = run("mpiexec", "-n", "2", Path(folder) / "bin" / "python", "-m", "mpi4py.bench", "helloworld", env=variables)
            self.assertEqual(said.returncode, 0, said.stderr)
            for rank in range(2):
                self.assertIn(f"Hello, World! I am process {rank} of 2", said.stdout)


if __name__ == "__main__":
    unittest.main(verbosity=2)
