// Posts of lists of buffers.
#include "core/deadline/timed_posts.hpp"
#include "core/protocol/enqueue.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/submit.hpp"
#include "core/runtime/device_state.hpp"
#include "core/runtime/runtime_state.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <new>
#include <string>

namespace weft::detail {

Status DeviceState::post_send(int peer, std::uint64_t tag, std::span<const Bytes> parts,
                              const SendOptions& options, bool exclusive) {
  return post_payload(peer, tag, {{}, parts, core::size_of(parts, "post_send")}, nullptr, options, exclusive);
}

Status DeviceState::post_receive(int source, std::uint64_t tag, std::span<const MutableBytes> buffers,
                                 const ReceiveOptions& options) {
  const bool has_timeout = options.timeout.count() != 0;
  if (buffers.size() < 2) {
    const MutableBytes buffer = buffers.empty() ? MutableBytes{} : buffers.front();
    return has_timeout ? post_receive_within(source, tag, buffer, options)
                       : post_receive(source, tag, buffer, options);
  }
  core::MatchingEngine& engine = options.engine < kMatchingEngines
                                     ? check_receive(source, options, "post_receive")
                                     : check_ordered_receive(source, options, "post_receive");
  const std::size_t total = core::size_of(buffers, "post_receive");
  core::ScatteredReceive::Pool& pool = engine.scattered_receives();
  core::ScatteredReceive* const receive = pool.take();
  if (receive == nullptr) return Status::retry(Reason::no_request);
  Status status = Status::retry(Reason::no_request);
  if (receive->assign(buffers, total, options, pool)) {
    ReceiveOptions own = options;
    own.completion = receive;
    own.user_data = nullptr;
    own.may_complete_now = false;
    own.arrived = nullptr;
    status = has_timeout ? post_receive_within(source, tag, receive->buffer(), own)
                         : post_receive(source, tag, receive->buffer(), own);
  }
  if (status.is_retry()) pool.release(*receive);
  return status;
}

}  // namespace weft::detail
