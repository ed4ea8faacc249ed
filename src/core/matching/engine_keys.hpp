// The keys of a matching engine: of rank and tag, or as the program's function makes them.
#pragma once

#include "core/matching/table/match_key.hpp"

#include <weft/options.hpp>

#include <cstdint>

namespace weft::core {

/// Computes the key of MatchingPolicy::user.
using KeyFunction = std::uint64_t (*)(int rank, std::uint64_t tag, const void* context) noexcept;

class EngineKeys {
 public:
  /// The bits of a tag that every policy compares; 0 unless the engine is that of contexts.
  void set_always(std::uint64_t bits) noexcept { always_ = bits; }
  void set_function(KeyFunction function, const void* context) noexcept {
    function_ = function;
    context_ = context;
  }
  [[nodiscard]] bool has_function() const noexcept { return function_ != nullptr; }

  /// Returns the key of a receive or send. For MatchingPolicy::user it contains what the key function makes
  /// of rank and tag.
  [[nodiscard]] MatchKey of(int rank, std::uint64_t tag, MatchingPolicy policy) const noexcept {
    if (policy == MatchingPolicy::user) [[unlikely]]
      tag = of_user(rank, tag);
    return arrived(rank, tag, policy);
  }
  /// Returns the key of an incoming message, whose sender has computed the key of MatchingPolicy::user and
  /// sent it as the tag.
  [[nodiscard]] MatchKey arrived(int rank, std::uint64_t tag, MatchingPolicy policy) const noexcept {
    const bool by_tag = policy != MatchingPolicy::rank_only && policy != MatchingPolicy::any;
    const bool by_rank = policy == MatchingPolicy::rank_and_tag || policy == MatchingPolicy::rank_only;
    return {by_tag ? tag : tag & always_, by_rank ? static_cast<std::uint32_t>(rank) : 0,
            static_cast<std::uint32_t>(policy)};
  }
  [[nodiscard]] std::uint64_t of_user(int rank, std::uint64_t tag) const noexcept {
    return function_ != nullptr ? function_(rank, tag, context_) : tag;
  }

 private:
  KeyFunction function_ = nullptr;
  const void* context_ = nullptr;
  std::uint64_t always_ = 0;
};

}  // namespace weft::core
