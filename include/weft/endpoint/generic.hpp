// The one operation of which all point-to-point operations are cases.
#pragma once

#include <weft/completion/completion.hpp>
#include <weft/detail/export.hpp>
#include <weft/options.hpp>
#include <weft/remote_region.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cstdint>
#include <span>

namespace weft {

/// The parameters of an operation. Direction, remote buffer and remote completion determine the operation:
///
///   out  -    -    send                  in   -    -    receive
///   out  -    yes  active message        in   -    yes  (there is none: weft::Error)
///   out  yes  -    put                   in   yes  -    get
///   out  yes  yes  put with signal       in   yes  yes  get with signal
///
/// (the generic post_comm of the LCI paper). Every field means what it means in the operation's own options.
struct Communication {
  /// The direction in which the local buffer's bytes go.
  enum class Direction : std::uint8_t { out, in };

  Direction direction = Direction::out;
  int peer = 0;                          ///< of a receive: the source
  Bytes source{};                        ///< out: the bytes to be sent
  std::span<std::byte> target{};         ///< in: the buffer to be filled
  RemoteAddress remote_buffer{};         ///< region.rank -1: none
  RemoteCompletion remote_completion{};  ///< generation 0: none
  std::uint64_t tag = 0;                 ///< 32 bits unless it is a send or receive
  Completion* completion = nullptr;
  void* user_data = nullptr;
  bool may_retry = true;
  bool may_complete_now = false;
  MessageClass message_class = MessageClass::normal;  ///< of sends and active messages
  /// Options that only sends and receives have.
  struct Matching {
    MatchingPolicy policy = MatchingPolicy::rank_and_tag;
    EngineId engine = 0;
    DeviceIndex device = 0;
    Message* arrived = nullptr;
    ReceiveHandle* handle = nullptr;  ///< of a receive
    std::uint64_t tag_mask = ~std::uint64_t{0};
    bool synchronous = false;
    SendHandle* send_handle = nullptr;
  } matching{};
  Timeout timeout{};
  LocalRegion region{};  ///< of this rank, that holds the buffer; receives ignore it
};

namespace detail {
/// Throws weft::Error when the parts make no operation: both buffers given or the wrong one, a tag too wide.
WEFT_API void check(const Communication& communication);
}  // namespace detail

/// The operation post_comm() of Endpoint and SerialEndpoint, which inherit it.
template <class Derived>
class GenericOperation {
 public:
  /// Posts the operation that `communication` describes. Answers, threads and errors are those of the
  /// operation's own call, which is shorter and faster where the operation is known.
  Status post_comm(const Communication& communication) {
    const Communication& c = communication;
    detail::check(c);
    auto& endpoint = *static_cast<Derived*>(this);
    const bool to_buffer = c.remote_buffer.region.rank >= 0;
    const bool to_completion = c.remote_completion.generation() != 0;
    const auto tag = static_cast<std::uint32_t>(c.tag);
    if (to_buffer) {
      const AccessOptions options{.completion = c.completion,
                                  .user_data = c.user_data,
                                  .signal = c.remote_completion,
                                  .tag = tag,
                                  .may_retry = c.may_retry,
                                  .may_complete_now = c.may_complete_now,
                                  .timeout = c.timeout,
                                  .region = c.region};
      return c.direction == Communication::Direction::out
                 ? endpoint.post_put(c.peer, c.remote_buffer, c.source, options)
                 : endpoint.post_get(c.peer, c.remote_buffer, c.target, options);
    }
    if (to_completion)
      return endpoint.post_am(c.peer, c.remote_completion, c.source,
                              {.completion = c.completion,
                               .user_data = c.user_data,
                               .tag = tag,
                               .may_retry = c.may_retry,
                               .may_complete_now = c.may_complete_now,
                               .message_class = c.message_class,
                               .timeout = c.timeout,
                               .region = c.region});
    if (c.direction == Communication::Direction::out)
      return endpoint.post_send(c.peer, c.tag, c.source,
                                {.completion = c.completion,
                                 .user_data = c.user_data,
                                 .policy = c.matching.policy,
                                 .engine = c.matching.engine,
                                 .device = c.matching.device,
                                 .may_retry = c.may_retry,
                                 .may_complete_now = c.may_complete_now,
                                 .message_class = c.message_class,
                                 .timeout = c.timeout,
                                 .synchronous = c.matching.synchronous,
                                 .handle = c.matching.send_handle,
                                 .region = c.region});
    return endpoint.post_receive(c.peer, c.tag, c.target,
                                 {.completion = c.completion,
                                  .user_data = c.user_data,
                                  .policy = c.matching.policy,
                                  .engine = c.matching.engine,
                                  .may_retry = c.may_retry,
                                  .may_complete_now = c.may_complete_now,
                                  .arrived = c.matching.arrived,
                                  .handle = c.matching.handle,
                                  .timeout = c.timeout,
                                  .tag_mask = c.matching.tag_mask});
  }

 protected:
  ~GenericOperation() = default;
};

}  // namespace weft
