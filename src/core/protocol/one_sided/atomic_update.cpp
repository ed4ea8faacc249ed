#include "core/protocol/one_sided/atomic_update.hpp"

#include <cassert>

namespace weft::core {

namespace {

template <AtomicValue T>
std::uint64_t apply_as(const AtomicUpdate& update, std::byte* memory) noexcept {
  T operand{};
  T expected{};
  T old{};
  std::memcpy(&operand, &update.operand, sizeof operand);
  std::memcpy(&expected, &update.expected, sizeof expected);
  [[maybe_unused]] const bool is_done =
      detail::apply_atomically(memory, update.operation, operand, expected, old);
  assert(is_done);
  return detail::atomic_bits(old);
}

}  // namespace

const char* name_of(AtomicType type) noexcept {
  switch (type) {
    case AtomicType::uint32:
      return "std::uint32_t";
    case AtomicType::int32:
      return "std::int32_t";
    case AtomicType::uint64:
      return "std::uint64_t";
    case AtomicType::int64:
      return "std::int64_t";
    case AtomicType::float32:
      return "float";
    case AtomicType::float64:
      return "double";
  }
  return "unknown";
}

std::uint64_t carry_out(const AtomicUpdate& update, std::byte* memory) noexcept {
  assert(is_possible(update.operation, update.type) && detail::is_aligned(memory, size_of(update.type)));
  switch (update.type) {
    case AtomicType::uint32:
      return apply_as<std::uint32_t>(update, memory);
    case AtomicType::int32:
      return apply_as<std::int32_t>(update, memory);
    case AtomicType::uint64:
      return apply_as<std::uint64_t>(update, memory);
    case AtomicType::int64:
      return apply_as<std::int64_t>(update, memory);
    case AtomicType::float32:
      return apply_as<float>(update, memory);
    case AtomicType::float64:
      return apply_as<double>(update, memory);
  }
  return 0;
}

}  // namespace weft::core
