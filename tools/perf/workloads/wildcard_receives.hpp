// Windows of sends to receives that name any source, or any tag.
#pragma once

#include "perf/workloads/unexpected_and_unacknowledged.hpp"

namespace weft::tools::perf {

/// Requirements on the transport: see transport.hpp.
template <class Transport>
concept WildcardTransport = requires(Transport& transport, ByteSpan buffer) {
  transport.post_receive_by(Wildcard::any_tag, kDataTag, buffer);
};

/// A transport whose receives of data have a wildcard; words of control are received by source and tag.
template <WildcardTransport Transport, Wildcard kWildcard>
class WithWildcards {
 public:
  explicit WithWildcards(Transport& transport) : transport_(transport) {}

  [[nodiscard]] int rank() const { return transport_.rank(); }
  void progress() { transport_.progress(); }
  [[gnu::always_inline]] void post_receive(std::uint64_t tag, ByteSpan buffer) {
    if (tag == kControlTag)
      transport_.post_receive(tag, buffer);
    else
      transport_.post_receive_by(kWildcard, tag, buffer);
  }
  void wait_receives() { transport_.wait_receives(); }
  [[nodiscard]] bool receives_pending() const { return transport_.receives_pending(); }
  [[gnu::always_inline]] void post_send(std::uint64_t tag, ByteView bytes) {
    transport_.post_send(tag, bytes);
  }
  void wait_sends() { transport_.wait_sends(); }

 private:
  Transport& transport_;
};

/// run_window(), or run_unexpected() where all messages come before their receives.
template <Wildcard kWildcard, WildcardTransport Transport>
Outcome run_wildcards(const Task& task, Transport& transport, bool is_unexpected) {
  WithWildcards<Transport, kWildcard> over(transport);
  return is_unexpected ? run_unexpected(task, over) : run_window(task, over);
}

}  // namespace weft::tools::perf
