"""Why jobs hang, as `weft run --explain` and the ranks themselves tell it (docs/guide/diagnosis.md)."""

import os
import re
import signal
import sys
import time
import unittest

sys.path.insert(0, os.path.join(os.environ["WEFTDEV_SOURCE_DIR"], "tests/multiprocess/launcher"))

from launcher import Job, run, with_enough_time  # noqa: E402

RANK = os.path.join(os.environ["WEFTDEV_TEST_BIN_DIR"], "diagnosis_rank")
PARCELS = os.path.join(os.environ["WEFTDEV_TEST_BIN_DIR"], "parcel_rank")
DEADLOCK = os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-deadlock")
SOURCE = r"tests/multiprocess/diagnosis/diagnosis_rank\.cpp:\d+"
TIME = r"\(\d+\.\d s\)"


def explain(ranks, *command, expected):
    """The paragraph that --explain writes for a job which hangs, once it contains all that is expected: a thread is listed
    when it is about to park, so on a busy machine the first paragraph may come too early. The job is killed then."""
    with Job(ranks, *command, options=("--explain", "0.5")) as job:
        for line in job.front.stderr:
            if line.startswith("weft run: the job has not ended. "):
                if all(re.search(pattern, line) for pattern in expected):
                    return line.rstrip("\n")
                time.sleep(0.1)
                job.front.send_signal(signal.SIGUSR1)
    raise AssertionError("the job has ended")


def line_with(stream, beginning):
    for line in stream:
        if line.startswith(beginning):
            return line.rstrip("\n")
    raise AssertionError(f"no line begins with {beginning!r}")


