"""Every example runs alone, under `weft run`, and with more ranks than cores, and says the right thing."""

import os
import re
import subprocess
import textwrap
import unittest
from pathlib import Path

SOURCE = Path(os.environ["WEFTDEV_SOURCE_DIR"])
BIN = Path(os.environ["WEFTDEV_BIN_DIR"])
HANG_GUARD_S = 150
TASKS = 39396  # of the tree of the scheduler
RANKS = (1, 2, 5)  # odd as well: pairing examples have a rank without a partner
FOREIGN = re.compile(r"(WEFT_(RANK|SIZE|JOB|BOOTSTRAP)|PMI.*|SLURM_.*|OMPI_.*)$")


def lines_of(name, ranks=None):
    """Sorted lines of output of an example; ranks None: without a launcher."""
    command = [BIN / f"example-{name}"]
    if ranks is not None:
        command = [BIN / "weft", "run", "-n", str(ranks), "--", *command]
    environment = {key: value for key, value in os.environ.items() if not FOREIGN.match(key)}
    result = subprocess.run(command, capture_output=True, text=True, timeout=HANG_GUARD_S, env=environment, check=False)
    # In the simulated protocol ranks die with what was sent to them, of which runtimes tell.
    errors = [line for line in result.stderr.splitlines()
              if name != "simulated_protocol" or not re.match(r"weft\[rank \d+\] .* device 0 closes (and drops|with) what", line)]
    if result.returncode != 0 or errors:
        raise AssertionError(f"example-{name} on {ranks} ranks ended with {result.returncode}\n{result.stdout}{result.stderr}")
    return sorted(result.stdout.splitlines())


def parts_of(program):
    """The parts of a program between the comments "[name]" and "[end]", by name, without their indentation."""
    parts = re.findall(r"^ *// \[([a-z ]+)\]\n(.*?)^ *// \[end\]$", program, re.DOTALL | re.MULTILINE)
    return {name: textwrap.dedent(text) for name, text in parts}


def program_in(document):
    """The first C++ block of a document."""
    return re.search(r"```cpp\n(.*?)```", document, re.DOTALL).group(1)


