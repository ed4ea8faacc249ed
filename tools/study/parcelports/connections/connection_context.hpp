// What the connections of a parcelport share.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "study/parcelports/connections/tag_book.hpp"
#include "study/parcelports/connections/two_sided.hpp"

namespace weft::parcel::ports {

class SendConnection;
class ReceiveConnection;

/// Connections whose next post was pushed back.
struct WaitingConnections {
  std::mutex mutex;
  std::deque<SendConnection*> sends;
  std::deque<ReceiveConnection*> receives;
  std::atomic<std::size_t> count{0};
  std::atomic<unsigned> tries{0};  // of the worker whose they are
};

struct ConnectionContext {
  explicit ConnectionContext(TwoSided& carrier, bool has_own_retries = false)
      : transport(carrier),
        tags(carrier.size(), carrier.tag_policy(), carrier.tags()),
        are_retries_own(has_own_retries) {
    waiting.resize(1);
  }

  TwoSided& transport;
  TagBook tags;
  Receiver* receiver = nullptr;
  /// Connections that exist.
  std::atomic<std::uint64_t> live{0};

  const bool are_retries_own;
  std::deque<WaitingConnections> waiting;  // one, or one of each worker and one of all other threads

  /// Before any connection is there.
  void start(unsigned workers) {
    if (are_retries_own) waiting.resize(workers + 1);
  }
  void wait_for_room(SendConnection& connection, unsigned worker);
  void wait_for_room(ReceiveConnection& connection, unsigned worker);
  /// Tries them again: those of the worker, and now and then, and by other threads, all. Any thread that
  /// polls. Returns whether one has gone on.
  bool retry(unsigned worker);

 private:
  [[nodiscard]] WaitingConnections& waiting_of(unsigned worker) noexcept {
    return waiting[worker < waiting.size() ? worker : waiting.size() - 1];
  }
  bool retry(WaitingConnections& all, unsigned worker);
};

}  // namespace weft::parcel::ports
