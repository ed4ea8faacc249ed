// The descriptors that ranks lend to one another through the server.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "bootstrap/local/socket.hpp"

namespace weft::bootstrap::local {

class Loans {
 public:
  /// A rank in an instance of the job.
  struct Lender {
    std::uint32_t instance;
    int rank;
    friend auto operator<=>(const Lender&, const Lender&) = default;
  };

  /// `most`: descriptors, of all ranks.
  explicit Loans(std::size_t most) : most_(most) {}

  /// Lends the descriptor under the key, in place of an earlier one. Returns false when there is no room for
  /// another one.
  bool lend(const Lender& lender, std::string key, Descriptor descriptor);
  void take_back(const Lender& lender, std::string_view key);
  /// Takes back all that the rank has lent.
  void take_back_all(const Lender& lender);
  /// Null: nothing is lent under the key.
  [[nodiscard]] std::shared_ptr<const Descriptor> find(const Lender& lender, std::string_view key) const;

 private:
  /// The key of a loan, or a view of one: loans of a lender lie together.
  using Name = std::pair<Lender, std::string>;
  using NameView = std::pair<Lender, std::string_view>;
  struct Less {
    using is_transparent = void;
    template <class Left, class Right>
    bool operator()(const Left& left, const Right& right) const {
      return NameView(left.first, left.second) < NameView(right.first, right.second);
    }
  };

  std::map<Name, std::shared_ptr<const Descriptor>, Less> lent_;
  const std::size_t most_;
};

}  // namespace weft::bootstrap::local
