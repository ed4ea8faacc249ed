#include "core/protocol/one_sided/one_sided.hpp"

#include "base/fork_watch.hpp"
#include "base/refuse.hpp"
#include "core/protocol/post_checks.hpp"

#include <weft/error.hpp>

#include <string>

namespace weft::core {

OneSided::OneSided(const Context& context)
    : context_(context),
      requests_(context, counts_),
      messages_(context, requests_),
      target_(context, counts_) {}

std::string_view OneSided::name_of_post(const Access& access) noexcept {
  if (access.operation == Operation::put) return "post_put";
  if (access.operation == Operation::get) return "post_get";
  const bool fetches = access.data != nullptr;
  if (access.update.operation == detail::kCompareSwap)
    return fetches ? "post_fetch_compare_swap" : "post_compare_swap";
  return fetches ? "post_fetch_atomic" : "post_atomic";
}

void OneSided::check(const Access& access) const {
  const RemoteRegion& region = access.where.region;
  const std::string post(name_of_post(access));
  if (access.peer < 0 || access.peer >= context_.ranks) {
    base::refuse_in_forked_copy(post.c_str());
    base::refuse(ErrorClass::peer, post,
                 "peer " + std::to_string(access.peer) + " is not a rank of this job (0 to " +
                     std::to_string(context_.ranks - 1) + ")");
  }
  if (region.rank < 0 || region.generation == 0)
    base::refuse(ErrorClass::target, post,
                 "the region names nothing; use what MemoryRegion::remote() returned at rank " +
                     std::to_string(access.peer));
  if (region.rank != access.peer)
    base::refuse(ErrorClass::target, post,
                 "the region belongs to rank " + std::to_string(region.rank) + ", not to peer " +
                     std::to_string(access.peer));
  if (access.operation != Operation::atomic)
    check_region(access.options.region, {access.data, access.size}, context_, post.c_str());
  const AtomicOperation update = access.update.operation;
  const AtomicType type = access.update.type;
  if (access.operation == Operation::atomic && region.native_atomics != 0 && !is_native(update, type))
    base::refuse(
        ErrorClass::option, post,
        std::string("there is no ") +
            (update == detail::kCompareSwap ? "compare-and-swap" : weft::name_of(update)) + " for " +
            name_of(type) + " on region " + std::to_string(region.index) +
            ", which has native atomic operations (RegionOptions::native_atomics): devices have add and "
            "compare-and-swap of 8-byte integers");
  if (access.operation == Operation::atomic && !is_possible(update, type))
    base::refuse(ErrorClass::option, post,
                 std::string("there is no ") + weft::name_of(update) + " (" +
                     std::to_string(static_cast<int>(update)) + ") for " + name_of(type) +
                     ": integers have add, swap, compare-and-swap, bit_and, bit_or, bit_xor, min and max, "
                     "floating-point numbers add and swap");
}

bool OneSided::deliver(Channel channel, std::uint64_t word, Message& arrival, network::Sink& sink) noexcept {
  switch (channel) {
    case Channel::put:
      return target_.on_put(word, arrival, sink);
    case Channel::get:
      return target_.on_get(arrival, sink);
    case Channel::get_data:
      messages_.on_get_data(word, arrival, sink);
      return true;
    case Channel::access_completed:
      messages_.on_access_completed(word, arrival, sink);
      return true;
    case Channel::put_signal:
      target_.signal(word, Operation::put_arrived, arrival.peer());
      return true;
    case Channel::get_signal:
      target_.signal(word, Operation::get_arrived, arrival.peer());
      return true;
    case Channel::atomic:
      return target_.on_atomic(word, arrival, sink);
    case Channel::atomic_completed:
      messages_.on_atomic_completed(word, arrival, sink);
      return true;
    case Channel::atomic_signal:
      target_.signal(word, Operation::atomic_arrived, arrival.peer());
      return true;
    default:
      sink.reject(arrival.peer(), "message on an unknown channel", static_cast<std::uint64_t>(channel));
      return true;
  }
}

std::size_t OneSided::step(Caller caller) noexcept {
  return target_.step(caller) +
         requests_.step([&](Request& request) { return messages_.advance(request, caller); });
}

}  // namespace weft::core
