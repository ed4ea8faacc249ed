// Objects of verbs as owned values.
#pragma once

#include "network/ibv/verbs/verbs.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>

namespace weft::network::ibv {

template <auto kDestroy>
struct Destroy {
  template <class Object>
  void operator()(Object* object) const noexcept {
    static_cast<void>((verbs().*kDestroy)(object));
  }
};
/// Objects end in the order in which C++ destroys members: declare an object behind those it depends on.
template <class Object, auto kDestroy>
using Owned = std::unique_ptr<Object, Destroy<kDestroy>>;

using Context = Owned<ibv_context, &Verbs::close_device>;
using ProtectionDomain = Owned<ibv_pd, &Verbs::dealloc_pd>;
using Registration = Owned<ibv_mr, &Verbs::dereg_mr>;
using CompletionChannel = Owned<ibv_comp_channel, &Verbs::destroy_comp_channel>;
using CompletionQueue = Owned<ibv_cq, &Verbs::destroy_cq>;
using SharedReceiveQueue = Owned<ibv_srq, &Verbs::destroy_srq>;
using QueuePair = Owned<ibv_qp, &Verbs::destroy_qp>;
using Route = Owned<ibv_ah, &Verbs::destroy_ah>;

/// A piece of memory of a work request; `key`: the local one of its registration.
[[nodiscard]] inline ibv_sge piece_of(const void* bytes, std::size_t size, std::uint32_t key) noexcept {
  return {reinterpret_cast<std::uint64_t>(bytes), static_cast<std::uint32_t>(size), key};
}

/// The text of an errno that verbs have set or returned.
[[nodiscard]] inline std::string error_text(int number) {
  char room[128] = {};
  return ::strerror_r(number, room, sizeof room);
}

}  // namespace weft::network::ibv
