"""Wrong programs end with the line that their authors need. The programs are the functions of wrong/*.c."""

import os
import re
import subprocess
import unittest
from pathlib import Path

from wrong_programs import BIN, HANG_GUARD, SOURCES, TestOfWrongPrograms, line_of


class WrongPrograms(TestOfWrongPrograms):
    def test_places_in_programs_of_any_address(self):
        program = Path(self.folder.name) / "elsewhere"
        for flags in (["-no-pie"], ["-Wl,-Ttext-segment=0x400000"], ["-ffunction-sections", "-Wl,--gc-sections"], ["-gdwarf-4"], ["-gdwarf-5"]):
            with self.subTest(flags):
                subprocess.run([BIN / "mpicc", "-g", *flags, "-o", program, "arguments.c"], check=True, cwd=SOURCES)
                self.assert_says(self.run_to_end(program.name, "freed_communicator", 1), r"MPI_Barrier: .*, called at arguments\.c:\d+")

    def test_places_in_a_library_loaded_by_a_relative_path(self):
        folder = Path(self.folder.name)
        subprocess.run([BIN / "mpicc", "-g", "-shared", "-fPIC", "-o", folder / "loaded.so", "loaded.c"], check=True, cwd=SOURCES)
        subprocess.run([BIN / "mpicc", "-g", "-o", folder / "loads", "loads.c"], check=True, cwd=SOURCES)
        self.assert_says(self.run_to_end("loads", "./loaded.so", 1, cwd=folder), rf"MPI_Barrier: .*, called at {line_of('loaded.c', 'in a library')}")

    def test_arguments(self):
        for name, ranks, expected in (
                ("wrong_root", 2, r"MPI_Bcast on MPI_COMM_WORLD: root 5; a rank from 0 to 1 is needed \(MPI_ERR_ROOT\), called at arguments.c:\d+"),
                ("wrong_operation", 1, r"MPI_Allreduce on MPI_COMM_WORLD: .*MPI_BAND.*MPI_DOUBLE.*\(MPI_ERR_OP\)"),
                ("freed_communicator", 1, r"MPI_Barrier: argument 'comm' is no communicator, or one that has been freed \(MPI_ERR_COMM\)"),
                ("freed_datatype", 1, r"MPI_Send on MPI_COMM_WORLD: argument 'datatype' is a null handle, or no datatype \(MPI_ERR_TYPE\)"),
                ("ended_request", 1, r"MPI_Wait: the handle is no request, or one that has ended \(MPI_ERR_REQUEST\)"),
                ("started_twice", 1, r"MPI_Start: the persistent request is active; it must end before it is started again"),
                ("predefined_freed", 1, r"MPI_Comm_free on MPI_COMM_WORLD: MPI_COMM_WORLD is predefined and cannot be freed"),
                ("no_intracommunicator", 2, r"MPI_Scan on .*: an intercommunicator does not have this collective \(MPI_ERR_COMM\)"),
                ("twice_finalized", 1, r"MPI_Finalize: MPI has been finalised already"),
                ("after_finalize", 1, r"MPI_Comm_size: MPI is not initialised: it is called before MPI_Init, or after MPI_Finalize"),
                ("truncated_collective", 2, r"MPI_Bcast on MPI_COMM_WORLD: a message from rank 0 has more than the 4 bytes that are awaited: the "
                 r"ranks have passed different counts, or called different collectives.*\(MPI_ERR_TRUNCATE\)"),
                ("no_place_for_the_result", 1, r"MPI_Comm_dup on MPI_COMM_WORLD: argument 'newcomm' is a null pointer; a place for the result is "
                 r"needed \(MPI_ERR_ARG\)"),
                ("same_buffer_twice", 2, r"MPI_Allreduce on MPI_COMM_WORLD: the result would go where the values are taken from; MPI_IN_PLACE "
                 r"says that \(MPI_ERR_BUFFER\)"),
                ("no_buffer_attached", 1, r"MPI_Bsend on MPI_COMM_WORLD: no buffer is attached for buffered sends \(MPI_Buffer_attach\)")):
            with self.subTest(name):
                text = self.run_to_end("arguments", name, ranks)
                self.assert_says(text, r"weft-mpi: .*" + expected)

    def test_what_the_checks_find(self):
        at = "checked.c"
        for name, *expected in (
                ("other_type", rf"rank 1: MPI_Recv at {line_of(at, 'other type')} on MPI_COMM_WORLD: the message from rank 0 with tag 5 has other "
                 r"datatypes than the receive: its elements from number 0 on were sent as signed 4-byte integers \(int\), and are received as "
                 r"4-byte floating point numbers \(float\) \(MPI_ERR_TYPE, found by WEFT_MPI_CHECK\)"),
                ("other_structure", rf"rank 1: MPI_Recv at {line_of(at, 'other structure')}.*from number 1 on were sent as 8-byte floating point "
                 r"numbers \(double\), and are received as signed 4-byte integers \(int\)"),
                ("leaked_requests", r"rank 0: MPI_Finalize: 2 requests were never completed or freed \(0 under way, 2 ended but not waited for or "
                 rf"tested, 0 persistent\); the first was made by MPI_Isend at {line_of(at, 'first leak')}"),
                ("leaked_handles", rf"rank 0: MPI_Finalize: 2 communicators were never freed; the first was made by MPI_Comm_dup at "
                 rf"{line_of(at, 'first communicator')}",
                 rf"rank 1: MPI_Finalize: 1 datatype was never freed; the first was made by MPI_Type_contiguous at {line_of(at, 'first datatype')}",
                 rf"rank 1: MPI_Finalize: 1 group was never freed; the first was made by MPI_Comm_group at {line_of(at, 'first group')}",
                 r"MPI_Finalize: the program has left behind what the lines above name \(WEFT_MPI_CHECK\) \(MPI_ERR_PENDING\)"),
                ("unmatched_message", r"rank 1: MPI_Finalize: 1 message was never received: from rank 0 with tag 42 on MPI_COMM_WORLD, of 4 bytes"),
                ("send_buffer_changed", rf"rank 0: MPI_Isend at {line_of(at, 'a send')} on MPI_COMM_WORLD: the program has changed the send buffer "
                 r"before the request had ended \(MPI_Wait at checked.c:\d+\)"),
                ("receive_buffer_changed", rf"rank 0: MPI_Irecv at {line_of(at, 'a receive')} on MPI_COMM_WORLD: the receive buffer was changed "
                 r"before the message from rank 1 with tag 5 had come"),
                ("overlapping_receives", rf"MPI_Irecv at {line_of(at, 'and another')} on MPI_COMM_WORLD: the receive buffer overlaps by 8 bytes the "
                 rf"receive buffer of MPI_Irecv at {line_of(at, 'one receive')}, which is still in use"),
                ("same_buffer", rf"MPI_Sendrecv at {line_of(at, 'one buffer')} on MPI_COMM_WORLD: the send buffer overlaps by 16 bytes the receive "
                 r"buffer of MPI_Sendrecv"),
                ("different_roots", r"number 1 there: this rank calls MPI_Bcast with root \d, rank \d calls MPI_Bcast with root \d"),
                ("different_counts", r"number 1 there: this rank calls MPI_Allreduce with bytes for each rank: \d, rank \d calls MPI_Allreduce with "
                 r"bytes for each rank: \d"),
                ("different_types", r"this rank calls MPI_Allgather with elements from number 0 on: [^,]+, rank \d calls MPI_Allgather with elements "
                 r"from number 0 on: \S"),
                ("different_operations", r"this rank calls MPI_Allreduce with operation MPI_\w+, rank \d calls MPI_Allreduce with operation MPI_\w+"),
                ("other_order", r"this rank calls (MPI_Bcast with immediate collectives before it: (\d), rank \d calls MPI_Bcast with "
                 r"immediate collectives before it: (?!\2)|MPI_Ibarrier with collectives that wait before it: \d, rank \d calls MPI_Ibarrier)"),
                ("different_between_sides", r"number 1 there: this rank calls MPI_\w+, remote rank 0 calls MPI_\w+"),
                ("different_of_neighbours", r"number 1 there: this rank calls MPI_Neighbor_\w+, rank \d calls MPI_Neighbor_\w+"),
                ("leaked_contents", rf"1 datatype was never freed; the first was made by MPI_Type_contiguous at {at}:\d+"),
                ("different_collectives", r"the ranks call different collectives as number 1 there: this rank calls MPI_\w+, rank \d calls MPI_\w+")):
            with self.subTest(name):
                self.assert_says(self.run_to_end("checked", name, 2, WEFT_MPI_CHECK="1"), *expected)

    def test_what_may_be_freed_behind_finalize_is_told_when_the_process_ends(self):
        program = [BIN / "weft", "run", "-n", "1", "--", Path(self.folder.name) / "checked", "left_behind_finalize"]
        result = subprocess.run(program, capture_output=True, text=True, timeout=HANG_GUARD, check=False, env={**os.environ, "WEFT_MPI_CHECK": "1"})
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assert_says(result.stderr, r"rank 0: the program has ended: 1 info object was never freed; the first was made by MPI_Info_create at "
                         rf"{line_of('checked.c', 'first info object')}", r"the program has ended: 1 error handler was never freed; the first was made by")

    def test_a_ready_send_without_a_receive_is_found_by_the_checks(self):
        self.assert_says(self.run_to_end("checked", "ready_too_early", 2, WEFT_MPI_CHECK="1"),
                         rf"rank 1: MPI_Recv at {line_of('checked.c', 'too late')} on MPI_COMM_WORLD: the message from rank 0 with tag 5 was sent in ready mode "
                         r"\(MPI_Rsend\) before this receive was posted")

    def test_lists_of_counts_are_compared_by_the_checks(self):
        for name, call, on in (("types_of_lists", "MPI_Allgatherv", "MPI_COMM_WORLD"), ("types_for_all", "MPI_Alltoallv", "MPI_COMM_WORLD"),
                               ("types_of_gathering", "MPI_Gatherv", "MPI_COMM_WORLD"), ("types_of_scattering", "MPI_Scatterv", "MPI_COMM_WORLD"),
                               ("types_of_shares", "MPI_Reduce_scatter", "MPI_COMM_WORLD"),
                               ("types_of_edges", "MPI_Neighbor_alltoallv", "a communicator of 2 ranks")):
            with self.subTest(name):
                self.assert_says(self.run_to_end("checked", name, 2, WEFT_MPI_CHECK="1"),
                                 rf"weft-mpi: rank \d: {call} at checked\.c:\d+ on {on}: other datatypes than those of rank \d: its elements from number 0 on were "
                                 r"sent as .*, and are received as .*\(MPI_ERR_TYPE, found by WEFT_MPI_CHECK\)")
        self.assert_says(self.run_to_end("checked", "nothing_is_sent", 2, WEFT_MPI_CHECK="1"),
                         r"rank 1: MPI_Alltoallv at checked\.c:\d+ on MPI_COMM_WORLD: rank 0 passes 0 bytes for what this rank awaits from it, and this rank 4 "
                         r"\(MPI_ERR_COUNT")
        self.assert_says(self.run_to_end("checked", "different_functions", 2, WEFT_MPI_CHECK="1"),
                         r"this rank calls MPI_Allreduce with a commutative operation of the program, the function at checked\.c:\d+, rank \d calls MPI_Allreduce "
                         r"with a commutative operation of the program, the function at checked\.c:\d+")

    def test_a_failure_of_finalize_fails_the_program_that_does_not_look(self):
        text = self.run_to_end("checked", "leak_not_looked_at", 2, WEFT_MPI_CHECK="1")
        self.assert_says(text, r"rank 0: MPI_Finalize: 2 requests were never completed or freed")
        self.assertNotIn("without MPI_Finalize", text)

    def test_what_is_left_is_told_without_the_checks(self):
        unmatched = r"weft-mpi: rank 1: MPI_Finalize: 1 message was never received: from rank 0 with tag 42 on MPI_COMM_WORLD, of 4 bytes\n"
        probed = (r"weft-mpi: rank \d: MPI_Finalize: 1 message was taken by MPI_Mprobe or MPI_Improbe and never received \(MPI_Mrecv\); one of them: from "
                  r"rank \d with tag 5 on MPI_COMM_WORLD\n")
        for name, line in (("unmatched_message", unmatched), ("unmatched_late", unmatched), ("probed_and_left", probed),
                           ("count_of_nothing", r"weft-mpi: rank 1: MPI_Finalize: 1 message of collectives was never received: from rank 0 on "
                                                r"MPI_COMM_WORLD, of 4 bytes: the ranks have passed different counts, or not all of them have "
                                                r"called the same collectives\n"),
                           ("receive_left", r"weft-mpi: rank 0: MPI_Finalize: 1 request was never completed or freed \(1 under way, 0 ended but not "
                                            r"waited for or tested, 0 persistent\)\n")):
            with self.subTest(name):
                result = subprocess.run([BIN / "weft", "run", "-n", "2", "--", Path(self.folder.name) / "checked", name], capture_output=True,
                                        text=True, timeout=HANG_GUARD, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
                self.assertRegex(result.stderr, line)
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_mistakes_that_are_often_made_end_with_one_line(self):
        freed = r"the request has been freed \(MPI_Request_free\), and can be neither waited for nor used again \(MPI_ERR_REQUEST\)"
        null = r"is a null pointer; a place for the result is needed \(MPI_ERR_ARG\)"
        in_place = r"is MPI_IN_PLACE, .*and 4 bytes are to be moved \(MPI_ERR_BUFFER\)"
        for name, expected in (
                ("freed_and_waited_for", rf"MPI_Wait: {freed}"), ("freed_and_tested", rf"MPI_Test: {freed}"),
                ("freed_twice", rf"MPI_Request_free: {freed}"), ("freed_and_cancelled", rf"MPI_Cancel: {freed}"),
                ("start_of_no_persistent_one", r"MPI_Start: the request is not persistent; one of MPI_..._init is needed"),
                ("no_request", rf"MPI_Isend on MPI_COMM_WORLD: argument 'request' {null}"), ("no_request_to_wait_for", rf"MPI_Wait: argument 'request' {null}"),
                ("no_flag", rf"MPI_Iprobe on MPI_COMM_WORLD: argument 'flag' {null}"),
                ("no_status", r"MPI_Get_count: argument 'status' is MPI_STATUS_IGNORE, or a null pointer; a status is needed"),
                ("probed_and_received_shorter", r"MPI_Recv on MPI_COMM_WORLD: the message from rank \d with tag 5 is longer than the buffer, which has room for 8 bytes"),
                ("in_place_message", rf"MPI_Send on MPI_COMM_WORLD: the buffer {in_place}"),
                ("overlap_of_reduction", r"MPI_Allreduce on MPI_COMM_WORLD: 'sendbuf' and 'recvbuf' overlap by 8 bytes; they must be apart"),
                ("overlap_with_all", r"MPI_Allgather on MPI_COMM_WORLD: 'sendbuf' and 'recvbuf' overlap by 16 bytes"),
                ("overlap_of_all", r"MPI_Alltoall on MPI_COMM_WORLD: 'sendbuf' and 'recvbuf' overlap by 24 bytes"),
                ("no_list_of_counts", r"MPI_Gatherv on MPI_COMM_WORLD: argument 'recvcounts' is a null pointer; a list of a number for each rank is needed"),
                ("count_of_all", r"rank 0: MPI_Gather on MPI_COMM_WORLD: what this rank sends to itself has 16 bytes, and 32 are awaited"),
                ("one_count_for_itself", r"MPI_Allgather on MPI_COMM_WORLD: .*has (12|16|more than the 12) bytes.* awaited"),
                ("in_place_elsewhere", rf"rank 1: MPI_Reduce on MPI_COMM_WORLD: argument 'sendbuf' {in_place}"),
                ("grid_of_too_many", r"MPI_Cart_create on MPI_COMM_WORLD: the grid has more ranks than the communicator, which has 2 \(MPI_ERR_DIMS\)"),
                ("not_a_member", r"rank 1: MPI_Barrier: argument 'comm' is MPI_COMM_NULL"),
                ("completed_by_the_program", r"MPI_Grequest_complete: the request is none of MPI_Grequest_start"),
                ("no_memory_attached", r"MPI_Buffer_attach: argument 'buffer' is a null pointer; 1000 bytes, or MPI_BUFFER_AUTOMATIC, are needed"),
                ("no_list_of_types", r"MPI_Alltoallw on MPI_COMM_WORLD: a list of datatypes is a null pointer"),
                ("no_list_for_neighbours", r"MPI_Neighbor_alltoallv on a communicator of 2 ranks: argument 'sendcounts' is a null pointer"),
                ("no_buffer_for_neighbours", r"MPI_Neighbor_allgather on a communicator of 2 ranks: argument 'sendbuf' is a null pointer, and 4 bytes are to be moved"),
                ("no_name", r"MPI_Comm_set_name on MPI_COMM_WORLD: argument 'comm_name' is a null pointer; a text is needed"),
                ("no_place_for_a_name", rf"MPI_Get_processor_name: argument 'name' {null}"),
                ("predefined_type_freed", r"MPI_Type_free: MPI_INT is predefined and cannot be freed"),
                ("predefined_operation_freed", r"MPI_Op_free: MPI_SUM is predefined and cannot be freed")):
            with self.subTest(name):
                self.assert_says(self.run_to_end("usual", name, 2), rf"weft-mpi: .*{expected}.*called at usual\.c:\d+")

    def test_calls_before_init_and_behind_finalize_are_refused(self):
        for name, call in (("datatype_before", "MPI_Type_contiguous"), ("dimensions_before", "MPI_Dims_create"), ("datatype_behind", "MPI_Type_contiguous"),
                           ("freed_behind", "MPI_Type_free"), ("communicator_behind", "MPI_Barrier"), ("send_behind", "MPI_Send"),
                           ("wait_behind", "MPI_Wait"), ("start_behind", "MPI_Start")):
            with self.subTest(name):
                self.assert_says(self.run_to_end("lifetimes", name, 2), rf"weft-mpi: {call}: MPI is not initialised: it is called before MPI_Init, or after "
                                 r"MPI_Finalize \(MPI_ERR_OTHER\), called at lifetimes\.c:\d+")
        result = subprocess.run([BIN / "weft", "run", "-n", "2", "--", Path(self.folder.name) / "lifetimes", "allowed"], capture_output=True, text=True,
                                timeout=HANG_GUARD, check=False, env={**os.environ, "WEFT_MPI_CHECK": "1"})
        self.assertEqual((result.returncode, result.stderr), (0, ""))

    def test_collectives_that_one_member_has_not_called_are_told_with_the_checks(self):
        text = self.run_to_end("unnoticed", "one_more", 2, WEFT_MPI_CHECK="1")
        self.assert_says(text, r"rank 1: MPI_Finalize: the ranks have not called the same collectives in the same order on MPI_COMM_WORLD: this rank calls 40 "
                         r"collectives there, rank 0 calls 41")

    def test_groups_of_other_order_are_told(self):
        result = subprocess.run([BIN / "weft", "run", "-n", "2", "--", Path(self.folder.name) / "unnoticed", "groups_of_other_order"], capture_output=True,
                                text=True, timeout=HANG_GUARD, check=False)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stderr, r"weft-mpi: rank \d: MPI_Finalize: 1 message by which a communicator is made was never received: from rank \d on "
                         r"MPI_COMM_WORLD, of 4 bytes: the ranks have passed different groups or tags")

    def test_calls_of_a_thread_that_was_not_announced_are_found_by_the_checks(self):
        self.assert_says(self.run_to_end("usual", "another_thread", 2, WEFT_MPI_CHECK="1"),
                         r"MPI_Sendrecv at usual\.c:\d+ on MPI_COMM_WORLD: another thread calls than that which called MPI_Init, and MPI_THREAD_SERIALIZED or "
                         r"MPI_THREAD_MULTIPLE was not asked for")

    def test_different_collectives_whose_messages_are_the_same_are_told_at_the_end(self):
        at = "unnoticed.c"
        for name, ranks, on, expected in (
                ("broadcast_and_scatter", 2, "MPI_COMM_WORLD", rf"as number 2 there this rank calls MPI_Scatter with root 0 at {line_of(at, 'a scatter')}, "
                 rf"rank 0 calls MPI_Bcast with root 0 at {line_of(at, 'a broadcast')}"),
                ("gather_and_reduce", 2, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Reduce with root 0 and MPI_SUM at [^,]+, rank 0 calls "
                 r"MPI_Gather with root 0 at \S+"),
                ("other_operation", 3, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Allreduce with MPI_MAX at \S+, rank 0 calls MPI_Allreduce "
                 r"with MPI_SUM at \S+"),
                ("other_elements", 2, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Allreduce with MPI_SUM at \S+, rank 0 calls MPI_Allreduce with "
                 r"MPI_SUM of floating point numbers at \S+"),
                ("other_root", 2, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Bcast with root 1 at \S+, rank 0 calls MPI_Bcast with root 0 at \S+"),
                ("other_order", 2, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Bcast with root 0 at \S+, rank 0 calls MPI_Ibarrier at \S+"),
                ("one_more", 2, "MPI_COMM_WORLD", r"this rank calls 40 collectives there, rank 0 calls 41; number 41, which this rank does not call, is "
                 rf"MPI_Bcast with root 0 at {line_of(at, 'one more')}"),
                ("grid_and_part", 2, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Comm_split at \S+, rank 0 calls MPI_Cart_create at \S+"),
                ("on_one_that_is_freed", 2, "own", r"as number 1 there this rank calls MPI_Exscan with MPI_PROD at \S+, rank 0 calls MPI_Exscan with "
                 r"MPI_SUM at \S+"),
                ("long_ago", 2, "MPI_COMM_WORLD", r"the first time between number 1 and number 64 of them; WEFT_MPI_CHECK=1 names it"),
                ("other_function", 2, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Allreduce with an operation of the program at \S+, commutative, the "
                 r"function at unnoticed\.c:\d+, rank 0 calls MPI_Allreduce with an operation of the program at \S+, commutative, the function at "
                 r"unnoticed\.c:\d+"),
                ("gather_and_gatherv", 2, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Gather with root 0 at \S+, rank 0 calls MPI_Gatherv with "
                 r"root 0 at \S+"),
                ("one_of_three", 3, "MPI_COMM_WORLD", r"as number 1 there this rank calls MPI_Bcast with root 1 at \S+, ranks 0 and 2 call MPI_Bcast with root 0 "
                 r"at \S+"),
                ("called_by_none_but_one", 2, "MPI_COMM_WORLD", r"this rank calls 0 collectives there, rank 0 calls 1; number 1, which this rank does not call, is "
                 rf"MPI_Bcast with root 0 at {line_of(at, 'but one')}"),
                ("between_sides", 3, "sides", r"as number 1 there this rank calls MPI_Allreduce with MPI_MAX at \S+, rank 0 calls MPI_Allreduce with "
                 r"MPI_SUM at \S+")):
            with self.subTest(name):
                result = subprocess.run([BIN / "weft", "run", "-n", str(ranks), "--timeout", "120", "--", Path(self.folder.name) / "unnoticed", name],
                                        capture_output=True, text=True, timeout=HANG_GUARD, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
                different = "MPI_Finalize: the ranks have not called the same collectives in the same order on "
                self.assertRegex(result.stderr, rf"weft-mpi: rank 1: {different}{on}: {expected}\n")
                self.assertEqual(result.stderr.count("\n"), 1, result.stderr)

    def test_ranks_that_have_never_met_tell_each_other_of_their_collectives(self):
        for _ in range(5):
            result = subprocess.run([BIN / "weft", "run", "-n", "4", "--timeout", "120", "--", Path(self.folder.name) / "unnoticed", "between_strangers"],
                                    capture_output=True, text=True, timeout=HANG_GUARD, check=False, env={**os.environ, "WEFT_NETWORK": "tcp"})
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertRegex(result.stderr, r"rank 2: MPI_Finalize: .* this rank calls MPI_Reduce with root 0 and MPI_MAX at \S+, ranks 1 and 3 call MPI_Reduce")
            self.assertNotIn("lost", result.stderr)

    def test_a_program_that_ends_without_finalize_keeps_its_status(self):
        for name, lines in (("without_finalize", 2), ("child_that_ends", 0)):
            with self.subTest(name):
                result = subprocess.run([BIN / "weft", "run", "-n", "2", "--", Path(self.folder.name) / "arguments", name],
                                        capture_output=True, text=True, timeout=HANG_GUARD, check=False)
                self.assertEqual(result.returncode, 0, result.stderr)
                told = re.findall(r"weft-mpi: rank \d: the program has ended without MPI_Finalize", result.stderr)
                self.assertEqual((len(told), result.stderr.count("\n")), (lines, lines), result.stderr)
        self.run_to_end("arguments", "without_finalize", 2, WEFT_MPI_CHECK="1")

    def test_ranks_that_need_one_that_ended_without_finalize_fail(self):
        for name, expected in (("one_without_finalize", r"rank 1: MPI_Finalize: rank 0 .* without joining the barrier"),
                               ("waits_for_one_without_finalize", r"rank 1: MPI_Recv on MPI_COMM_WORLD: .*\(MPI_ERR_PROC_ABORTED\)")):
            with self.subTest(name):
                self.assert_says(self.run_to_end("arguments", name, 2), r"weft-mpi: rank 0: the program has ended without MPI_Finalize",
                                 expected)

    def test_a_right_program_is_not_blamed(self):
        for program, *name in (("deadlocks",), ("checked",), ("checked", "freed_behind_finalize"), ("checked", "ready_in_time"), ("arguments",),
                               ("unnoticed",), ("usual",), ("usual", "wait_for_one_not_started")):
            result = subprocess.run([BIN / "weft", "run", "-n", "2", "--explain", "60", "--", Path(self.folder.name) / program, *name],
                                    capture_output=True, text=True, timeout=HANG_GUARD, check=False, env={**os.environ, "WEFT_MPI_CHECK": "1"})
            self.assertEqual((result.returncode, result.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
