// Interface that a library must offer so that the workloads of this folder run over it.
//
// A transport is one of two ranks, or of several, used by one thread. The workloads are templates over it,
// compiled once for every library, so that what they call is inlined and each library runs the same source:
//
//   rank()                            0, 1, ...
//   progress()
//   post_receive(tag, buffer)         completes in any order; buffers stay borrowed until they are waited for
//   wait_receives()                   until all posted receives have ended
//   receives_pending()                whether some have not; does not progress by itself
//   post_send(tag, bytes), wait_sends()
//   ranks(), post_receive_from(source, tag, buffer), post_send_to(target, tag, bytes)
//                                     optional: for workloads of more than two ranks
//   allreduce(mine, sum)              optional: sums of doubles over all ranks
//   expect_am(sink)                   from now on progress() hands it what post_am() of the peer has sent
//   post_am(bytes)                    as many bytes as the task says; wait_sends() waits for it, too;
//                                     kHasActiveMessages only
//   expose(bytes)                     memory that the peer can reach; collective; kHasAccess only
//   memory()                          this rank's own part of it
//   access(), flush()                 access() returns an object with post_put(offset, bytes) and
//                                     post_get(offset, buffer), which a loop keeps to itself; it may be the
//                                     transport, by reference
//   post_add(offset, operand), post_fetch_add(offset, operand, before)
//                                     optional: atomic additions to numbers of 64 bits; the arguments stay
//                                     borrowed until flush()
//
//   post_receive_by(wildcard, tag, buffer)
//                                     optional: post_receive() from any source, or of any tag
//   stream(), post_send_to_stream(index, tag, bytes), post_receive_from_stream(index, tag, buffer),
//   post_receive_from_any_stream(index, tag, buffer)
//                                     optional: the streams of the peer's threads, by number; from any, or,
//                                     where the library cannot do that, from `index`
//
// Posts insist: where a library may refuse, they progress until it accepts.
#pragma once

#include "perf/measure/byte_spans.hpp"
#include "perf/measure/task.hpp"
#include "perf/workloads/active_message_sink.hpp"

namespace weft::tools::perf {

/// What a receive leaves open.
enum class Wildcard { any_source, any_tag };

}  // namespace weft::tools::perf
