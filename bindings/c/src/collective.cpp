#include "collective.hpp"

#include "post_options.hpp"
#include "reduction.hpp"

using namespace weft::c;

namespace {

std::size_t ranks_of(const weft::Collective& collective) {
  return static_cast<std::size_t>(collective.size());
}

/// Calls with the buffers of a reduction, in bytes, and its operator.
template <class Call>
weft_result reduced(const void* from, std::size_t from_blocks, void* to, std::size_t count,
                    const weft_reduction* given, const Call& call) {
  const weft::AnyReduction reduction = reduction_of(options_of(&present(given, "reduction"), "reduction"));
  const std::size_t size = length_of(count, reduction.element_size);
  return result_of(
      call(bytes_at(from, length_of(from_blocks, size), "from"), buffer_at(to, size, "to"), reduction));
}

}  // namespace

extern "C" {

weft_result weft_collective_create(weft_runtime* runtime, weft_endpoint* endpoint,
                                   const weft_collective_options* given, weft_collective** collective) {
  return create(__func__, collective, "collective", [&] {
    const weft_collective_options options = options_of(given, "options");
    weft::CollectiveOptions own{.timeout = weft::Timeout::of_nanoseconds(options.timeout_ns)};
    if (options.key != 0) own.key = options.key;
    weft::Runtime& there = present(runtime, "runtime").runtime;
    present_in(there, endpoint, "endpoint");
    const weft::Team team =
        options.team != nullptr ? present(options.team, "options->team").team : weft::Team::world(there);
    return with_own(endpoint, "a collective",
                    [&](auto& bound) { return std::make_unique<weft_collective>(there, bound, team, own); });
  });
}

int weft_collective_rank(const weft_collective* collective) {
  return guarded(__func__, [&] { return present(collective, "collective").there->rank(); });
}

int weft_collective_size(const weft_collective* collective) {
  return guarded(__func__, [&] { return present(collective, "collective").there->size(); });
}

weft_result weft_collective_destroy(weft_collective* collective) {
  return destroy(__func__, collective, "collective", [](const weft_collective& which) {
    refuse_borrowed(!which.collective, "collective", "a group of streams");
  });
}

weft_result weft_collective_barrier(weft_collective* collective) {
  return guarded(__func__, [&] { return result_of(collective_in(collective).barrier()); });
}

weft_result weft_broadcast(weft_collective* collective, void* data, size_t size, int root) {
  return guarded(__func__, [&] {
    return result_of(collective_in(collective).broadcast(buffer_at(data, size, "data"), root));
  });
}

weft_result weft_reduce(weft_collective* collective, const void* from, void* to, size_t count,
                        const weft_reduction* reduction, int root) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    return reduced(from, 1, to, count, reduction,
                   [&](auto source, auto target, auto& op) { return all.reduce(source, target, op, root); });
  });
}

weft_result weft_allreduce(weft_collective* collective, const void* from, void* to, size_t count,
                           const weft_reduction* reduction) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    return reduced(from, 1, to, count, reduction,
                   [&](auto source, auto target, auto& op) { return all.allreduce(source, target, op); });
  });
}

weft_result weft_inclusive_scan(weft_collective* collective, const void* from, void* to, size_t count,
                                const weft_reduction* reduction) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    return reduced(from, 1, to, count, reduction, [&](auto source, auto target, auto& op) {
      return all.inclusive_scan(source, target, op);
    });
  });
}

weft_result weft_exclusive_scan(weft_collective* collective, const void* from, void* to, size_t count,
                                const weft_reduction* reduction) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    return reduced(from, 1, to, count, reduction, [&](auto source, auto target, auto& op) {
      return all.exclusive_scan(source, target, op);
    });
  });
}

weft_result weft_reduce_scatter(weft_collective* collective, const void* from, void* to, size_t count,
                                const weft_reduction* reduction) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    return reduced(from, ranks_of(all), to, count, reduction, [&](auto source, auto target, auto& op) {
      return all.reduce_scatter(source, target, op);
    });
  });
}

weft_result weft_gather(weft_collective* collective, const void* from, void* to, size_t size, int root) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    // Other ranks than the root need no room.
    const auto room =
        all.rank() == root ? buffer_at(to, length_of(ranks_of(all), size), "to") : weft::MutableBytes();
    return result_of(all.gather(bytes_at(from, size, "from"), room, root));
  });
}

weft_result weft_scatter(weft_collective* collective, const void* from, void* to, size_t size, int root) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    const auto blocks =
        all.rank() == root ? bytes_at(from, length_of(ranks_of(all), size), "from") : weft::Bytes();
    return result_of(all.scatter(blocks, buffer_at(to, size, "to"), root));
  });
}

weft_result weft_allgather(weft_collective* collective, const void* from, void* to, size_t size) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    return result_of(
        all.allgather(bytes_at(from, size, "from"), buffer_at(to, length_of(ranks_of(all), size), "to")));
  });
}

weft_result weft_alltoall(weft_collective* collective, const void* from, void* to, size_t size) {
  return guarded(__func__, [&] {
    weft::Collective& all = collective_in(collective);
    const std::size_t length = length_of(ranks_of(all), size);
    return result_of(all.alltoall(bytes_at(from, length, "from"), buffer_at(to, length, "to")));
  });
}

}  // extern "C"
