#include "reduction.hpp"

#include "call/call.hpp"

#include <concepts>
#include <string>

namespace weft::c {

namespace {

template <class T, class Op>
void combine(void* to, const void* from, std::size_t count, void*) {
  auto* const target = static_cast<T*>(to);
  const auto* const source = static_cast<const T*>(from);
  for (std::size_t index = 0; index < count; ++index) target[index] = Op()(target[index], source[index]);
}

template <class T>
AnyReduction::Apply combine_of(std::uint32_t operation) {
  switch (operation) {
    case WEFT_SUM:
      return combine<T, operators::Sum>;
    case WEFT_PRODUCT:
      return combine<T, operators::Product>;
    case WEFT_MIN:
      return combine<T, operators::Min>;
    case WEFT_MAX:
      return combine<T, operators::Max>;
    default:
      break;
  }
  if constexpr (std::integral<T>) {
    if (operation == WEFT_BIT_AND) return combine<T, operators::BitAnd>;
    if (operation == WEFT_BIT_OR) return combine<T, operators::BitOr>;
    if (operation == WEFT_BIT_XOR) return combine<T, operators::BitXor>;
  }
  throw BadArgument("reduction->operation is " + std::to_string(operation) +
                    (std::integral<T> ? ": it must be one of WEFT_SUM to WEFT_BIT_XOR"
                                      : ": floating-point numbers have WEFT_SUM to WEFT_MAX"));
}

template <class T>
AnyReduction known(std::uint32_t operation) {
  return {.element_size = sizeof(T), .apply = combine_of<T>(operation)};
}

AnyReduction in_any_order(const weft_reduction& given) {
  if (given.combine != nullptr)
    return {.element_size = given.element_size, .apply = given.combine, .context = given.context};
  switch (given.type) {
    case WEFT_INT8:
      return known<std::int8_t>(given.operation);
    case WEFT_UINT8:
      return known<std::uint8_t>(given.operation);
    case WEFT_INT16:
      return known<std::int16_t>(given.operation);
    case WEFT_UINT16:
      return known<std::uint16_t>(given.operation);
    case WEFT_INT32:
      return known<std::int32_t>(given.operation);
    case WEFT_UINT32:
      return known<std::uint32_t>(given.operation);
    case WEFT_INT64:
      return known<std::int64_t>(given.operation);
    case WEFT_UINT64:
      return known<std::uint64_t>(given.operation);
    case WEFT_FLOAT:
      return known<float>(given.operation);
    case WEFT_DOUBLE:
      return known<double>(given.operation);
    default:
      throw BadArgument("reduction->type is " + std::to_string(given.type) +
                        ": it must be one of WEFT_INT32 to WEFT_UINT16");
  }
}

}  // namespace

AnyReduction reduction_of(const weft_reduction& given) {
  AnyReduction reduction = in_any_order(given);
  reduction.is_commutative = given.in_order == 0;
  return reduction;
}

}  // namespace weft::c