class Launcher(unittest.TestCase):
    def test_the_deadlock_example_is_explained_with_ranks_tags_and_places(self):
        place = rf"at examples/deadlock\.cpp:\d+ {TIME}"
        explain(2, DEADLOCK, expected=(
            rf"Rank 0 waits {place} for a message from rank 1 with tag 9, which rank 1 has not sent\. "
            rf"Rank 1 waits {place} for a message from rank 0 with tag 7, which rank 0 has not sent\. "
            r"So ranks 0 and 1 wait for each other \(0 -> 1 -> 0\)",))

    def test_a_circle_of_four_is_found(self):
        sentences = [rf"Rank {rank} waits at {SOURCE} {TIME} for a message from rank {(rank + 1) % 4} with tag {100 + rank}, "
                     rf"which rank {(rank + 1) % 4} has not sent\." for rank in range(4)]
        explain(4, RANK, "circle", expected=(
            *sentences, r"ranks 0, 1, 2 and 3 wait for each other in a circle \(0 -> 1 -> 2 -> 3 -> 0\)"))

    def test_calls_of_a_binding_are_named_in_place_of_those_of_weft(self):
        explain(2, RANK, "context", expected=(
            rf"Rank 0 waits in MPI_Recv on MPI_COMM_WORLD at halo\.c:12 {TIME} for a message from rank 1 with tag 5",
            rf"Rank 1 waits in MPI_Barrier on MPI_COMM_SELF {TIME} for "))

    def test_a_rank_that_computes_is_named_as_the_end_of_the_waits(self):
        explain(2, RANK, "computes", expected=(
            rf"Rank 0 waits at {SOURCE} {TIME} for a message from rank 1 with tag 5",
            "There is no circle: rank 1 is waited for and waits in no call of weft"))

    def test_tasks_that_wait_are_named_with_what_they_wait_for(self):
        place = rf"at tests/multiprocess/parcel/parcel_rank\.cpp:\d+ {TIME}"
        for options in ("workers=1", "port=tcp,workers=2"):
            with self.subTest(options=options):
                explain(2, PARCELS, "stuck", "--options", options, expected=(
                    rf"Rank 0 waits {place} for the answer to a call",
                    rf"Rank 1 waits {place} for value 1 of channel 7 \(task \d+\)"))

    def test_workers_that_block_are_counted_with_the_threads_that_were_lent(self):
        for options in ("workers=1", "port=tcp,workers=2"):
            workers = options[-1]
            with self.subTest(options=options):
                explain(2, PARCELS, "blocked", "--options", options, expected=(
                    rf"Rank 0: {workers} of {workers} workers block their threads in a call that is no wait of weft .*, and none gets on; "
                    r"[1-9]\d* threads? (was|were) lent to work in their stead\.",))

    def test_a_message_with_another_tag_is_named(self):
        explain(2, RANK, "wrong_tag", expected=(
            r"for a message from rank 1 with tag 5, which rank 1 has not sent; what rank 0 holds meanwhile fits no receive: a "
            r"message from rank 1 with tag 6 \(4 bytes\)",
            rf"Rank 1 waits at {SOURCE} {TIME} for a message in a queue, to which ranks send as id 17"))

    def test_a_large_message_that_nobody_receives_is_named(self):
        explain(2, RANK, "large", expected=(
            rf"Rank 0 waits at {SOURCE} {TIME} for rank 1 to take a message with tag 8 \(1048576 bytes: announced, the peer has "
            r"not asked for it\)",))

    def test_a_large_message_without_memory_is_named_by_the_rank_that_has_none(self):
        explain(2, RANK, "no_memory", expected=(
            rf"Rank 1 waits at {SOURCE} {TIME} for memory for a large message of 1048576 bytes from rank 0 with tag 8 \(no memory",))

    @unittest.skipIf(os.environ.get("WEFTDEV_TEST_SANITIZER"), "sanitizers take terabytes of addresses")
    def test_a_barrier_names_who_has_not_come(self):
        explain(3, RANK, "barrier", expected=(
            rf"Rank 1 waits at {SOURCE} {TIME} for the barrier of the runtime, which rank 0 has not entered\.",
            r"ranks 0 and 1 wait for each other \(0 -> 1 -> 0\)"))

    def test_a_collective_is_named_as_the_program_has_called_it(self):
        explain(2, RANK, "collective", expected=(
            rf"Rank 1 waits at {SOURCE} {TIME} for allreduce of 80 bytes \(sum of floating point, 8 bytes each\), number 2 of its "
            r"Collective \(key 255\), and there for rank 0\.",
            r"ranks 0 and 1 wait for each other \(0 -> 1 -> 0\)"))

    def test_a_collective_that_was_laid_out_is_named_by_the_line_of_its_start(self):
        explain(2, RANK, "made", expected=(
            rf"Rank 1 waits at {SOURCE} {TIME} for broadcast of 80 bytes, root 0, number 2 of its Collective \(key 255\), and "
            r"there for rank 0\.",))

    def test_a_blocking_access_has_the_place_of_the_call(self):
        explain(2, RANK, "put", expected=(rf"Rank 0 waits at {SOURCE} {TIME} for ",))

    def test_what_programs_that_only_poll_leave_undone_is_named(self):
        seconds = r"for at least \d+\.\d s"
        explain(2, RANK, "polls", expected=(
            "No rank waits in a call of weft",
            rf"Rank 0 has posted {seconds} a receive of a message from rank 1 with tag 5, which rank 1 has not sent; "
            r"it holds a message from rank 1 with tag 6 \(4 bytes\) that no receive fits; "
            rf"it has \d+ messages in the object exposed as id 17, of which nobody has taken one {seconds}",
            r"Rank 1 was refused \d+ posts since the last look \(no_credit\)"))

    def test_a_peer_that_has_not_exposed_the_id_is_named(self):
        explain(2, RANK, "not_exposed", expected=(
            rf"Rank 0 waits at {SOURCE} {TIME} for an active message to be sent to rank 1: rank 1 has not exposed id 1 "
            r"\(it has exposed 2\)\.",))

    def test_an_id_that_nobody_has_exposed_is_named_for_programs_that_poll_and_for_handlers_that_post(self):
        explain(2, RANK, "not_exposed_polls", expected=(
            r"Rank 0 was refused \d+ posts since the last look \(not_ready: rank 1 has not exposed id 1 \(nor any other\)\)",))
        explain(2, RANK, "not_exposed_in_backlog", expected=(
            rf"Rank 0 waits at {SOURCE} {TIME} for rank 1 to take an active message with tag 4 \(8 bytes\): rank 1 has not exposed "
            r"id 1 \(nor any other\)",))

    def test_a_wait_inside_a_handler_is_named(self):
        explain(1, RANK, "waits_in_handler", expected=(
            rf"Rank 0 waits inside a handler at {SOURCE} {TIME} for a counter, which nothing can end: its device delivers nothing "
            r"before the handler returns; handlers post, and wait outside\. So rank 0 waits for itself",))

    def test_two_threads_in_one_serial_endpoint_are_named(self):
        result = run("-n", 1, os.path.join(os.environ["WEFTDEV_TEST_BIN_DIR"], "two_threads_rank"))
        self.assertEqual(result.returncode, 128 + signal.SIGABRT, result.stderr)
        number = r"\(0x[0-9a-f]+\)"
        self.assertRegex(result.stderr, rf"weft: SerialEndpoint \(device 0 of rank 0\): thread "
                                        rf"('second' {number} calls post_am while thread 'first' {number} is inside wait|"
                                        rf"'first' {number} calls wait while thread 'second' {number} is inside post_am): "
                                        r"one thread at a time uses a SerialEndpoint; give each thread a device of its own, or use "
                                        r"an Endpoint\n")

    def test_a_signal_to_the_launcher_asks_at_any_time(self):
        with Job(2, RANK, "circle", options=("--explain", "3600")) as job:
            self.assertEqual(job.wait_for_lines(2), ["ready", "ready"])
            # A thread is listed when it is about to park, which is some time after it has said that it is ready.
            paragraph = ""
            while "wait for each other" not in paragraph:
                job.front.send_signal(signal.SIGUSR1)
                paragraph = line_with(job.front.stderr, "weft run: the job has not ended.")

    def test_ranks_that_are_no_weft_programs_are_named(self):
        result = with_enough_time(lambda seconds: run("-n", 2, "--explain", "0.1", "--timeout", 4 * seconds, "sleep", "200"),
                                  lambda result: "No answer came" in result.stderr, (1, 10))
        self.assertEqual(result.returncode, 124)
        self.assertIn("No answer came from ranks 0 and 1", result.stderr)

    def test_a_job_that_ends_is_not_explained(self):
        result = run("-n", 2, "--explain", "60", os.path.join(os.environ["WEFTDEV_BIN_DIR"], "example-ring"))
        self.assertEqual((result.returncode, result.stdout, result.stderr), (0, "2000 hops\n", ""))

    def test_a_bad_time_is_refused(self):
        result = run("-n", 2, "--explain", "soon", "true")
        self.assertEqual(result.returncode, 2)
        self.assertEqual(result.stderr, "weft run: --explain soon is not valid: it must be a duration such as 500ms, 30s or 2m, or a number of seconds, above 0\n")


