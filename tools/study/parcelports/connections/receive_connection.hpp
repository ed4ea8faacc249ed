// The way of one message in, when it has follow-up messages: the head if the header has not had it, the sizes
// of the chunks likewise, and the chunks, which go to where the decoded parcels want them.
#pragma once

#include <weft/parcel/parcelport.hpp>

#include <cstdint>
#include <memory>
#include <vector>

#include "study/parcelports/connections/arriving_array.hpp"
#include "study/parcelports/connections/header_message.hpp"
#include "study/parcelports/connections/two_sided.hpp"

namespace weft::parcel::ports {

struct ConnectionContext;

/// Destroys itself when it has ended.
class ReceiveConnection final : public Poster {
 public:
  ReceiveConnection(ConnectionContext& context, const ReceivedHeader& header);
  ~ReceiveConnection() override;

  /// Before the first resume(). Throws std::bad_alloc.
  void begin() { begin_parts(); }
  void ended(bool is_ok, unsigned worker) override;
  /// Goes on with what is next. False: push-back; whoever has called keeps the connection and tries again.
  [[nodiscard]] bool resume(unsigned worker);

 private:
  struct Whole final : IncomingMessage {
    std::vector<std::byte> bytes;  // the head
  };
  enum class Part : std::uint8_t { head, sizes, chunks, end };

  /// Begins the parts until one has something to be received.
  void begin_parts();
  void begin_chunks();
  void add_room(MutableBytes room);
  [[nodiscard]] bool is_part_complete() noexcept;
  /// Where the next follow-up message goes. Throws std::bad_alloc.
  [[nodiscard]] MutableBytes take_room();
  /// It was not posted: the next one goes there.
  void return_room(MutableBytes room) noexcept;
  void finish(unsigned worker);

  ConnectionContext& context_;
  const std::uint64_t number_;
  Part part_ = Part::head;
  bool is_dropped_ = false;
  bool has_failed_ = false;
  std::unique_ptr<Whole> message_;
  ArrivingArray<std::byte> head_;
  ArrivingArray<std::uint64_t> sizes_;
  std::vector<MutableBytes> rooms_;  // of the follow-up messages with chunks
  std::size_t next_room_ = 0;
  std::uint64_t posted_ = 0;               // follow-up messages so far
  std::unique_ptr<std::byte[]> unwanted_;  // where chunks go that no parcel wants
  std::size_t next_unwanted_ = 0;          // such chunk
  std::uint64_t unwanted_left_ = 0;        // bytes of the one before it
};

}  // namespace weft::parcel::ports
