"""Arrays of more than 4 GiB in one parcel, over every parcelport."""

import os
import unittest

from weft_job import environment, program, run, shared_memory

NEEDED = 12 << 30


class HugeParcelTest(unittest.TestCase):
    @unittest.skipIf(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") < NEEDED, "needs 12 GiB of memory")
    def test_arrays_beyond_four_gibibytes_arrive(self):
        segments = shared_memory()
        for options in ("", "port=putsendrecv", "port=sendrecv", "port=tcp"):
            with self.subTest(options=options):
                result = run(2, program("parcel_rank"), "huge", "--options", options, env=environment())
                self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "", ""))
        self.assertEqual(shared_memory(), segments)


if __name__ == "__main__":
    unittest.main()
