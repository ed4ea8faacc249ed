"""Many ranks on few cores, every one with every other: each message comes once and whole, and memory stays small."""

import os
import re
import unittest

from weft_job import program, run, shared_memory

RANKS = 64
MESSAGES = 1000  # of every pair
MOST_KIB = 16 << 10  # the budget of a rank; of pages that ranks share, its part


class AllToAll(unittest.TestCase):
    def test_of_64_ranks_ends_within_the_memory_budget(self):
        is_sanitized = bool(os.environ.get("WEFTDEV_TEST_SANITIZER"))
        ranks, messages = (12, 60) if is_sanitized else (RANKS, MESSAGES)
        before = shared_memory()
        result = run(ranks, program("all_to_all_rank"), "--messages", messages, guard=400)
        self.assertEqual(result.returncode, 0, f"{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
        lines = re.findall(r"rank \d+: (\d+) KiB of memory, (\d+) with all that is shared, (\d+) messages", result.stdout)
        self.assertEqual(len(lines), ranks, result.stdout)
        self.assertEqual({int(count) for *_, count in lines}, {ranks * messages})
        largest = max(int(size) for size, *_ in lines)
        mapped = max(int(size) for _, size, _ in lines)
        print(f"{ranks} ranks, {messages} messages per pair: at most {largest} KiB each, {mapped} with all that is shared")
        if not is_sanitized:
            self.assertLessEqual(largest, MOST_KIB)
        self.assertEqual([name for name in shared_memory() if name not in before and "weft" in name], [], "left in /dev/shm")


if __name__ == "__main__":
    unittest.main()
