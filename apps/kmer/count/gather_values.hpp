// Values of all ranks.
#pragma once

#include "count/exchange.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace kmer {

/// Returns the contributions of all ranks, in rank order. Collective, see Exchange::allgather().
template <class Value>
std::vector<Value> gather_values(Exchange& exchange, const Value& mine) {
  static_assert(std::is_trivially_copyable_v<Value>);
  std::vector<Value> all;
  for (const std::string& bytes :
       exchange.allgather(std::string_view(reinterpret_cast<const char*>(&mine), sizeof mine))) {
    Value& value = all.emplace_back();
    std::memcpy(&value, bytes.data(), std::min(sizeof value, bytes.size()));
  }
  return all;
}

}  // namespace kmer
