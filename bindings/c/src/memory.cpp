#include "objects.hpp"
#include "post_options.hpp"

#include <weft_c/memory.h>

#include <cstring>

using namespace weft::c;

namespace {

/// Posts the packet at the address; it stays the program's unless it was taken over.
template <class Post>
weft_result post_packet(weft_endpoint* endpoint, void* address, std::size_t size, const Post& post) {
  weft::Packet packet = present(endpoint, "endpoint").runtime.packet_of(address);
  if (!packet) throw BadArgument("packet is no packet of this endpoint's runtime");
  // Whatever happens from here on, a packet that was not taken over is not released to its pool.
  struct Owner {
    weft::Packet& packet;
    ~Owner() { packet.release(); }
  } const owner{packet};
  if (size > packet.capacity())
    throw BadArgument("size is " + std::to_string(size) + ": the packet has room for " +
                      std::to_string(packet.capacity()));
  return with(endpoint, [&](auto& there) { return result_of(post(there, packet)); });
}

/// Calls with the operand's type.
template <class Call>
weft_result with_type(weft_type type, const Call& call) {
  switch (type) {
    case WEFT_INT32:
      return call(std::int32_t());
    case WEFT_UINT32:
      return call(std::uint32_t());
    case WEFT_INT64:
      return call(std::int64_t());
    case WEFT_UINT64:
      return call(std::uint64_t());
    case WEFT_FLOAT:
      return call(float());
    case WEFT_DOUBLE:
      return call(double());
    default:
      throw BadArgument(
          "type is " + std::to_string(type) +
          ": atomic operations have WEFT_INT32, WEFT_UINT32, WEFT_INT64, WEFT_UINT64, WEFT_FLOAT and "
          "WEFT_DOUBLE");
  }
}

weft::AtomicOperation operation_of(weft_atomic_operation operation) {
  if (operation < WEFT_ATOMIC_ADD || operation > WEFT_ATOMIC_MAX)
    throw BadArgument("operation is " + std::to_string(operation) +
                      ": it must be one of WEFT_ATOMIC_ADD to WEFT_ATOMIC_MAX");
  return static_cast<weft::AtomicOperation>(operation);
}

template <class T>
T value_at(const void* memory, const char* name) {
  T value;
  std::memcpy(&value, &present(static_cast<const char*>(memory), name), sizeof value);
  return value;
}

static_assert(static_cast<int>(weft::AtomicOperation::add) == WEFT_ATOMIC_ADD);
static_assert(static_cast<int>(weft::AtomicOperation::max) == WEFT_ATOMIC_MAX);

/// Posts, or waits.
enum class Form { post, wait };

weft_result change(Form form, weft_endpoint* endpoint, int peer, const weft_remote_region* key,
                   std::uint64_t offset, weft_type type, weft_atomic_operation operation, const void* operand,
                   void* old, const weft_options* given) {
  const auto options = atomic_options(given);
  const auto where = address_of(key, offset, "where");
  const auto how = operation_of(operation);
  return with_type(type, [&]<class T>(T) {
    const T by = value_at<T>(operand, "operand");
    return with(endpoint, [&](auto& there) -> weft_result {
      if (form == Form::post)
        return result_of(old != nullptr ? there.template post_fetch_atomic<T>(peer, where, how, by,
                                                                              *static_cast<T*>(old), options)
                                        : there.template post_atomic<T>(peer, where, how, by, options));
      if (old == nullptr) return result_of(there.template atomic<T>(peer, where, how, by, options));
      const auto fetched = there.template fetch_atomic<T>(peer, where, how, by, options);
      if (fetched) std::memcpy(old, &fetched.value, sizeof fetched.value);
      return result_of(fetched.outcome);
    });
  });
}

weft_result swap_if(Form form, weft_endpoint* endpoint, int peer, const weft_remote_region* key,
                    std::uint64_t offset, weft_type type, const void* expected, const void* desired,
                    void* old, const weft_options* given) {
  const auto options = atomic_options(given);
  const auto where = address_of(key, offset, "where");
  return with_type(type, [&]<class T>(T) -> weft_result {
    if constexpr (!weft::AtomicInteger<T>) {
      throw BadArgument("type is a type of floating-point numbers, which have no compare-and-swap");
    } else {
      const T if_there = value_at<T>(expected, "expected");
      const T then = value_at<T>(desired, "desired");
      return with(endpoint, [&](auto& there) -> weft_result {
        if (form == Form::post)
          return result_of(old != nullptr
                               ? there.template post_fetch_compare_swap<T>(peer, where, if_there, then,
                                                                           *static_cast<T*>(old), options)
                               : there.template post_compare_swap<T>(peer, where, if_there, then, options));
        if (old == nullptr)
          return result_of(there.template compare_swap<T>(peer, where, if_there, then, options));
        const auto fetched = there.template fetch_compare_swap<T>(peer, where, if_there, then, options);
        if (fetched) std::memcpy(old, &fetched.value, sizeof fetched.value);
        return result_of(fetched.outcome);
      });
    }
  });
}

}  // namespace

