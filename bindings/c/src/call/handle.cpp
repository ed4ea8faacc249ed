#include "handle.hpp"

#include "call.hpp"

#include <array>
#include <mutex>
#include <new>
#include <string>

namespace weft::c {

namespace {

constexpr std::array kNames = {"a runtime",
                               "a device",
                               "an endpoint",
                               "a matching engine",
                               "a completion object",
                               "a region",
                               "a collective",
                               "an operation of a collective",
                               "a matching context",
                               "a team",
                               "a graph",
                               "a stream",
                               "a group of streams",
                               "a persistent operation",
                               "a matched message",
                               "a progress thread"};
constexpr auto kFirst = static_cast<std::uint32_t>(HandleKind::runtime);
static_assert(kFirst + kNames.size() - 1 == static_cast<std::uint32_t>(HandleKind::progress_thread));

HandleHeader* header_of(void* object) noexcept {
  return reinterpret_cast<HandleHeader*>(static_cast<std::byte*>(object) - kHandleUnit);
}

/// The memory of objects of one size that is free, first in, first out. Any thread.
class FreeMemory {
 public:
  void add(HandleHeader& header) noexcept {
    const std::lock_guard lock(mutex_);
    header.next = nullptr;
    (newest_ != nullptr ? newest_->next : oldest_) = &header;
    newest_ = &header;
    ++count_;
  }
  [[nodiscard]] HandleHeader* take() noexcept {
    constexpr std::size_t kRecognized = 256;  // handles that were destroyed last
    const std::lock_guard lock(mutex_);
    if (count_ <= kRecognized) return nullptr;
    HandleHeader* const header = oldest_;
    oldest_ = header->next;
    --count_;
    return header;
  }

 private:
  std::mutex mutex_;
  HandleHeader* oldest_ = nullptr;
  HandleHeader* newest_ = nullptr;
  std::size_t count_ = 0;
};

using Memory = std::array<FreeMemory, kLargestHandle / kHandleUnit + 1>;  // by units

/// Never destroyed: programs may destroy handles at their very end.
Memory& memory() {
  static Memory& only = *new Memory;
  return only;
}

}  // namespace

void* take_handle(std::size_t bytes, HandleKind kind) {
  const std::size_t units = (bytes + kHandleUnit - 1) / kHandleUnit;
  HandleHeader* header = memory()[units].take();
  if (header == nullptr)
    header = new (::operator new ((units + 1) * kHandleUnit, std::align_val_t{kHandleUnit})) HandleHeader;
  header->units = static_cast<std::uint32_t>(units);
  header->kind.store(static_cast<std::uint32_t>(kind), std::memory_order_relaxed);
  return reinterpret_cast<std::byte*>(header) + kHandleUnit;
}

void give_back_handle(void* object) noexcept {
  HandleHeader& header = *header_of(object);
  header.kind.fetch_or(HandleHeader::kGone, std::memory_order_relaxed);
  memory()[header.units].add(header);
}

void refuse_handle(const void* object, HandleKind wanted, const char* name) {
  const std::string expected = kNames[static_cast<std::uint32_t>(wanted) - kFirst];
  std::uint32_t kind = 0;
  if (reinterpret_cast<std::uintptr_t>(object) % kHandleUnit == 0)
    kind = header_of(const_cast<void*>(object))->kind.load(std::memory_order_relaxed);
  const std::uint32_t found = (kind & ~HandleHeader::kGone) - kFirst;
  if (found >= kNames.size())
    throw BadArgument(std::string(name) + " is no handle of weft: it must be one of " + expected);
  if ((kind & HandleHeader::kGone) != 0)
    throw BadArgument(std::string(name) + " is the handle of " + kNames[found] + " that has been destroyed");
  throw BadArgument(std::string(name) + " is the handle of " + kNames[found] + ": it must be one of " +
                    expected);
}

}  // namespace weft::c
