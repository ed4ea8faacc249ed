"""Memory that its owner has registered and then made inaccessible: accesses are refused, and the owner lives."""

import unittest

from weft_job import environment, program, run

RANK = program("inaccessible_rank")


class Inaccessible(unittest.TestCase):
    def test_is_refused_on_every_path(self):
        for path in ("auto", "message"):
            for kind in ("read_only", "none", "unmapped"):
                with self.subTest(path=path, kind=kind):
                    result = run(2, RANK, kind, env=environment(WEFT_ONE_SIDED=path))
                    self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")


if __name__ == "__main__":
    unittest.main()