extern "C" {

weft_result weft_region_create(weft_runtime* runtime, size_t size, const weft_region_options* given,
                               weft_region** region) {
  return create(__func__, region, "region", [&] {
    const weft_region_options options = options_of(given, "options");
    if (options.flags > WEFT_NATIVE_ATOMICS)
      throw BadArgument("options->flags is " + std::to_string(options.flags) +
                        ": it must be 0 or WEFT_NATIVE_ATOMICS");
    const weft::RegionOptions own{.native_atomics = options.flags == WEFT_NATIVE_ATOMICS};
    weft::Runtime& there = present(runtime, "runtime").runtime;
    return std::make_unique<weft_region>(
        options.memory != nullptr
            ? weft::MemoryRegion(there, buffer_at(options.memory, size, "options->memory"), own)
            : weft::MemoryRegion::allocate(there, size, own));
  });
}

weft_result weft_region_allocate(weft_runtime* runtime, size_t size, weft_region** region) {
  return create(__func__, region, "region", [&] {
    return std::make_unique<weft_region>(
        weft::MemoryRegion::allocate(present(runtime, "runtime").runtime, size));
  });
}

weft_result weft_region_register(weft_runtime* runtime, void* memory, size_t size, weft_region** region) {
  return create(__func__, region, "region", [&] {
    return std::make_unique<weft_region>(
        weft::MemoryRegion(present(runtime, "runtime").runtime, buffer_at(memory, size, "memory")));
  });
}

weft_result weft_region_destroy(weft_region* region) { return destroy(__func__, region, "region"); }

void* weft_region_data(const weft_region* region) {
  return guarded_or<void*>(__func__, nullptr,
                           [&] { return present(region, "region").region.bytes().data(); });
}

size_t weft_region_size(const weft_region* region) {
  return guarded_or<size_t>(__func__, 0, [&] { return present(region, "region").region.size(); });
}

weft_result weft_region_key(const weft_region* region, weft_remote_region* key) {
  return guarded(__func__, [&] {
    std::memcpy(&present(key, "key"), &present(region, "region").region.remote(), sizeof *key);
    return WEFT_OK;
  });
}

void* weft_region_map(weft_runtime* runtime, const weft_remote_region* key) {
  return guarded_or<void*>(__func__, nullptr, [&]() -> void* {
    const weft::RemoteRegion region = region_of(key, "key");
    return weft::map(present(runtime, "runtime").runtime, region).bytes().data();
  });
}

weft_result weft_post_put(weft_endpoint* endpoint, int peer, const weft_remote_region* to, uint64_t offset,
                          const void* from, size_t size, const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = access_options(options);
    return with(endpoint, [&](auto& there) {
      return result_of(there.post_put(peer, address_of(to, offset, "to"), bytes_at(from, size, "from"), own));
    });
  });
}

weft_result weft_put(weft_endpoint* endpoint, int peer, const weft_remote_region* to, uint64_t offset,
                     const void* from, size_t size, const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = access_options(options);
    return with(endpoint, [&](auto& there) {
      return result_of(there.put(peer, address_of(to, offset, "to"), bytes_at(from, size, "from"), own));
    });
  });
}

