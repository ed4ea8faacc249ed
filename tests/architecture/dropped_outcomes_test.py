"""What carries an outcome is not to be dropped: the compiler warns, for every call of the public headers that returns one."""

import os
import re
import subprocess
import tempfile
import unittest
from pathlib import Path

ROOT = Path(os.environ.get("WEFTDEV_SOURCE_DIR", Path(__file__).resolve().parents[2]))
COMPILER = os.environ.get("CXX", "c++")

HEAD = """
#include <weft/weft.hpp>
#include <weft/parcel/parcel.hpp>
#include <weft/stream/stream_queue.hpp>
#include <vector>
"""
PARAMETERS = """weft::Endpoint& endpoint, weft::SerialEndpoint& serial, weft::Stream& stream, weft::StreamGroup& group,
  weft::GroupStream& member, weft::StreamQueue& queue, weft::Collective& all, weft::CollectiveOperation& operation,
  weft::Graph& graph, weft::Counter& counter, weft::CompletionQueue& inbox, weft::RemoteCompletion remote,
  const weft::RemoteRegion& region, const weft::MappedRegion& mapped, std::vector<int>& values, weft::Runtime& runtime,
  std::vector<weft::MutableBytes>& buffers, std::vector<weft::Bytes>& parts, weft::Message& message, long& old"""
CASE = """#line 1 "case{number}"
[[maybe_unused]] static void use{number}({parameters}) {{ {statement}; }}
"""
BYTES = "weft::bytes_of(values)"
ROOM = "weft::mutable_bytes_of(values)"

DROPPED = [
    f"endpoint.receive(0, 1, {ROOM})", f"serial.receive(0, 1, {ROOM})", "endpoint.receive(0, 1, buffers)",
    f"endpoint.receive(0, weft::any_tag, {ROOM}, {{.engine = 256}})",
    f"endpoint.send(0, 1, {BYTES})", "endpoint.send(0, 1, parts)", f"endpoint.send_am(0, remote, {BYTES})",
    f"endpoint.post_send(0, 1, {BYTES})", f"endpoint.post_am(0, remote, {BYTES})",
    f"endpoint.post_receive(0, 1, {ROOM}, {{.completion = &counter}})",
    f"endpoint.put(0, region.at(0), {BYTES})", f"endpoint.get(0, mapped.at(0), {ROOM})",
    f"endpoint.post_put(0, region.at(0), {BYTES})",
    "endpoint.fetch_atomic<std::uint64_t>(0, region.at(0), weft::AtomicOperation::add, 1)", "endpoint.flushed()", "endpoint.flushed(0)", "endpoint.drained()",
    "endpoint.wait(inbox)", "endpoint.wait(graph)", "endpoint.wait_for(counter, weft::Timeout{})",
    "endpoint.wait_for(graph, weft::Timeout{})", "endpoint.wait_for([] { return true; }, weft::Timeout{})",
    "endpoint.wait_drained(weft::Timeout{})",
    "stream.wait(inbox)", "stream.wait(graph)", "stream.wait_for(counter, weft::Timeout{})",
    "stream.wait_for([] { return true; }, weft::Timeout{})",
    f"member.receive({{0, 0}}, 1, {ROOM})", f"member.receive({{0, 0}}, weft::any_tag, {ROOM})",
    f"member.send({{0, 0}}, 1, {BYTES})", "member.wait(inbox)", "group.barrier()",
    "queue.wait_ended()", "queue.outcome()",
    "all.barrier()", "all.broadcast(values, 0)", "all.reduce(values, values, weft::operators::Sum{}, 0)",
    "all.allreduce(values, values, weft::operators::Sum{})", "all.make_barrier()", "operation.wait()", "graph.outcome()",
    "message.outcome()", "message.take()", "message.release()", "runtime.get_packet()",
    "weft::parcel::make_ready(1)",
]
KEPT = [f"auto kept = {DROPPED[0]}; (void)kept.outcome()", "(void)all.barrier()", "endpoint.wait_ready(graph)",
        "endpoint.wait(counter, 1)", "endpoint.progress()", "graph.test()", "endpoint.flush()"]


def warned(statements):
    """The numbers of the statements of which the compiler says that their result is dropped, and what else it says."""
    with tempfile.TemporaryDirectory() as directory:
        unit = Path(directory) / "unit.cpp"
        unit.write_text(HEAD + "".join(CASE.format(number=number, parameters=PARAMETERS, statement=statement)
                                       for number, statement in enumerate(statements)))
        result = subprocess.run([COMPILER, "-std=c++20", f"-I{ROOT / 'include'}", "-fsyntax-only", "-Wunused-result", str(unit)],
                                capture_output=True, text=True, check=False)
    numbers = {int(found) for found in re.findall(r"^case(\d+):\d+:\d+: warning: .*(?:unused|nodiscard|discard)", result.stderr, re.M)}
    return numbers, "\n".join(line for line in result.stderr.splitlines() if "error:" in line)


class DroppedOutcomes(unittest.TestCase):
    def test_every_call_that_returns_an_outcome_is_warned_of(self):
        numbers, errors = warned(DROPPED)
        self.assertEqual(errors, "")
        self.assertEqual([DROPPED[number] for number in range(len(DROPPED)) if number not in numbers], [])

    def test_calls_that_return_none_are_not(self):
        self.assertEqual(warned(KEPT), (set(), ""))


if __name__ == "__main__":
    unittest.main(verbosity=2)
