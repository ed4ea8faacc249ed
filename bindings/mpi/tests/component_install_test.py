"""The components `mpi` and `launcher` are what the Python package installs: compiler wrappers, header, library and mpiexec that find each
other wherever they lie."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BUILD = Path(os.environ["WEFTDEV_BIN_DIR"]).parent
PROGRAM = """
#include <mpi.h>
#include <stdio.h>
int main(int argc, char** argv) {
  int rank, sum;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0) printf("sum %d\\n", sum);
  MPI_Finalize();
  return 0;
}
"""


def run(*command, **options):
    return subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=240, check=True, **options)


class ComponentInstall(unittest.TestCase):
    def test_builds_and_runs_a_program_from_where_it_lies(self):
        with tempfile.TemporaryDirectory() as folder:
            first, moved = Path(folder) / "first", Path(folder) / "moved"
            for component in ("mpi", "launcher"):
                run("cmake", "--install", BUILD, "--component", component, "--prefix", first)
            first.rename(moved)
            programs = sorted(path.name for path in (moved / "bin").iterdir())
            self.assertEqual(programs, ["mpiCC", "mpic++", "mpicc", "mpicxx", "mpiexec", "mpirun", "weft"])
            self.assertEqual(len(list(moved.rglob("libmpi_abi.so.1"))), 1)
            self.assertEqual({path.name for path in (moved / "include" / "weft-mpi").iterdir()},
                             {"mpi.h", "mpi_datatypes.h", "mpi_functions.h", "mpi_older.h", "mpi_tools.h"})
            (Path(folder) / "sum.c").write_text(PROGRAM)
            run(moved / "bin" / "mpicc", "-o", Path(folder) / "sum", Path(folder) / "sum.c")
            self.assertEqual(run(moved / "bin" / "mpiexec", "-n", "3", Path(folder) / "sum").stdout, "sum 3\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
