"""weft for C: its examples as jobs, every operation, and what is wrong."""

import os
import unittest
from pathlib import Path

from weft_job import environment, program, run

BINARIES = Path(os.environ["WEFTDEV_BIN_DIR"])


def example(name):
    return BINARIES / f"c-example-{name}"


class CInterface(unittest.TestCase):
    def succeeds(self, ranks, command, network="auto", told="nothing"):
        """Its output. Of what it writes to standard error each line has this text."""
        result = run(ranks, command, env=environment(WEFT_NETWORK=network) if network != "auto" else None)
        self.assertEqual(result.returncode, 0, f"{result.stdout}\n{result.stderr}")
        self.assertEqual([line for line in result.stderr.splitlines() if told not in line], [])
        return result.stdout

    def test_examples_run_on_any_number_of_ranks(self):
        for ranks in (1, 3):
            with self.subTest(ranks=ranks):
                self.assertEqual(sorted(self.succeeds(ranks, example("hello")).splitlines()),
                                 [f"hello from rank {rank} of {ranks}" for rank in range(ranks)])
                self.assertEqual(self.succeeds(ranks, example("ring")), f"{1000 * ranks} hops\n")
                self.assertEqual(self.succeeds(ranks, example("threads")), "40000 messages\n")
                self.assertEqual(self.succeeds(ranks, example("put")), f"{ranks} ranks have put\n")
                self.assertEqual(self.succeeds(ranks, example("collectives")), f"{ranks} ranks agree\n")

    def test_every_operation_works_over_shared_memory_and_sockets(self):
        for network in ("auto", "tcp"):
            with self.subTest(network=network):
                self.assertEqual(self.succeeds(2, program("c-test-operations"), network, told="a put of 7 bytes at offset 60"), "ok\nok\n")

    def test_contexts_teams_graphs_and_streams(self):
        for ranks, network in ((3, "auto"), (2, "tcp")):
            for name in ("contexts_and_teams", "graphs_and_streams"):
                with self.subTest(ranks=ranks, network=network, program=name):
                    self.assertEqual(self.succeeds(ranks, program(f"c-test-{name}"), network), "ok\n" * ranks)

    def test_lists_persistent_operations_matched_probes_and_made_messages(self):
        for network in ("auto", "tcp"):
            with self.subTest(network=network):
                self.assertEqual(self.succeeds(2, program("c-test-parts_and_prepared"), network), "ok\nok\n")

    def test_streams_synchronous_sends_cancelled_ones_and_borrowed_handles(self):
        for network in ("auto", "tcp"):
            with self.subTest(network=network):
                self.assertEqual(self.succeeds(2, program("c-test-streams"), network), "ok\nok\n")

    def test_what_is_wrong_has_a_line_that_names_function_and_value(self):
        told = "graph: node 0 could not begin: endpoint is the handle of an endpoint that has been destroyed"
        output = self.succeeds(1, program("c-test-misuse"), told=told)
        lines = dict(line.split(" | ", 1) for line in output.splitlines())
        self.assertGreaterEqual(len(lines), 30)
        for what, line in lines.items():
            self.assertRegex(line, r"^weft_\w+: .+", what)
        self.assertIn("options->size is 3", lines["size of options"])
        self.assertIn("options->reserved is 7", lines["reserved field"])
        self.assertIn("enormous", lines["bad attribute"])
        self.assertIn("99", lines["no rank"])
        self.assertIn("engine", lines["engine of an active message"])
        self.assertIn("another kind", lines["a counter is no queue"])
        self.assertIn("4294967296", lines["tag of a context"])
        self.assertIn("40", lines["no such collective"])
        self.assertIn("size is 7", lines["shorter than its size"])
        self.assertIn("options->device belongs to another runtime", lines["a device of another runtime"])
        self.assertIn("a completion object that has been destroyed", lines["destroyed twice"])
        self.assertIn("handle of a runtime: it must be one of an endpoint", lines["another kind of handle"])


if __name__ == "__main__":
    unittest.main()
