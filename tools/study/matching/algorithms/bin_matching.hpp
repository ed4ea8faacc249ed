// Hashed lists, as Flajslik et al. and UCX have them.
#pragma once

#include <cstddef>
#include <vector>

#include "study/matching/algorithms/item_list.hpp"

namespace weft::tools::study {

/// Receives without wildcards and waiting messages lie in lists, the bins, by a hash of source and tag.
///
/// Receives with wildcards have a list of their own. An arrival searches its bin, and then the list of
/// wildcards as far as that was posted before what the bin had: numbers in the order of posting decide.
/// A waiting message is in the list of all messages as well, which receives with wildcards search.
///
/// See M. Flajslik et al., "Mitigating MPI Message Matching Misery" (ISC 2016).
class BinMatching final : public MatchingAlgorithm {
 public:
  static constexpr std::size_t kBins = 256;
  static constexpr std::size_t kMostBins = std::size_t{1} << 24;

  /// Throws weft::Error unless `bins` is between 1 and kMostBins.
  explicit BinMatching(std::size_t bins = kBins);

  void reserve(Item items, int ranks) override;
  [[nodiscard]] Found take_receive(const MatchEnvelope& message) noexcept override;
  void add_message(Item message, const MatchEnvelope& envelope) noexcept override;
  [[nodiscard]] Found take_message(const MatchPattern& receive) noexcept override;
  void add_receive(Item receive, const MatchPattern& pattern) noexcept override;
  [[nodiscard]] Found find_message(const MatchPattern& receive) const noexcept override;
  void remove_receive(Item receive) noexcept override;
  void remove_message(Item message) noexcept override;

 private:
  struct Receive {
    MatchPattern pattern;
    std::uint64_t number = 0;  ///< in the order of posting
    ItemLinks links;
  };
  struct Message {
    MatchEnvelope envelope;
    ItemLinks links;  ///< in its bin
    ItemLinks links_in_all;
  };
  struct Bin {
    ItemList<Receive> posted;
    ItemList<Message> waiting;
  };

  [[nodiscard]] std::size_t bin_of(int source, std::uint64_t tag) const noexcept;
  [[nodiscard]] ItemList<Receive>& list_of(const MatchPattern& pattern) noexcept;

  std::vector<Receive> receives_;
  std::vector<Message> messages_;
  std::vector<Bin> bins_;
  ItemList<Receive> with_wildcards_;
  ItemList<Message, &Message::links_in_all> all_messages_;
  std::uint64_t posted_ = 0;
};

}  // namespace weft::tools::study
