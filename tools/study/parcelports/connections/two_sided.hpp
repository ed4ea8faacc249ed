// What the connections of a parcelport need of a transport: header messages that come unasked, and sends and
// receives with a tag.
#pragma once

#include <weft/bytes.hpp>
#include <weft/runtime.hpp>
#include <weft/types.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace weft::parcel::ports {

/// What a transport keeps of a post until it ends.
struct PostState {
  virtual ~PostState() = default;
};

/// Whoever waits for the end of a post. One post at a time.
class Poster {
 public:
  virtual ~Poster() = default;
  /// The post has ended, well or with the peer's failure. In a thread that polls.
  virtual void ended(bool is_ok, unsigned worker) = 0;

  std::unique_ptr<PostState> state;
};

enum class Posted : std::uint8_t {
  retry,    ///< nothing was posted: push-back
  pending,  ///< Poster::ended() follows, perhaps before the call has returned
  done,     ///< it has ended already
};

/// Who takes header messages. In a thread that polls.
class HeaderReceiver {
 public:
  static constexpr int kUnknown = -1;
  /// `source`: the rank that has sent it, or kUnknown, when only the header says it.
  virtual void on_header(int source, Bytes header, unsigned worker) = 0;
  /// The rank has failed. Any thread.
  virtual void on_failure(int rank) = 0;

 protected:
  ~HeaderReceiver() = default;
};

/// How the tags of follow-up messages are kept apart.
enum class TagPolicy : std::uint8_t {
  endless,   ///< 64-bit numbers that are never used twice; a number for each follow-up message
  window,    ///< numbers modulo the tags; one is used again when the peer has said that it is finished
  provider,  ///< a locked set of free tags; each message has one, which a message of its own gives back
};

/// Calls come from any thread, several at a time; `worker` as in Parcelport.
class TwoSided {
 public:
  virtual ~TwoSided() = default;

  [[nodiscard]] virtual int rank() const noexcept = 0;
  [[nodiscard]] virtual int size() const noexcept = 0;
  [[nodiscard]] virtual int ranks_of_host() const noexcept = 0;
  virtual void allgather(Bytes mine, std::span<std::byte> all) = 0;
  [[nodiscard]] virtual bool has_failed(int rank) const noexcept = 0;
  [[nodiscard]] virtual weft::Runtime* transport() noexcept { return nullptr; }
  /// As Parcelport::description().
  [[nodiscard]] virtual std::string description() const { return {}; }

  [[nodiscard]] virtual TagPolicy tag_policy() const noexcept = 0;
  /// Number of tags for follow-up messages, which are 1 to tags(). Not for TagPolicy::endless.
  [[nodiscard]] virtual std::uint64_t tags() const noexcept = 0;
  /// Longest header message, in bytes.
  [[nodiscard]] virtual std::size_t header_bytes() const noexcept = 0;
  /// Longest follow-up message, in bytes; longer ones are cut.
  [[nodiscard]] virtual std::size_t followup_bytes() const noexcept = 0;
  /// Whether lists of chunk sizes travel in headers that have room.
  [[nodiscard]] virtual bool has_dynamic_headers() const noexcept { return true; }

  virtual void start(HeaderReceiver& headers, unsigned workers) = 0;
  /// Ends what start() has begun. No post is under way; headers without a message may be.
  virtual void stop() = 0;

  /// Room for a header of `size` bytes, kept in poster.state; empty: push-back.
  [[nodiscard]] virtual MutableBytes header_room(Poster& poster, std::size_t size) = 0;
  /// Sends what was written to header_room(); on retry the room stays. The poster may be gone on return,
  /// unless the answer is done.
  [[nodiscard]] virtual Posted send_header(int peer, Poster& poster, std::size_t size, unsigned worker) = 0;
  [[nodiscard]] virtual Posted send(int peer, std::uint64_t tag, Bytes bytes, Poster& poster,
                                    unsigned worker) = 0;
  [[nodiscard]] virtual Posted receive(int peer, std::uint64_t tag, MutableBytes room, Poster& poster,
                                       unsigned worker) = 0;

  virtual bool poll(unsigned worker) = 0;
  [[nodiscard]] virtual std::uint64_t wakes() const noexcept = 0;
  virtual void park(unsigned worker, Timeout longest, std::uint64_t seen) = 0;
  virtual void wake() noexcept = 0;
};

}  // namespace weft::parcel::ports
