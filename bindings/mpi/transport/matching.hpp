// How messages of MPI are matched by weft: the only place that knows of keys and engines.
//
// The key of a message is context(32) | tag(32). Contexts belong to one communicator, and only its members
// know them, so that a receive from any source needs no check of who has sent. MPI_ANY_TAG is a mask that
// covers the context.
#pragma once

#include "bindings/mpi/transport/world.hpp"

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::mpi {

inline constexpr int kEngine = 256;
inline constexpr std::uint64_t kContextMask = ~std::uint64_t{0} << 32;
/// The largest tag: bit 31 is not the program's.
inline constexpr int kLargestTag = 0x7fffffff;

[[nodiscard]] constexpr std::uint64_t key_of(std::uint32_t context, int tag) noexcept {
  return std::uint64_t{context} << 32 | static_cast<std::uint32_t>(tag);
}
[[nodiscard]] constexpr int tag_of_key(std::uint64_t key) noexcept {
  return static_cast<int>(static_cast<std::uint32_t>(key));
}

/// The tag of the messages in which ranks compare their histories of collectives (roll_call/histories.hpp).
inline constexpr int kTagOfHistories = static_cast<int>(0x80000000U);
[[nodiscard]] constexpr bool is_of_histories(std::uint32_t context, int tag) noexcept {
  return (context & 3) == 1 && tag == kTagOfHistories;
}

/// Posts a send until it is accepted, of Bytes or of a list of them. Returns true when it has ended already;
/// else `completion` is signalled with `user_data`. `handle`: for cancel, or nullptr; it names no send where
/// so many are under way that no other one can be cancelled.
template <class Payload>
bool post_send(int peer, std::uint32_t context, int tag, const Payload& payload, Completion& completion,
               void* user_data, SendHandle* handle = nullptr) {
  Status status = world->endpoint.post_send(peer, key_of(context, tag), payload,
                                            {.completion = &completion,
                                             .user_data = user_data,
                                             .engine = kEngine,
                                             .may_complete_now = true,
                                             .handle = handle});
  if (status.is_retry()) [[unlikely]]
    world->endpoint.wait_until([&] {
      status = world->endpoint.post_send(peer, key_of(context, tag), payload,
                                         {.completion = &completion,
                                          .user_data = user_data,
                                          .engine = kEngine,
                                          .may_retry = false,
                                          .may_complete_now = true,
                                          .handle = handle});
      return !status.is_retry();
    });
  return status.is_done();
}

/// post_send() for a send that ends when a receive has matched it.
template <class Payload>
void post_synchronous_send(int peer, std::uint32_t context, int tag, const Payload& payload,
                           Completion& completion, void* user_data, SendHandle* handle) {
  const SendOptions options{.completion = &completion,
                            .user_data = user_data,
                            .engine = kEngine,
                            .may_retry = false,
                            .synchronous = true,
                            .handle = handle};
  Status status = world->endpoint.post_send(peer, key_of(context, tag), payload, options);
  if (status.is_retry()) [[unlikely]]
    world->endpoint.wait_until([&] {
      status = world->endpoint.post_send(peer, key_of(context, tag), payload, options);
      return !status.is_retry();
    });
}

/// Options of a receive or probe of a source and a tag, which may be MPI's wildcards.
[[nodiscard]] inline ReceiveOptions receive_options(int tag) noexcept {
  ReceiveOptions options;
  options.engine = kEngine;
  options.may_retry = false;
  if (tag == MPI_ANY_TAG) options.tag_mask = kContextMask;
  return options;
}
[[nodiscard]] constexpr int weft_source(int source) noexcept {
  return source == MPI_ANY_SOURCE ? any_source : source;
}
[[nodiscard]] constexpr std::uint64_t receive_key(std::uint32_t context, int tag) noexcept {
  return key_of(context, tag == MPI_ANY_TAG ? 0 : tag);
}

/// Posts a receive; `completion` is signalled with `user_data`. `source`: a rank of the job, or
/// MPI_ANY_SOURCE. `handle`: for cancel, or nullptr.
inline void post_receive(int source, std::uint32_t context, int tag, std::span<std::byte> buffer,
                         Completion& completion, void* user_data, ReceiveHandle* handle) {
  ReceiveOptions options = receive_options(tag);
  options.completion = &completion;
  options.user_data = user_data;
  options.handle = handle;
  const std::uint64_t key = receive_key(context, tag);
  Status status = world->endpoint.post_receive(weft_source(source), key, buffer, options);
  if (status.is_retry()) [[unlikely]]
    world->endpoint.wait_until([&] {
      status = world->endpoint.post_receive(weft_source(source), key, buffer, options);
      return !status.is_retry();
    });
}

/// The same into a list of buffers. Returns false, and has posted nothing, when the engine has no record for
/// the list.
[[nodiscard]] inline bool post_scattered_receive(int source, std::uint32_t context, int tag,
                                                 std::span<const MutableBytes> buffers,
                                                 Completion& completion, void* user_data,
                                                 ReceiveHandle* handle) {
  ReceiveOptions options = receive_options(tag);
  options.completion = &completion;
  options.user_data = user_data;
  options.handle = handle;
  return !world->endpoint.post_receive(weft_source(source), receive_key(context, tag), buffers, options)
              .is_retry();
}

[[nodiscard]] inline bool probe(int source, std::uint32_t context, int tag, ProbedMessage& found) {
  return world->endpoint.probe(weft_source(source), receive_key(context, tag), found, receive_options(tag));
}
[[nodiscard]] inline MatchedMessage matched_probe(int source, std::uint32_t context, int tag) {
  return world->endpoint.matched_probe(weft_source(source), receive_key(context, tag), receive_options(tag));
}

}  // namespace weft::mpi
