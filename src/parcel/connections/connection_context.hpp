// What the connections of a parcelport share.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>

#include "parcel/connections/tag_book.hpp"
#include "parcel/connections/two_sided.hpp"

namespace weft::parcel {

class SendConnection;
class ReceiveConnection;

struct ConnectionContext {
  explicit ConnectionContext(TwoSided& carrier)
      : transport(carrier), tags(carrier.size(), carrier.tag_policy(), carrier.tags()) {}

  TwoSided& transport;
  TagBook tags;
  Receiver* receiver = nullptr;
  /// Connections that exist.
  std::atomic<std::uint64_t> live{0};

  // Connections whose next post was pushed back.
  std::mutex waiting_mutex;
  std::deque<SendConnection*> waiting_sends;
  std::deque<ReceiveConnection*> waiting_receives;
  std::atomic<std::size_t> waiting{0};

  void wait_for_room(SendConnection& connection);
  void wait_for_room(ReceiveConnection& connection);
  /// Tries them again. Any thread that polls. Returns whether one has gone on.
  bool retry(unsigned worker);
};

}  // namespace weft::parcel
