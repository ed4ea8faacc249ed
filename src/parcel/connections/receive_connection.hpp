// The way of one message in, when it has follow-up messages: the head if the header has not had it, the sizes
// of the chunks likewise, and the chunks, which go to where the decoded parcels want them.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "parcel/connections/header_message.hpp"
#include "parcel/connections/two_sided.hpp"

namespace weft::parcel {

struct ConnectionContext;

/// Destroys itself when it has ended.
class ReceiveConnection final : public Poster {
 public:
  ReceiveConnection(ConnectionContext& context, const ReceivedHeader& header);
  ~ReceiveConnection() override;

  /// Before the first go_on(). Throws std::bad_alloc.
  void begin() { begin_parts(); }
  void ended(bool is_ok, unsigned worker) override;
  /// Goes on with what is next. False: push-back; whoever has called keeps the connection and tries again.
  [[nodiscard]] bool go_on(unsigned worker);

 private:
  struct Whole final : IncomingMessage {
    std::vector<std::byte> bytes;  // the head
  };
  enum class Part : std::uint8_t { head, sizes, chunks, end };

  /// Begins the parts until one has something to be received.
  void begin_parts();
  void begin_chunks();
  void add_room(MutableBytes room);
  void finish(unsigned worker);

  ConnectionContext& context_;
  const std::uint64_t number_;
  Part part_ = Part::head;
  bool has_head_;
  bool has_sizes_;
  bool is_dropped_ = false;
  bool has_failed_ = false;
  std::unique_ptr<Whole> message_;
  std::vector<MutableBytes> rooms_;  // of the follow-up messages of this part
  std::size_t next_room_ = 0;
  std::uint64_t posted_ = 0;         // follow-up messages so far
  std::vector<std::byte> unwanted_;  // where chunks go that no parcel wants
};

}  // namespace weft::parcel
