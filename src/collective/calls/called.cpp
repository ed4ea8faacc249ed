#include "collective/calls/called.hpp"

#include "collective/kinds/kind_table.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <span>
#include <string_view>

namespace weft::collective {

namespace {

constexpr std::string_view kOperators[] = {"",    "sum",         "product",    "min",
                                           "max", "bitwise and", "bitwise or", "bitwise xor"};
constexpr std::string_view kElements[] = {"", "floating point", "signed integers", "unsigned integers"};

void set_file(CalledCollective& called, std::string_view name) noexcept {
  // The end of a path says more than its beginning.
  if (name.size() >= sizeof called.file) name.remove_prefix(name.size() - sizeof called.file + 1);
  std::memcpy(called.file, name.data(), name.size());
  called.file[name.size()] = '\0';
}

/// Writes words into memory of the caller; what does not fit is left out.
class TextWriter {
 public:
  explicit TextWriter(std::span<char> to) noexcept : to_(to) {}
  TextWriter& add(std::string_view words) noexcept {
    const std::size_t count = std::min(words.size(), to_.size() - size_);
    std::memcpy(to_.data() + size_, words.data(), count);
    size_ += count;
    return *this;
  }
  TextWriter& add(std::uint64_t number) noexcept {
    char digits[20];
    const auto end = std::to_chars(digits, digits + sizeof digits, number);
    return add(std::string_view(digits, end.ptr));
  }
  [[nodiscard]] std::size_t size() const noexcept { return size_; }

