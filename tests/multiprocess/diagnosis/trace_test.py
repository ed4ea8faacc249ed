"""What the attribute `trace` records agrees with what a program did (docs/guide/observation.md)."""

import collections
import json
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ["WEFTDEV_SOURCE_DIR"], "tests/multiprocess/diagnosis"))

from traffic import LARGE, MATCHED, PACKETS, SHORT, run_traffic  # noqa: E402

KINDS = {"M", "X", "i", "b", "e", "s", "f"}


def load(folder, name="weft-trace-{}.json"):
    traces = []
    for rank in range(2):
        with open(os.path.join(folder, name.format(rank)), encoding="utf-8") as file:
            traces.append(json.load(file))
    return traces


class Trace(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            cls.job = run_traffic(trace=folder)
            cls.files = sorted(os.listdir(folder))
            cls.traces = load(folder) if cls.job.returncode == 0 else []
        cls.events = [event for trace in cls.traces for event in trace["traceEvents"]]

    def setUp(self):
        self.assertEqual(self.job.returncode, 0, self.job.stderr)

    def of(self, rank, name, **arguments):
        return [event for event in self.events if event["pid"] == rank and event["name"] == name and event.get("cat") != "refused"
                and all(event["args"].get(key) == value for key, value in arguments.items())]

    def test_each_rank_writes_a_file_and_drops_nothing(self):
        self.assertEqual(self.files, ["weft-trace-0.json", "weft-trace-1.json"])
        for rank, trace in enumerate(self.traces):
            other = trace["otherData"]
            self.assertEqual((other["rank"], other["size"], other["dropped_events"]), (rank, 2, 0))
            self.assertEqual({event["pid"] for event in trace["traceEvents"]}, {rank})

    def test_every_event_has_what_its_kind_needs(self):
        self.assertLessEqual({event["ph"] for event in self.events}, KINDS)
        for event in self.events:
            self.assertIn("tid", event)
            if event["ph"] != "M":
                self.assertGreater(event["ts"], 0)
            if event["ph"] == "X":
                self.assertGreaterEqual(event["dur"], 0)

    def test_slices_of_a_thread_lie_inside_each_other_or_apart(self):
        threads = collections.defaultdict(list)
        for event in self.events:
            if event["ph"] == "X":
                # In nanoseconds, because sums of fractions are not exact.
                begin = round(event["ts"] * 1000)
                threads[event["pid"], event["tid"]].append((begin, -(begin + round(event["dur"] * 1000))))
        for slices in threads.values():
            stack = []
            for begin, negative_end in sorted(slices):
                while stack and stack[-1] <= begin:
                    stack.pop()
                self.assertTrue(not stack or -negative_end <= stack[-1], "slices overlap")
                stack.append(-negative_end)

    def test_each_operation_that_begins_ends(self):
        open_ones = collections.Counter()
        for event in sorted((event for event in self.events if event["ph"] in "be"), key=lambda event: event["ts"]):
            name = event["pid"], event["cat"], event["name"], event["id2"]["local"]
            open_ones[name] += 1 if event["ph"] == "b" else -1
            self.assertIn(open_ones[name], (0, 1), name)
        self.assertEqual(+open_ones, collections.Counter())

    def test_posts_are_told_with_peer_size_and_answer(self):
        accepted = [event for event in self.of(0, "post_am", peer=1) if event["args"]["detail"] in ("done", "posted")]
        sizes = collections.Counter(event["args"]["size"] for event in accepted)
        self.assertEqual(sizes, {8: SHORT, 3000: PACKETS, 300_000: LARGE})
        sends = [event for event in self.of(0, "post_send") if event["args"]["detail"] == "done"]
        self.assertEqual([event["args"]["tag"] for event in sends], list(range(MATCHED)))
        self.assertEqual(len(self.of(0, "post_put", size=1000)), 1)
        receives = {event["args"]["tag"] for event in self.of(1, "post_receive")}
        self.assertEqual(receives, set(range(MATCHED)))

    def test_protocol_steps_are_told_at_both_ranks(self):
        for rank, name, count in ((0, "send active message", SHORT + PACKETS), (1, "deliver active message", SHORT + PACKETS),
                                  (0, "send RTS", LARGE), (1, "deliver RTS", LARGE),
                                  (0, "send matched message", MATCHED), (1, "deliver matched message", MATCHED),
                                  (1, "receive ended", MATCHED), (1, "large message delivered", LARGE)):
            self.assertEqual(len(self.of(rank, name)), count, name)
        self.assertGreaterEqual(len(self.of(1, "send CTS")), LARGE)
        self.assertEqual(len(self.of(0, "send fragment")), len(self.of(1, "deliver fragment")))
        begun = [event for event in self.of(0, "large message to a peer") if event["ph"] == "b"]
        self.assertEqual([event["args"]["size"] for event in begun], [300_000] * LARGE)
        self.assertTrue(self.of(1, "poll"))

    def test_waits_are_told_with_their_place(self):
        places = [event["args"].get("detail", "") for event in self.of(1, "a counter")]
        self.assertTrue(any("traffic_rank.cpp:" in place for place in places), places)

    def test_flows_lead_from_each_message_to_its_delivery(self):
        begins = {event["id"]: event for event in self.events if event["ph"] == "s"}
        ends = {event["id"]: event for event in self.events if event["ph"] == "f"}
        # What the other rank sent last may not have been delivered before the end.
        self.assertLessEqual(set(ends), set(begins))
        self.assertLessEqual(len(begins) - len(ends), 4)
        self.assertGreaterEqual(len(ends), SHORT + PACKETS + LARGE + MATCHED)
        for name, end in ends.items():
            self.assertNotEqual(begins[name]["pid"], end["pid"])
            # The sender's slice begins before; a message may be taken before its sender has looked at the clock again.
            self.assertLessEqual(begins[name]["ts"], end["ts"] + 1)
        slices = {(event["pid"], event["tid"], event["ts"]): event["name"] for event in self.events if event["ph"] == "X"}
        for name, end in ends.items():
            begin = begins[name]
            sent = slices[begin["pid"], begin["tid"], begin["ts"]]
            got = slices[end["pid"], end["tid"], end["ts"]]
            self.assertEqual(sent.replace("send ", "", 1), got.replace("deliver ", "", 1))


class Settings(unittest.TestCase):
    def test_a_file_name_gets_the_rank(self):
        with tempfile.TemporaryDirectory() as folder:
            job = run_traffic(trace=os.path.join(folder, "run.json"))
            self.assertEqual(job.returncode, 0, job.stderr)
            self.assertEqual(sorted(os.listdir(folder)), ["run-0.json", "run-1.json"])

    def test_a_full_buffer_drops_and_counts(self):
        with tempfile.TemporaryDirectory() as folder:
            job = run_traffic(trace=os.path.join(folder, "t%r"), trace_events="16")
            self.assertEqual(job.returncode, 0, job.stderr)
            for trace in load(folder, "t{}"):
                self.assertGreater(trace["otherData"]["dropped_events"], 0)
                self.assertLessEqual(sum(event["ph"] in "Xibe" for event in trace["traceEvents"]), 16 * 8)

    def test_a_path_that_cannot_be_written_is_refused_at_once(self):
        job = run_traffic(trace="/nowhere/at/all.json")
        self.assertNotEqual(job.returncode, 0)
        self.assertIn('WEFT_TRACE=/nowhere/at/all.json is not valid: "/nowhere/at/all', job.stderr)
        self.assertIn("cannot be written: No such file or directory; it must be off, on, or a file", job.stderr)

    def test_nothing_is_written_by_default(self):
        with tempfile.TemporaryDirectory() as folder:
            before = os.getcwd()
            os.chdir(folder)
            try:
                self.assertEqual(run_traffic().returncode, 0)
                self.assertEqual(os.listdir(folder), [])
            finally:
                os.chdir(before)


if __name__ == "__main__":
    unittest.main()
