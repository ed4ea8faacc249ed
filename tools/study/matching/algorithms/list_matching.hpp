// One list of receives and one of messages, as in MPICH.
#pragma once

#include <vector>

#include "study/matching/algorithms/item_list.hpp"

namespace weft::tools::study {

/// Posted receives in one list, waiting messages in another, in the order in which they came; both are
/// searched from the front. Wildcards need no care, and a search costs what lies before its match.
class ListMatching final : public MatchingAlgorithm {
 public:
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
    ItemLinks links;
  };
  struct Message {
    MatchEnvelope envelope;
    ItemLinks links;
  };

  std::vector<Receive> receives_;
  std::vector<Message> messages_;
  ItemList<Receive> posted_;
  ItemList<Message> waiting_;
};

}  // namespace weft::tools::study
