"""Wrong use of MPI ends the job with one line that names the call, the communicator, the argument, and what would be right."""

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

BIN = Path(os.environ["WEFTDEV_BIN_DIR"])
PROGRAM = """
#include <mpi.h>
#include <string.h>
int main(int argc, char** argv) {
  int rank, value = 0, values[4] = {0};
  MPI_Datatype type;
  MPI_Request request = MPI_REQUEST_NULL;
  const char* wrong = argc > 1 ? argv[1] : "";
  if (!strcmp(wrong, "before")) MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (!strcmp(wrong, "rank")) MPI_Send(&value, 1, MPI_INT, 7, 1, MPI_COMM_WORLD);
  if (!strcmp(wrong, "tag")) MPI_Send(&value, 1, MPI_INT, 0, -5, MPI_COMM_WORLD);
  if (!strcmp(wrong, "count")) MPI_Send(&value, -1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  if (!strcmp(wrong, "communicator")) MPI_Send(&value, 1, MPI_INT, 0, 1, MPI_COMM_NULL);
  if (!strcmp(wrong, "buffer")) MPI_Send(NULL, 1, MPI_INT, 0, 1, MPI_COMM_WORLD);
  if (!strcmp(wrong, "datatype")) MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 1, MPI_COMM_WORLD);
  if (!strcmp(wrong, "uncommitted")) {
    MPI_Type_contiguous(2, MPI_INT, &type);
    MPI_Send(values, 1, type, 0, 1, MPI_COMM_WORLD);
  }
  if (!strcmp(wrong, "truncated")) {
    MPI_Send(values, 4, MPI_INT, rank, 1, MPI_COMM_WORLD);
    MPI_Recv(&value, 1, MPI_INT, rank, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  if (!strcmp(wrong, "start")) MPI_Start(&request);
  if (!strcmp(wrong, "missing")) {
    MPI_Win window;
    MPI_Win_create(values, 16, 4, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
  }
  if (!strcmp(wrong, "returned")) {
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int code = MPI_Send(&value, 1, MPI_INT, 7, 1, MPI_COMM_WORLD), error_class, length;
    char text[MPI_MAX_ERROR_STRING];
    MPI_Error_class(code, &error_class);
    MPI_Error_string(code, text, &length);
    if (error_class != MPI_ERR_RANK || !strstr(text, "destination 7")) return 3;
  }
  if (!strcmp(wrong, "twice")) MPI_Init(&argc, &argv);
  MPI_Finalize();
  return 0;
}
"""
LINES = {
    "before": "MPI_Comm_rank: MPI is not initialised",
    "rank": "MPI_Send on MPI_COMM_WORLD: destination 7; a rank from 0 to 0, or MPI_PROC_NULL is needed (MPI_ERR_RANK)",
    "tag": "MPI_Send on MPI_COMM_WORLD: tag -5; 0 to 2147483647 are possible (MPI_ERR_TAG)",
    "count": "MPI_Send on MPI_COMM_WORLD: argument 'count' is -1; 0 or more is needed (MPI_ERR_COUNT)",
    "communicator": "MPI_Send: argument 'comm' is MPI_COMM_NULL (MPI_ERR_COMM)",
    "buffer": "MPI_Send on MPI_COMM_WORLD: the buffer is a null pointer, and 4 bytes are to be moved (MPI_ERR_BUFFER)",
    "datatype": "MPI_Send on MPI_COMM_WORLD: argument 'datatype' is a null handle, or no datatype (MPI_ERR_TYPE)",
    "uncommitted": "MPI_Send on MPI_COMM_WORLD: the datatype has not been committed (MPI_Type_commit) (MPI_ERR_TYPE)",
    "truncated": "MPI_Recv on MPI_COMM_WORLD: the message from rank 0 with tag 1 is longer than the buffer, which has room for 4 bytes",
    "start": "MPI_Start: the request is MPI_REQUEST_NULL, or one that has ended (MPI_ERR_REQUEST)",
    "missing": "MPI_Win_create on MPI_COMM_WORLD: weft-mpi does not have this call yet",
    "twice": "MPI_Init: MPI has been initialised already",
}


class WrongUse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        source, cls.program = Path(cls.folder.name) / "wrong.c", Path(cls.folder.name) / "wrong"
        source.write_text(PROGRAM)
        subprocess.run([BIN / "mpicc", "-o", cls.program, source], check=True)

    def run_program(self, wrong):
        return subprocess.run([BIN / "weft", "run", "-n", "1", "--timeout", "120", "--", self.program, wrong], capture_output=True,
                              text=True, timeout=180, check=False)

    def test_ends_with_one_line(self):
        for wrong, line in LINES.items():
            with self.subTest(wrong=wrong):
                result = self.run_program(wrong)
                self.assertNotEqual(result.returncode, 0)
                self.assertEqual(len([text for text in result.stderr.splitlines() if "weft-mpi:" in text]), 1, result.stderr)
                self.assertIn(line, result.stderr)

    def test_is_returned_where_the_program_wants_it(self):
        result = self.run_program("returned")
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_right_use_says_nothing(self):
        result = self.run_program("")
        self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
