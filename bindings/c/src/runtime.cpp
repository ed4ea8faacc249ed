#include "objects.hpp"

#include <weft_c/runtime.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <vector>

using namespace weft::c;

extern "C" {

weft_result weft_runtime_create(const weft_runtime_options* given, weft_runtime** runtime) {
  return create(__func__, runtime, "runtime", [&] {
    const weft_runtime_options options = options_of(given, "options");
    if (options.attribute_count != 0) present(options.attributes, "options->attributes");
    std::vector<weft::AttributeSetting> attributes;
    for (std::size_t index = 0; index < options.attribute_count; ++index) {
      const weft_attribute& each = options.attributes[index];
      attributes.push_back({&present(each.name, "an attribute's name"), &present(each.value, each.name)});
    }
    return std::make_unique<weft_runtime>(weft::RuntimeOptions{
        .attributes = attributes, .name = options.name != nullptr ? options.name : std::string_view()});
  });
}

weft_result weft_runtime_destroy(weft_runtime* runtime) { return destroy(__func__, runtime, "runtime"); }

int weft_rank(const weft_runtime* runtime) {
  return guarded(__func__, [&] { return present(runtime, "runtime").runtime.rank(); });
}

int weft_size(const weft_runtime* runtime) {
  return guarded(__func__, [&] { return present(runtime, "runtime").runtime.size(); });
}

int weft_hosts(const weft_runtime* runtime) {
  return guarded(__func__, [&] { return present(runtime, "runtime").runtime.hosts(); });
}

int weft_host_of(const weft_runtime* runtime, int rank) {
  return guarded(__func__, [&] { return present(runtime, "runtime").runtime.host_of(rank); });
}

const char* weft_network(const weft_runtime* runtime) {
  return guarded_or<const char*>(__func__, nullptr,
                                 [&] { return present(runtime, "runtime").runtime.network(); });
}

const char* weft_attribute_value(const weft_runtime* runtime, const char* name) {
  return guarded_or<const char*>(__func__, nullptr, [&] {
    return present(runtime, "runtime").runtime.attribute(&present(name, "name"));
  });
}

int weft_has_failed(const weft_runtime* runtime, int rank) {
  return guarded(__func__, [&] {
    const weft::Runtime& there = present(runtime, "runtime").runtime;
    if (rank < 0 || rank >= there.size())
      throw BadArgument("rank is " + std::to_string(rank) + ": it must be 0 to " +
                        std::to_string(there.size() - 1));
    return there.has_failed(rank) ? 1 : 0;
  });
}

weft_result weft_on_peer_failure(weft_runtime* runtime, weft_completion* completion) {
  return guarded(__func__, [&] {
    present(runtime, "runtime").runtime.on_peer_failure(*present(completion, "completion").object);
    return WEFT_OK;
  });
}

weft_result weft_forget_peer_failures(weft_runtime* runtime, weft_completion* completion) {
  return guarded(__func__, [&] {
    present(runtime, "runtime").runtime.forget_peer_failures(*present(completion, "completion").object);
    return WEFT_OK;
  });
}

size_t weft_failed_peers(const weft_runtime* runtime, int* ranks, size_t count) {
  return guarded_or<size_t>(__func__, 0, [&] {
    if (count != 0) present(ranks, "ranks");
    return present(runtime, "runtime").runtime.failed_peers({ranks, count});
  });
}

const int* weft_local_ranks(const weft_runtime* runtime, size_t* count) {
  return guarded_or<const int*>(__func__, nullptr, [&] {
    const auto ranks = present(runtime, "runtime").runtime.local_ranks();
    present(count, "count") = ranks.size();
    return ranks.data();
  });
}

weft_result weft_barrier(weft_runtime* runtime) {
  return guarded(__func__, [&] {
    present(runtime, "runtime").runtime.barrier();
    return WEFT_OK;
  });
}

weft_result weft_allgather_bytes(weft_runtime* runtime, const void* mine, size_t size, void* all) {
  return guarded(__func__, [&] {
    weft::Runtime& there = present(runtime, "runtime").runtime;
    const auto ranks = static_cast<std::size_t>(there.size());
    if (size != 0) {
      present(static_cast<const char*>(mine), "mine");
      present(static_cast<char*>(all), "all");
    }
    if (size > SIZE_MAX / ranks)
      throw BadArgument("size is " + std::to_string(size) + " bytes, which " + std::to_string(ranks) +
                        " ranks cannot have together");
    there.allgather({static_cast<const std::byte*>(mine), size},
                    {static_cast<std::byte*>(all), ranks * size});
    return WEFT_OK;
  });
}

void weft_abort(weft_runtime* runtime, int exit_code, const char* reason) {
  static_cast<void>(guarded(__func__, [&]() -> weft_result {
    if (exit_code < 1 || exit_code > 255)
      throw BadArgument("exit_code is " + std::to_string(exit_code) + ": it must be 1 to 255");
    present(runtime, "runtime").runtime.abort(exit_code, reason != nullptr ? reason : "");
  }));
  // Who asks for an end gets one.
  std::fprintf(stderr, "%s\n", weft_error_text());
  std::abort();
}

weft_result weft_device_create(weft_runtime* runtime, const weft_device_options* given,
                               weft_device** device) {
  return create(__func__, device, "device", [&] {
    const weft_device_options options = options_of(given, "options");
    weft::DeviceOptions own;
    if (options.index_plus_1 != 0) own.index = options.index_plus_1 - 1;
    return std::make_unique<weft_device>(present(runtime, "runtime").runtime, own);
  });
}

weft_result weft_device_destroy(weft_device* device) { return destroy(__func__, device, "device"); }

uint32_t weft_device_index(const weft_device* device) {
  return guarded_or<uint32_t>(__func__, UINT32_MAX, [&] { return present(device, "device").device.index(); });
}

weft_result weft_engine_create(weft_runtime* runtime, const weft_engine_options* given,
                               weft_engine** engine) {
  return create(__func__, engine, "engine", [&] {
    const weft_engine_options options = options_of(&present(given, "options"), "options");
    if ((options.flags & ~static_cast<uint32_t>(WEFT_ORDERED | WEFT_SERIAL_ENGINE)) != 0)
      throw BadArgument("options->flags is " + std::to_string(options.flags) +
                        ": it must be made of WEFT_ORDERED and WEFT_SERIAL_ENGINE");
    return std::make_unique<weft_engine>(
        present(runtime, "runtime").runtime,
        weft::MatchingEngineOptions{.id = options.id,
                                    .order = (options.flags & WEFT_ORDERED) != 0
                                                 ? weft::MatchOrder::ordered
                                                 : weft::MatchOrder::unordered,
                                    .serial = (options.flags & WEFT_SERIAL_ENGINE) != 0});
  });
}

weft_result weft_engine_destroy(weft_engine* engine) { return destroy(__func__, engine, "engine"); }

}  // extern "C"
