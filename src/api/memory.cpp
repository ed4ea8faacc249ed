#include <weft/memory.hpp>

#include <weft/binding/library_memory.hpp>
#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include "base/fork_watch.hpp"
#include "base/refuse.hpp"
#include "core/runtime/runtime_state.hpp"

#include <optional>
#include <string>
#include <utility>

namespace weft {

namespace {

void note(const detail::RuntimeState& runtime, const char* what, const RemoteRegion& region) {
  runtime.log().in(base::LogModule::memory).debug([&] {
    return "region " + std::to_string(region.index) + " of rank " + std::to_string(region.rank) + ", " +
           std::to_string(region.bytes) + " bytes, " + what;
  });
}

constinit thread_local int libraries = 0;  // LibraryMemory of this thread

}  // namespace

LibraryMemory::LibraryMemory() noexcept { ++libraries; }
LibraryMemory::~LibraryMemory() { --libraries; }

MemoryRegion::MemoryRegion(Runtime& runtime, std::span<std::byte> memory, const RegionOptions& options)
    : runtime_((base::refuse_in_forked_copy("MemoryRegion"), &runtime.state())),
      memory_(memory),
      remote_(runtime_->regions().add(memory, options)) {
  note(*runtime_, "is registered", remote_);
}

MemoryRegion MemoryRegion::allocate(Runtime& runtime, std::size_t size, const RegionOptions& options) {
  base::refuse_in_forked_copy("MemoryRegion::allocate");
  MemoryRegion region;
  region.remote_ = runtime.state().regions().allocate(
      size, region.memory_, libraries != 0 ? core::RegionOwner::library : core::RegionOwner::program,
      options);
  region.runtime_ = &runtime.state();
  note(*region.runtime_, "is allocated", region.remote_);
  return region;
}

MemoryRegion::~MemoryRegion() { release(); }

MemoryRegion::MemoryRegion(MemoryRegion&& other) noexcept { *this = std::move(other); }

MemoryRegion& MemoryRegion::operator=(MemoryRegion&& other) noexcept {
  if (this != &other) {
    release();
    runtime_ = std::exchange(other.runtime_, nullptr);
    memory_ = std::exchange(other.memory_, {});
    remote_ = std::exchange(other.remote_, {});
  }
  return *this;
}

void MemoryRegion::release() noexcept {
  if (runtime_ != nullptr && !base::is_forked_copy()) {
    runtime_->regions().remove(remote_.index);
    note(*runtime_, "is withdrawn", remote_);
  }
  runtime_ = nullptr;
}

MappedRegion map(Runtime& runtime, const RemoteRegion& region) {
  base::refuse_in_forked_copy("map");
  detail::RuntimeState& state = runtime.state();
  if (region.rank < 0 || region.rank >= state.size())
    base::refuse(ErrorClass::peer, "map",
                 "the region's rank " + std::to_string(region.rank) + " is not a rank of this job (0 to " +
                     std::to_string(state.size() - 1) + ")");
  // A trace shows only accesses that are calls, so regions are not mapped while one is made.
  const bool is_hidden = state.tracer() != nullptr;
  const bool by_messages =
      static_cast<core::AccessPath>(state.attributes().integer(base::Attribute::one_sided)) ==
      core::AccessPath::message;
  const std::optional<detail::DirectWindow> window =
      by_messages || is_hidden
          ? std::nullopt
          : state.network().map_memory(
                region.rank,
                {{region.index, region.generation}, {region.address, region.key}, region.bytes, 0, 0});
  note(state, window ? "is mapped" : "cannot be mapped: accesses are calls", region);
  return {region, window ? &*window : nullptr};
}

}  // namespace weft