weft_result weft_post_get(weft_endpoint* endpoint, int peer, const weft_remote_region* from, uint64_t offset,
                          void* to, size_t size, const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = access_options(options);
    return with(endpoint, [&](auto& there) {
      return result_of(
          there.post_get(peer, address_of(from, offset, "from"), buffer_at(to, size, "to"), own));
    });
  });
}

weft_result weft_get(weft_endpoint* endpoint, int peer, const weft_remote_region* from, uint64_t offset,
                     void* to, size_t size, const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = access_options(options);
    return with(endpoint, [&](auto& there) {
      return result_of(there.get(peer, address_of(from, offset, "from"), buffer_at(to, size, "to"), own));
    });
  });
}

weft_result weft_post_atomic(weft_endpoint* endpoint, int peer, const weft_remote_region* where,
                             uint64_t offset, weft_type type, weft_atomic_operation operation,
                             const void* operand, void* old, const weft_options* options) {
  return guarded(__func__, [&] {
    return change(Form::post, endpoint, peer, where, offset, type, operation, operand, old, options);
  });
}

weft_result weft_atomic(weft_endpoint* endpoint, int peer, const weft_remote_region* where, uint64_t offset,
                        weft_type type, weft_atomic_operation operation, const void* operand, void* old,
                        const weft_options* options) {
  return guarded(__func__, [&] {
    return change(Form::wait, endpoint, peer, where, offset, type, operation, operand, old, options);
  });
}

weft_result weft_post_compare_swap(weft_endpoint* endpoint, int peer, const weft_remote_region* where,
                                   uint64_t offset, weft_type type, const void* expected, const void* desired,
                                   void* old, const weft_options* options) {
  return guarded(__func__, [&] {
    return swap_if(Form::post, endpoint, peer, where, offset, type, expected, desired, old, options);
  });
}

weft_result weft_compare_swap(weft_endpoint* endpoint, int peer, const weft_remote_region* where,
                              uint64_t offset, weft_type type, const void* expected, const void* desired,
                              void* old, const weft_options* options) {
  return guarded(__func__, [&] {
    return swap_if(Form::wait, endpoint, peer, where, offset, type, expected, desired, old, options);
  });
}

weft_result weft_flush(weft_endpoint* endpoint, int peer) {
  return guarded(__func__, [&] {
    return with(endpoint, [&](auto& there) {
      if (peer == WEFT_ANY_SOURCE)
        there.flush();
      else
        there.flush(peer);
      return WEFT_OK + 0;
    });
  });
}

int weft_flushed(weft_endpoint* endpoint, int peer) {
  return guarded(__func__, [&] {
    return with(endpoint, [&](auto& there) {
      return (peer == WEFT_ANY_SOURCE ? there.flushed() : there.flushed(peer)) ? 1 : 0;
    });
  });
}

void* weft_packet_get(weft_runtime* runtime, size_t* capacity) {
  return guarded_or<void*>(__func__, nullptr, [&]() -> void* {
    weft::Packet packet = present(runtime, "runtime").runtime.get_packet();
    if (!packet) return nullptr;
    if (capacity != nullptr) *capacity = packet.capacity();
    void* const memory = packet.data();
    packet.release();
    return memory;
  });
}

weft_result weft_packet_put(weft_runtime* runtime, void* packet) {
  return guarded(__func__, [&] {
    if (!present(runtime, "runtime").runtime.packet_of(packet))
      throw BadArgument("packet is no packet of this runtime");
    return WEFT_OK;  // it was released to the pool here
  });
}

weft_result weft_post_am_packet(weft_endpoint* endpoint, int peer, weft_remote remote, void* packet,
                                size_t size, const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = active_message_options(options);
    return post_packet(endpoint, packet, size, [&](auto& there, weft::Packet& owned) {
      return there.post_am(peer, remote_of(remote), std::move(owned), size, own);
    });
  });
}

weft_result weft_post_send_packet(weft_endpoint* endpoint, int peer, uint64_t tag, void* packet, size_t size,
                                  const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = send_options(options);
    return post_packet(endpoint, packet, size, [&](auto& there, weft::Packet& owned) {
      return with_tag(options, tag, [&](const auto& what) {
        return there.post_send(peer, what, std::move(owned), size, own);
      });
    });
  });
}

}  // extern "C"
