"""What ranks have counted, as they write it at the end (docs/guide/observation.md)."""

import json
import os
import re
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["WEFTDEV_SOURCE_DIR"], "tests/multiprocess/diagnosis"))

from traffic import ACTIVE, LARGE, LARGE_BYTES, MATCHED, PACKETS, PUT_BYTES, run_traffic  # noqa: E402


class Counters(unittest.TestCase):
    def test_json_agrees_with_what_was_sent(self):
        job = run_traffic(counters="json")
        self.assertEqual(job.returncode, 0, job.stderr)
        ranks = {line["weft_counters"]["rank"]: line["weft_counters"] for line in map(json.loads, job.stderr.splitlines())}
        self.assertEqual(set(ranks), {0, 1})
        sender, receiver = ranks[0]["values"], ranks[1]["values"]
        self.assertEqual(ranks[0]["size"], 2)
        self.assertEqual(sender["active_messages_sent"], ACTIVE)
        self.assertEqual(receiver["active_messages_received"], ACTIVE)
        self.assertEqual(sender["eager_bytes_sent"], PACKETS * 3000)
        self.assertEqual(receiver["eager_bytes_received"], PACKETS * 3000)
        self.assertEqual(sender["matched_sent"], MATCHED)
        self.assertEqual(receiver["matched_received"], MATCHED)
        self.assertEqual(sender["large_sent"], LARGE)
        self.assertEqual(receiver["large_received"], LARGE)
        self.assertEqual(receiver["large_bytes_received"] + receiver["large_bytes_read"], LARGE_BYTES)
        self.assertEqual((sender["puts"], sender["put_bytes"]), (1, PUT_BYTES))
        self.assertEqual(receiver["unexpected_now"], 0)

    def test_the_table_has_one_line_for_each_counter_that_is_not_0(self):
        job = run_traffic(counters="table")
        self.assertEqual(job.returncode, 0, job.stderr)
        titles = re.findall(r"^weft\[rank (\d)\] counters \(those that are not 0\):$", job.stderr, re.MULTILINE)
        self.assertEqual(sorted(titles), ["0", "1"])
        self.assertRegex(job.stderr, rf"(?m)^  matched_sent +{MATCHED}$")
        self.assertNotRegex(job.stderr, r"(?m) 0$")

    def test_a_wrong_form_is_refused(self):
        job = run_traffic(counters="loud")
        self.assertNotEqual(job.returncode, 0)
        self.assertIn("WEFT_COUNTERS=loud is not valid: it must be off, table or json", job.stderr)


if __name__ == "__main__":
    unittest.main()
