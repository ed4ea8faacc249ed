#include <weft_c/parts.h>

#include "objects.hpp"
#include "post_options.hpp"

#include <array>
#include <limits>
#include <span>
#include <vector>

using namespace weft::c;

namespace {

/// A list of the program as the library takes it: without the heap where it is short.
template <class Own>
class OwnList {
 public:
  template <class Given, class Convert>
  OwnList(const Given* given, std::size_t count, const char* name, const Convert& convert) : count_(count) {
    if (count == 0) return;
    present(given, name);
    if (count > kLongest)
      throw BadArgument("count is " + std::to_string(count) + ": it must be 0 to " +
                        std::to_string(kLongest));
    if (count > kShort) many_.resize(count);
    Own* const own = count > kShort ? many_.data() : few_.data();
    for (std::size_t index = 0; index < count; ++index) own[index] = convert(given[index]);
  }
  [[nodiscard]] std::span<const Own> all() const noexcept {
    return {count_ > kShort ? many_.data() : few_.data(), count_};
  }

 private:
  static constexpr std::size_t kShort = 16;
  static constexpr std::size_t kLongest = std::numeric_limits<std::uint32_t>::max();
  std::size_t count_;
  std::array<Own, kShort> few_{};
  std::vector<Own> many_;
};

OwnList<weft::Bytes> parts_at(const weft_bytes* parts, std::size_t count) {
  return {parts, count, "parts",
          [](const weft_bytes& part) { return bytes_at(part.data, part.size, "data of one of the parts"); }};
}
OwnList<weft::MutableBytes> buffers_at(const weft_buffer* buffers, std::size_t count) {
  return {buffers, count, "buffers", [](const weft_buffer& buffer) {
            return buffer_at(buffer.data, buffer.size, "data of one of the buffers");
          }};
}

}  // namespace

extern "C" {

weft_result weft_post_am_parts(weft_endpoint* endpoint, int peer, weft_remote remote, const void* head,
                               size_t head_size, const weft_bytes* parts, size_t count,
                               const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = active_message_options(options);
    const auto list = parts_at(parts, count);
    return with(endpoint, [&](auto& there) {
      return result_of(
          there.post_am(peer, remote_of(remote), bytes_at(head, head_size, "head"), list.all(), own));
    });
  });
}

size_t weft_message_parts(const weft_message* message) {
  return guarded_or<size_t>(__func__, 0,
                            [&] { return message_of(&present(message, "message")).part_sizes().size(); });
}

uint64_t weft_message_part_size(const weft_message* message, size_t part) {
  return guarded_or<uint64_t>(__func__, 0, [&]() -> uint64_t {
    const auto sizes = message_of(&present(message, "message")).part_sizes();
    return part < sizes.size() ? sizes[part] : 0;
  });
}

weft_result weft_receive_parts(weft_endpoint* endpoint, weft_message* message, const weft_buffer* buffers,
                               size_t count, weft_completion* completion, void* user_data) {
  return guarded(__func__, [&]() -> weft_result {
    weft::Message& own = message_of(&present(message, "message"));
    weft::Completion& ended = *present(completion, "completion").object;
    const auto list = buffers_at(buffers, count);
    with(endpoint, [&](auto& there) { there.receive_parts(std::move(own), list.all(), ended, user_data); });
    return WEFT_POSTED;
  });
}

weft_result weft_post_send_list(weft_endpoint* endpoint, int peer, uint64_t tag, const weft_bytes* parts,
                                size_t count, const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = send_options(options);
    const auto list = parts_at(parts, count);
    return with(endpoint, [&](auto& there) {
      return with_tag(options, tag, [&](const auto& what) {
        return result_of(there.post_send(peer, what, list.all(), own));
      });
    });
  });
}

weft_result weft_send_list(weft_endpoint* endpoint, int peer, uint64_t tag, const weft_bytes* parts,
                           size_t count, const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = send_options(options);
    const auto list = parts_at(parts, count);
    return with(endpoint, [&](auto& there) {
      return with_tag(options, tag,
                      [&](const auto& what) { return result_of(there.send(peer, what, list.all(), own)); });
    });
  });
}

weft_result weft_post_receive_list(weft_endpoint* endpoint, int source, uint64_t tag,
                                   const weft_buffer* buffers, size_t count, const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = posted_receive_options(options);
    const auto list = buffers_at(buffers, count);
    return with(endpoint, [&](auto& there) {
      return with_tag(options, tag, [&](const auto& what) {
        return result_of(there.post_receive(source, what, list.all(), own));
      });
    });
  });
}

weft_result weft_receive_list(weft_endpoint* endpoint, int source, uint64_t tag, const weft_buffer* buffers,
                              size_t count, const weft_options* options, weft_message* message) {
  return guarded(__func__, [&] {
    const auto own = waiting_receive_options(options);
    const auto list = buffers_at(buffers, count);
    weft::Message received = with(endpoint, [&](auto& there) {
      return with_tag(options, tag,
                      [&](const auto& what) { return there.receive(source, what, list.all(), own); });
    });
    const weft_result result = result_of(received.outcome());
    if (message != nullptr) store(*message, std::move(received));
    return result;
  });
}

weft_result weft_post_put_list(weft_endpoint* endpoint, int peer, const weft_put_piece* pieces, size_t count,
                               const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = access_options(options);
    const OwnList<weft::PutPiece> list(pieces, count, "pieces", [](const weft_put_piece& piece) {
      return weft::PutPiece{address_of(&piece.to, piece.offset, "to"),
                            bytes_at(piece.from, piece.size, "from of one of the pieces")};
    });
    return with(endpoint, [&](auto& there) { return result_of(there.post_put(peer, list.all(), own)); });
  });
}

weft_result weft_post_get_list(weft_endpoint* endpoint, int peer, const weft_get_piece* pieces, size_t count,
                               const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = access_options(options);
    const OwnList<weft::GetPiece> list(pieces, count, "pieces", [](const weft_get_piece& piece) {
      return weft::GetPiece{address_of(&piece.from, piece.offset, "from"),
                            buffer_at(piece.to, piece.size, "to of one of the pieces")};
    });
    return with(endpoint, [&](auto& there) { return result_of(there.post_get(peer, list.all(), own)); });
  });
}

}  // extern "C"