class Ranks(unittest.TestCase):
    def rank_processes(self, job):
        return [process for process in job.processes() if os.path.basename(os.readlink(f"/proc/{process}/exe")) == "diagnosis_rank"]

    def test_a_rank_prints_what_is_pending_when_it_gets_the_signal(self):
        with Job(2, RANK, "wrong_tag", options=("--env", "WEFT_EXPLAIN=yes")) as job:
            self.assertEqual(job.wait_for_lines(2), ["ready", "ready"])
            held = "  held message from rank 1, tag 6, 4 bytes: no receive fits it; engine 0"
            seen = []
            while not (any(re.match(r"    signalled by: receive from rank 1, tag 5, room for 8 bytes: posted; engine 0", line)
                           for line in seen) and any(line.startswith(held) for line in seen)):
                for process in self.rank_processes(job):
                    os.kill(process, signal.SIGUSR1)
                seen.append(job.front.stderr.readline().rstrip("\n"))
            self.assertTrue(any(re.fullmatch(r"weft\[rank 0\] what is pending in process \d+ \(SIGUSR1\):", line) for line in seen),
                            seen)

    def test_a_wait_that_lasts_too_long_is_explained_once(self):
        with Job(2, RANK, "circle", options=("--env", "WEFT_EXPLAIN_AFTER=0.2")) as job:
            headings = [line_with(job.front.stderr, "weft[rank "), line_with(job.front.stderr, "weft[rank ")]
            self.assertEqual(sorted(re.fullmatch(r"weft\[rank (\d)\] what is pending in process \d+ \(a wait has passed the "
                                                 r"attribute explain_after\):", heading).group(1) for heading in headings),
                             ["0", "1"])

    def test_a_wait_is_named_by_the_call_that_the_program_is_in(self):
        with Job(2, RANK, "context", options=("--env", "WEFT_EXPLAIN_AFTER=0.2")) as job:
            wanted = {r"for a receive, at halo\.c:12 in MPI_Recv on MPI_COMM_WORLD; device 0",
                      r"for the barrier of the runtime, in MPI_Barrier on MPI_COMM_SELF$"}
            while wanted:
                line = job.front.stderr.readline().rstrip("\n")
                self.assertNotEqual(line, "", f"nobody has said {wanted}")
                wanted -= {pattern for pattern in wanted if re.search(pattern, line)}

    def test_a_handler_of_the_program_is_not_replaced(self):
        with Job(1, RANK, "own_handler", options=("--env", "WEFT_EXPLAIN=yes")) as job:
            self.assertEqual(job.wait_for_lines(1), ["ready"])
            [process] = self.rank_processes(job)
            os.kill(process, signal.SIGUSR1)
            self.assertEqual(job.wait_for_lines(1), ["own handler"])
            self.assertIn("SIGUSR1 is not explained", line_with(job.front.stderr, "weft[rank 0]"))

    def test_without_being_asked_the_signal_does_what_it_always_does(self):
        with Job(1, RANK, "circle") as job:
            self.assertEqual(job.wait_for_lines(1), ["ready"])
            [process] = self.rank_processes(job)
            os.kill(process, signal.SIGUSR1)
            code, _, err = job.finish()
            self.assertEqual(code, 128 + signal.SIGUSR1)
            self.assertIn("was killed by signal 10 (SIGUSR1)", err)


if __name__ == "__main__":
    unittest.main(verbosity=2)
