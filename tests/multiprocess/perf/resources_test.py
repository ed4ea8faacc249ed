"""What `weft perf` measures of weft and this host alone: that figures are there and belong together, never how large they are."""

import json
import os
import unittest

from perf import ENOUGH_FOR_BARS, SHORT, perf_without_ucx

PROCESSORS = len(os.sched_getaffinity(0))


def measure(*names):
    """The measurements of some workloads, by name."""
    result = perf_without_ucx(*SHORT, "--only", ",".join(names), "--json", "-")
    if (result.returncode, result.stderr) != (0, ""):
        raise AssertionError(f"weft perf ended with {result.returncode}: {result.stderr}")
    return {each["name"]: each for each in json.loads(result.stdout)["measurements"]}


class ResourcesTest(unittest.TestCase):
    def test_each_resource_is_measured_with_one_to_eight_threads(self):
        threads = {"1-thread", "2-threads", "4-threads", "8-threads"}
        serial = {"resource-queue/1-thread-serial", "resource-matching/1-thread-serial"}
        found = measure("resource-queue", "resource-matching", "resource-packet")
        self.assertEqual(set(found), serial | {f"resource-{what}/{each}" for what in ("queue", "matching", "packet") for each in threads})
        for name, each in found.items():
            with self.subTest(name):
                self.assertEqual(each["unit"], "operations/s")
                self.assertGreater(each["figure"]["min"], 0)

    def test_no_operation_on_a_resource_goes_wrong(self):
        result = perf_without_ucx("--verify", "--seconds", "0.01", "--only", "resource-queue,resource-matching,resource-packet")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        lines = result.stdout.splitlines()
        self.assertEqual(len(lines), 14)
        for line in lines:
            self.assertIn("0 lost, 0 duplicated, 0 torn", line)

    @unittest.skipIf(PROCESSORS < 2, "needs two processors")
    def test_two_threads_on_one_device_are_compared_with_one(self):
        shared = measure("solo-shared")["solo-shared/one-device"]
        self.assertEqual(shared["unit"], "total together to alone")
        for one in shared["rounds"]:
            self.assertEqual((len(one["alone"]), len(one["together"])), (2, 2))
            self.assertAlmostEqual(one["value"], sum(one["together"]) / max(one["alone"]))

    def test_waiting_tells_its_share_of_a_core_and_wake_ups(self):
        found = measure("idle/weft", "wake-up/weft", "wake-up/bare-futex")
        idle, wake_up, bare = found["idle/weft"], found["wake-up/weft"], found["wake-up/bare-futex"]
        self.assertEqual((idle["unit"], wake_up["unit"]), ("percent of a core", "ns"))
        self.assertGreater(idle["figure"]["min"], 0)
        for one in wake_up["rounds"] + bare["rounds"]:
            self.assertLess(0, one["percentiles"]["50"])
            self.assertLessEqual(one["percentiles"]["50"], one["percentiles"]["90"])
            self.assertEqual(one["value"], one["percentiles"]["90"])

    def test_threads_of_two_ranks_are_compared_with_as_many_ranks(self):
        result = perf_without_ucx(*ENOUGH_FOR_BARS, "--only", "modes", "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        output = json.loads(result.stdout)
        self.assertEqual({each["name"] for each in output["measurements"]},
                         {"modes/processes", "modes/threads-own", "modes/threads-shared"})
        bars = {each["measurement"]: each["base"] for each in output["bars"]}
        self.assertEqual(bars, {"modes/threads-own": "modes/processes", "modes/threads-shared": "modes/processes"})

    def test_no_message_of_either_mode_goes_wrong(self):
        result = perf_without_ucx("--verify", "--seconds", "0.01", "--only", "modes")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        for line in result.stdout.splitlines():
            self.assertIn("0 lost, 0 duplicated, 0 torn", line)

    def test_streams_are_judged_by_devices_by_hand_and_one_endpoint(self):
        names = [f"streams-2/{each}" for each in ("weft-streams", "weft-by-hand", "weft-one-endpoint")]
        result = perf_without_ucx(*ENOUGH_FOR_BARS, "--only", ",".join(names), "--json", "-")
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        output = json.loads(result.stdout)
        self.assertEqual({each["name"] for each in output["measurements"]}, set(names))
        self.assertEqual({(each["measurement"], each["base"]) for each in output["bars"]},
                         {(names[0], names[1]), (names[0], names[2])})

    def test_no_message_of_streams_and_queues_goes_wrong(self):
        names = [f"streams-{threads}/{each}" for threads in (1, 2, 4) for each in ("weft-streams", "weft-by-hand", "weft-one-endpoint")]
        result = perf_without_ucx("--verify", "--seconds", "0.01", "--only", ",".join([*names, "enqueue"]))
        self.assertEqual((result.returncode, result.stderr), (0, ""))
        self.assertEqual({line.split()[0] for line in result.stdout.splitlines()},
                         {*names, "enqueue/stream-queue", "enqueue/host-functions"})
        for line in result.stdout.splitlines():
            self.assertIn("0 lost, 0 duplicated, 0 torn", line)


if __name__ == "__main__":
    unittest.main()
