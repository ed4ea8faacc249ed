"""What ranks write to standard error when the attribute `log` asks for it (docs/guide/observation.md)."""

import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["WEFTDEV_SOURCE_DIR"], "tests/multiprocess/diagnosis"))

from traffic import run_traffic  # noqa: E402

LINE = re.compile(r"weft\[rank (\d+)\] (\d+\.\d{6}) (\w+) (error|warn|info|debug|trace): (.+)")


class Log(unittest.TestCase):
    def lines(self, **attributes):
        job = run_traffic(**attributes)
        self.assertEqual(job.returncode, 0, job.stderr)
        parsed = [LINE.fullmatch(line) for line in job.stderr.splitlines()]
        self.assertNotIn(None, parsed, job.stderr)
        return [match.groups() for match in parsed]

    def test_nothing_is_written_by_default(self):
        self.assertEqual(self.lines(), [])

    def test_every_line_has_rank_time_module_and_level(self):
        lines = self.lines(log="trace")
        self.assertEqual({rank for rank, *_ in lines}, {"0", "1"})
        for rank in "01":
            times = [float(time) for other, time, *_ in lines if other == rank]
            self.assertLess(times[-1] - times[0], 100, "one clock")

    def test_info_tells_how_a_rank_starts_and_ends(self):
        lines = self.lines(log="info")
        self.assertLessEqual({level for *_, level, _ in lines}, {"info"})
        texts = [text for rank, _, _, _, text in lines if rank == "1"]
        for beginning in (r"process \d+ is rank 1 of 2 in job ", "network shm, 1024 packets of 32768 bytes", "a segment of 256M bytes",
                          "device 0 is open", r"device 0 closes, drained in \d+ microseconds", "the runtime ends"):
            self.assertTrue(any(re.match(beginning, text) for text in texts), f"{beginning}: {texts}")

    def test_debug_tells_of_peers_lanes_and_regions(self):
        lines = self.lines(log="warn,shm=debug,memory=debug")
        self.assertEqual({module for _, _, module, *_ in lines}, {"shm", "memory"})
        texts = "\n".join(text for *_, text in lines)
        for part in ("first contact with rank 1, process", "a lane to device 0 of rank 1, 256 slots", "lane 0 comes from rank",
                     "region 0 of rank 1, 4096 bytes, is allocated", "region 0 of rank 1, 4096 bytes, is withdrawn"):
            self.assertIn(part, texts)

    def test_trace_tells_of_large_messages(self):
        lines = self.lines(log="protocol=trace")
        begun = [text for *_, text in lines if text == "a large message of 300000 bytes from rank 0 begins"]
        ended = [text for *_, text in lines if text == "a large message to rank 1 ends: ok"]
        self.assertEqual((len(begun), len(ended)), (2, 2), lines)

    def test_a_wrong_value_is_one_line_that_says_what_would_be_right(self):
        for value, problem in (("loud", '"loud" is no level: it must be error, warn, info, debug or trace'),
                               ("lanes=debug", '"lanes" is no module: it must be runtime, bootstrap, shm,')):
            job = run_traffic(log=value)
            self.assertNotEqual(job.returncode, 0)
            self.assertIn(f"WEFT_LOG={value} is not valid: {problem}", job.stderr)


if __name__ == "__main__":
    unittest.main()
