"""Options of `weft perf` that vary what a workload does: sizes, windows, computing, progress threads."""

import json
import unittest

from perf import SHORT, perf


class VariantsTest(unittest.TestCase):
    def test_sizes_and_windows_make_series_of_their_own(self):
        result = perf(*SHORT, "--only", "matched/weft,unexpected/weft,matched-latency/weft", "--size", "16,8", "--window", "1,4", "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        found = [(each["name"], each["size"], each["window"]) for each in json.loads(result.stdout)["measurements"]]
        windows = [(f"{work}/weft", size, window) for work in ("matched", "unexpected") for size in (8, 16) for window in (1, 4)]
        self.assertEqual(sorted(found), sorted(windows + [("matched-latency/weft", 8, 1), ("matched-latency/weft", 16, 1)]))
        for each in json.loads(result.stdout)["measurements"]:
            self.assertGreater(each["figure"]["median"], 0)

    def test_settings_are_told_and_keep_bars_from_being_judged(self):
        result = perf(*SHORT, "--only", "pairs-2/weft,pairs-2/weft-am", "--progress-thread", "--compute", "50", "--pin", "none", "--warm-up", "0.001",
                      "--seed", "7", "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        root = json.loads(result.stdout)
        self.assertEqual({name: root["settings"][name] for name in ("compute_ns", "progress_thread", "pin", "warm_up", "seed")},
                         {"compute_ns": 50, "progress_thread": True, "pin": "none", "warm_up": 0.001, "seed": 7})
        self.assertEqual((len(root["measurements"]), root["bars"]), (2, []))

    def test_payloads_are_written_before_their_posts(self):
        result = perf(*SHORT, "--only", "rate/serial-handler,matched/weft,unexpected/weft,matched-unacknowledged/weft", "--fresh", "--size", "8,24,8K", "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual(len(json.loads(result.stdout)["measurements"]), 12)
        result = perf(*SHORT, "--only", "rate/serial-handler,rate/bare-ring-buffer,latency/serial-handler", "--fresh", "--json", "-")
        root = json.loads(result.stdout)
        self.assertEqual((result.returncode, root["settings"]["fresh"], root["bars"]), (0, True, []))
        self.assertEqual(sorted(each["name"] for each in root["measurements"]), ["rate/bare-ring-buffer", "rate/serial-handler"])
        self.assertIn("latency/serial-handler is left out: its payloads are not written before their posts (--fresh)", root["remarks"])
        result = perf("--only", "rate", "--fresh", "--verify")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--fresh and --verify exclude each other", result.stderr)
        result = perf("--only", "rate", "--fresh", "--size", "8,8193")
        self.assertEqual((result.returncode, result.stdout), (2, ""))
        self.assertIn("--fresh takes payloads of up to 8192 bytes, and --size has 8193", result.stderr)

    def test_minutes_are_for_what_undecided_bars_compare(self):
        result = perf(*SHORT, "--only", "rate/bare-ring-buffer,rate/serial-handler,put-rate/bare-memory,put-rate/weft-serial,latency/serial-queue", "--minutes", "0.1", "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        root = json.loads(result.stdout)
        self.assertEqual(root["settings"]["minutes"], 0.1)
        rounds = {each["name"]: len(each["rounds"]) for each in root["measurements"]}
        self.assertEqual(rounds["rate/bare-ring-buffer"], rounds["rate/serial-handler"])
        self.assertEqual(rounds["put-rate/bare-memory"], rounds["put-rate/weft-serial"])
        # Of each measurement, rounds that the machine has spoilt may be made again, as many as were asked for at most.
        asked = int(SHORT[1])
        # No bar is about it.
        self.assertIn(rounds["latency/serial-queue"], range(asked, 2 * asked + 1))
        further = [remark for remark in root["remarks"] if "further passes" in remark]
        self.assertLessEqual(len(further), 1)
        passes = sum(int(remark.split()[0]) for remark in further)
        self.assertIn(max(rounds.values()), range(asked + passes, 2 * asked + passes + 1))

    def test_what_a_progress_thread_may_not_touch_is_remarked(self):
        result = perf("--rounds", "1", "--seconds", "0.01", "--only", "matched", "--compare", "weft,weft-serial", "--progress-thread")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertIn("matched/weft-serial is left out: only the thread that uses it may progress it\n", result.stdout)


if __name__ == "__main__":
    unittest.main()