class Examples(unittest.TestCase):
    def each(self, name, expected):
        """Compares with expected(ranks), alone and for every number of ranks."""
        for ranks in (None, *RANKS):
            with self.subTest(example=name, ranks=ranks):
                self.assertEqual(lines_of(name, ranks), sorted(expected(ranks or 1)))

    def test_hello_greets_every_rank_once(self):
        self.each("hello", lambda ranks: [f"rank {to} of {ranks}: hello from rank {sender}"
                                          for to in range(ranks) for sender in range(ranks)])

    def test_ring_counts_every_hop(self):
        self.each("ring", lambda ranks: [f"{1000 * ranks} hops"])

    def test_transpose_turns_the_matrix_and_turns_it_back(self):
        self.each("transpose", lambda ranks: [f"a matrix of {64 * ranks} by {64 * ranks}: transposed and back"])

    def test_sample_sort_sorts_between_the_ranks(self):
        self.each("sample_sort", lambda ranks: [f"{20000 * ranks} numbers: sorted"])

    def test_conjugate_gradient_solves_the_equations(self):
        self.each("conjugate_gradient", lambda ranks: [f"{50 * ranks} equations: solved"])

    def test_jacobi_solves_the_same_rod_as_one_loop(self):
        def heat(ranks):
            points = 200 * ranks
            now = [0.0] * points
            for _ in range(2000):
                around = [1.0, *now, 0.0]
                now = [(around[place] + around[place + 2]) / 2 for place in range(points)]
            return [f"heat {sum(now):.6f} in {ranks} parts"]
        self.each("jacobi", heat)

    def test_translations_work_on_every_number_of_ranks(self):
        self.each("translations", lambda ranks: [f"rank {rank}: 0 wrong" for rank in range(ranks)])

    def test_request_reply_answers_everybody_correctly(self):
        self.each("request_reply", lambda ranks: [f"rank {rank}: 10000 replies, 0 wrong" for rank in range(ranks)]
                  + [f"rank 0 served {10000 * ranks} requests"])

    def test_scheduler_counts_the_same_tree_whoever_runs_its_tasks(self):
        self.each("scheduler", lambda ranks: [f"{TASKS} tasks"])

    def test_thread_ping_pong_pairs_all_threads(self):
        pattern = re.compile(r"rank (\d+) thread (\d+) against rank (\d+) thread (\d+): 20000 hits, \d+ ns each")
        for ranks in (None, *RANKS):
            with self.subTest(ranks=ranks):
                players = []
                for line in lines_of("thread_ping_pong", ranks):
                    numbers = [int(number) for number in pattern.fullmatch(line).groups()]
                    players += [tuple(numbers[:2]), tuple(numbers[2:])]
                self.assertEqual(sorted(players), [(rank, thread) for rank in range(ranks or 1) for thread in range(2)])

    def test_aggregate_delivers_every_item_once(self):
        pattern = re.compile(r"rank (\d+): (\d+) items in (\d+) packets")
        for ranks in (None, *RANKS):
            with self.subTest(ranks=ranks):
                total = 1000000 * (ranks or 1)
                lines = lines_of("aggregate", ranks)
                self.assertIn(f"{total} of {total} items, the sum is right", lines)
                received = [tuple(map(int, match.groups())) for line in lines if (match := pattern.fullmatch(line))]
                self.assertEqual([rank for rank, _, _ in received], list(range(ranks or 1)))
                self.assertEqual(sum(items for _, items, _ in received), total)
                for _, items, packets in received:
                    self.assertGreater(items, 100 * packets, "items travel by the packet")

    def test_matched_ping_pong_swaps_every_message(self):
        total = sum(100000 if swap % 100 == 99 else 8 * (swap % 64) for swap in range(1000))

        def expected(ranks):
            partners = [rank ^ 1 if rank ^ 1 < ranks else rank for rank in range(ranks)]
            return [f"rank {rank} and rank {partner}: 1000 swaps, {total} bytes received, 0 wrong" for rank, partner in enumerate(partners)]
        self.each("matched_ping_pong", expected)

    def test_simulated_protocol_holds_under_all_seeds_and_finds_the_naive_server_out(self):
        [line] = lines_of("simulated_protocol")
        self.assertEqual(line, "300 seeds: never two holders, and every turn was had")
        command = [BIN / "example-simulated_protocol", "--naive"]
        found = subprocess.run(command, capture_output=True, text=True, timeout=HANG_GUARD_S, check=False)
        self.assertEqual(found.returncode, 1, found.stdout)
        replay = re.fullmatch(r"seed \d+: two clients hold the lock; to see it again: example-simulated_protocol (.*)\n",
                              found.stdout).group(1)
        again = subprocess.run([command[0], *replay.split()], capture_output=True, text=True, timeout=HANG_GUARD_S,
                               check=False)
        self.assertEqual(again.stdout, found.stdout)

    def test_distributed_array_holds_what_all_ranks_put(self):
        elements = 10000
        self.each("distributed_array", lambda ranks: [
            f"rank {rank}: {len(range((rank + 1) % ranks, elements, ranks))} elements checked, 0 wrong"
            for rank in range(ranks)])

    def test_halo_exchange_keeps_the_sum(self):
        self.each("halo_exchange", lambda ranks: [f"rank {rank}: 100 steps, the sum is right" for rank in range(ranks)])

    def test_ticket_gives_every_item_to_one_rank(self):
        self.each("ticket", lambda ranks: [f"rank {rank}: the sum is right" for rank in range(ranks)])

    def test_multipart_messages_bring_every_array(self):
        self.each("multipart", lambda ranks: [f"rank {rank}: 100 parcels, 0 wrong" for rank in range(ranks)])

    def test_graph_keeps_the_sum(self):
        self.each("graph", lambda ranks: [f"rank {rank}: 100 steps, the sum is right" for rank in range(ranks)])

    def test_standing_receives_take_every_message(self):
        self.each("standing_receives", lambda ranks: [
            f"rank {rank}: {2000 * ranks} messages, 0 wrong, 16 receives cancelled" for rank in range(ranks)])

    def test_stream_threads_exchange_in_a_ring(self):
        self.each("stream_threads", lambda ranks: [
            f"rank {rank}: 3 threads have exchanged 1000 messages each" for rank in range(ranks)])

    def test_stream_many_to_one_collects_in_order(self):
        self.each("stream_many_to_one", lambda ranks: [f"{3 * ranks} streams have sent 500 messages each, all in order"])

    def test_stream_saxpy_needs_no_synchronization(self):
        self.each("stream_saxpy", lambda ranks: [f"rank {rank}: y is right" for rank in range(ranks)])

    def test_deadlock_is_about_two_ranks(self):  # which tests/multiprocess/diagnosis looks at
        for ranks in (None, 5):
            with self.subTest(ranks=ranks):
                self.assertEqual(lines_of("deadlock", ranks), ["this example is about two ranks"] * (ranks or 1))

    def test_every_example_is_tested(self):
        names = {path.stem for path in (SOURCE / "examples").glob("*.cpp")}
        self.assertEqual(names, {"hello", "ring", "jacobi", "request_reply", "thread_ping_pong", "aggregate", "simulated_protocol",
                                 "transpose", "sample_sort", "conjugate_gradient",
                                 "distributed_array", "halo_exchange", "matched_ping_pong", "ticket", "graph", "deadlock",
                                 "multipart", "standing_receives", "scheduler", "stream_threads", "stream_many_to_one", "stream_saxpy",
                                 "translations"})


class Documents(unittest.TestCase):
    def test_the_code_of_coming_from_is_that_of_the_translations(self):
        page = (SOURCE / "docs/guide/coming-from.md").read_text()
        parts = parts_of((SOURCE / "examples/translations.cpp").read_text())
        blocks = re.findall(r"```cpp\n(.*?)```", page, re.DOTALL)
        self.assertGreaterEqual(len(blocks), 20)
        self.assertEqual(sorted(blocks), sorted(parts.values()))
        self.assertEqual([int(number) for number in re.findall(r"^\| (\d+)\. ", page, re.MULTILINE)],
                         list(range(1, len(blocks) + 1)))

    def test_every_example_has_a_row_in_their_list(self):
        rows = set(re.findall(r"^\| `(\w+)` \|", (SOURCE / "examples/README.md").read_text(), re.MULTILINE))
        self.assertEqual(rows, {path.stem for path in (SOURCE / "examples").glob("*.cpp")})


class Readme(unittest.TestCase):
    def test_its_program_is_the_ring_example(self):
        example = (SOURCE / "examples/ring.cpp").read_text()
        self.assertEqual(program_in((SOURCE / "README.md").read_text()), example)


if __name__ == "__main__":
    unittest.main(verbosity=2)