 private:
  std::span<char> to_;
  std::size_t size_ = 0;
};

constexpr std::uint64_t bit_of(int rank) noexcept { return std::uint64_t{1} << rank % 64; }

std::uint64_t bits_of(std::span<const int> ranks) noexcept {
  std::uint64_t bits = 0;
  for (const int rank : ranks) bits |= bit_of(rank);
  return bits;
}

}  // namespace

bool CalledCollective::is_valid() const noexcept {
  return static_cast<std::size_t>(kind) < Kinds::kTraits.size() &&
         static_cast<std::size_t>(known) < std::size(kOperators) &&
         static_cast<std::size_t>(element_kind) < std::size(kElements) &&
         std::memchr(file, 0, sizeof file) != nullptr;
}

std::uint32_t signature_of(const detail::CollectiveCall& call) noexcept {
  const KindTraits& traits = traits_of(call.kind);
  std::uint32_t more = 0;
  if (traits.has_root) more = static_cast<std::uint32_t>(call.root);
  if (traits.reduces)
    more ^= static_cast<std::uint32_t>(call.reduction.known) |
            static_cast<std::uint32_t>(call.reduction.kind) << 3 |
            static_cast<std::uint32_t>(std::bit_width(call.reduction.element)) << 5;
  if (call.blocks_differ) more ^= 0x80;
  if (call.reduction.is_ordered) more ^= 0x40;
  // Odd factors, so that no two kinds, and no two of the rest, are the same.
  return (static_cast<std::uint32_t>(call.kind) * 19 + more * 101) & 0xff;
}

std::size_t CalledCollective::write(std::span<char> to, bool with_line) const noexcept {
  const KindTraits& traits = traits_of(kind);
  TextWriter text(to);
  text.add(traits.name);
  if (kind != detail::CollectiveKind::barrier) {
    if (blocks_differ != 0) text.add(" of blocks that differ,");
    if (is_ordered != 0) text.add(" in the order of ranks,");
    text.add(" of ").add(bytes).add(" bytes");
    if (traits.reduces) {
      text.add(" (");
      text.add(known == detail::KnownOperator::none ? "an operator of the program"
                                                    : kOperators[static_cast<std::size_t>(known)]);
      if (element_kind != detail::ElementKind::other)
        text.add(" of ").add(kElements[static_cast<std::size_t>(element_kind)]);
      text.add(", ").add(element).add(" bytes each)");
    }
    if (traits.has_root) text.add(", root ").add(static_cast<std::uint64_t>(std::max(root, 0)));
  }
  text.add(", number ").add(number + 1).add(" of its Collective");
  if (with_line && line != 0) text.add(", at ").add(file).add(":").add(line);
  return text.size();
}

std::string CalledCollective::text(bool with_line) const {
  char words[kMostText];
  return {words, write(words, with_line)};
}

bool CalledCollective::fits(const CalledCollective& other) const noexcept {
  const KindTraits& traits = traits_of(kind);
  if (kind != other.kind || blocks_differ != other.blocks_differ) return false;
  if (traits.has_root && root != other.root) return false;
  return !traits.reduces || (known == other.known && element_kind == other.element_kind &&
                             element == other.element && is_ordered == other.is_ordered);
}

bool CalledCollective::has_length_of(const CalledCollective& other) const noexcept {
  return bytes == other.bytes || blocks_differ != 0 || traits_of(kind).length == Length::none;
}

bool CalledCollective::meets(const CalledCollective& other, int own, int peer, int ranks) const noexcept {
  if (kind != other.kind || (other.sources | other.destinations | sources | destinations) == 0) return true;
  if (ranks > kExact) return names_destination(peer) || names_source(peer);
  return other.names_source(own) == names_destination(peer) &&
         other.names_destination(own) == names_source(peer);
}

void CallLog::begin(std::uint64_t number, const detail::CollectiveCall& call) noexcept {
  Kept& kept = kept_[number % kKept];
  kept.stamp.store(2 * number + 1, std::memory_order_relaxed);
  // Pairs with the acquire fence in called(): who reads a word of this run sees the odd stamp.
  std::atomic_thread_fence(std::memory_order_release);
  kept.bytes.store(length_of(call), std::memory_order_relaxed);
  kept.root_and_element.store(std::uint64_t{static_cast<std::uint32_t>(call.root)} << 32 |
                                  static_cast<std::uint32_t>(call.reduction.element),
                              std::memory_order_relaxed);
  kept.kinds.store(
      static_cast<std::uint64_t>(call.kind) | static_cast<std::uint64_t>(call.reduction.known) << 8 |
          static_cast<std::uint64_t>(call.reduction.kind) << 16 | std::uint64_t{call.blocks_differ} << 24 |
          std::uint64_t{call.reduction.is_ordered} << 25,
      std::memory_order_relaxed);
  if (!call.sources.empty() || !call.destinations.empty() ||
      kept.sources.load(std::memory_order_relaxed) != 0 ||
      kept.destinations.load(std::memory_order_relaxed) != 0) {
    kept.sources.store(bits_of(call.sources), std::memory_order_relaxed);
    kept.destinations.store(bits_of(call.destinations), std::memory_order_relaxed);
  }
  kept.where.store(call.where, std::memory_order_relaxed);
  // Pairs with the acquire in called().
  kept.stamp.store(2 * number + 2, std::memory_order_release);
}

std::optional<CalledCollective> CallLog::called(std::uint64_t number,
                                                std::source_location* where) const noexcept {
  const Kept& kept = kept_[number % kKept];
  if (number >= kNumbers || kept.stamp.load(std::memory_order_acquire) != 2 * number + 2) return std::nullopt;
  CalledCollective called;
  called.number = number;
  called.bytes = kept.bytes.load(std::memory_order_relaxed);
  const std::uint64_t root_and_element = kept.root_and_element.load(std::memory_order_relaxed);
  called.root = static_cast<std::int32_t>(root_and_element >> 32);
  called.element = static_cast<std::uint32_t>(root_and_element);
  const std::uint64_t kinds = kept.kinds.load(std::memory_order_relaxed);
  called.kind = static_cast<detail::CollectiveKind>(kinds & 0xff);
  called.known = static_cast<detail::KnownOperator>(kinds >> 8 & 0xff);
  called.element_kind = static_cast<detail::ElementKind>(kinds >> 16 & 0xff);
  called.blocks_differ = static_cast<std::uint8_t>(kinds >> 24 & 1);
  called.is_ordered = static_cast<std::uint8_t>(kinds >> 25 & 1);
  called.sources = kept.sources.load(std::memory_order_relaxed);
  called.destinations = kept.destinations.load(std::memory_order_relaxed);
  const std::source_location location = kept.where.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  if (kept.stamp.load(std::memory_order_relaxed) != 2 * number + 2) return std::nullopt;
  called.line = location.line();
  set_file(called, location.file_name());
  if (where != nullptr) *where = location;
  return called;
}

}  // namespace weft::collective
