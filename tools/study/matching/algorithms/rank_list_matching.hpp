// A list for each source, as in Open MPI.
#pragma once

#include <vector>

#include "study/matching/algorithms/item_list.hpp"

namespace weft::tools::study {

/// Receives that name their source lie in a list of that source; those from any source in a list of their
/// own. Receives are numbered as they are posted, and an arrival walks both lists together in the order of
/// these numbers: it meets exactly the receives of the one list for all that could be meant for its source.
///
/// A waiting message is in the list of its source and in the list of all messages. A receive from any source
/// searches the latter: it looks at the messages that arrived before its match and at no others, however
/// many ranks there are, where a search of each source would look at one of every rank at least.
class RankListMatching final : public MatchingAlgorithm {
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
    std::uint64_t number = 0;  ///< in the order of posting
    ItemLinks links;
  };
  struct Message {
    MatchEnvelope envelope;
    ItemLinks links;  ///< among the messages of its source
    ItemLinks links_in_all;
  };
  struct Source {
    ItemList<Receive> posted;
    ItemList<Message> waiting;
  };

  [[nodiscard]] ItemList<Receive>& list_of(const MatchPattern& pattern) noexcept;

  std::vector<Receive> receives_;
  std::vector<Message> messages_;
  std::vector<Source> sources_;
  ItemList<Receive> from_any_source_;
  ItemList<Message, &Message::links_in_all> all_messages_;
  std::uint64_t posted_ = 0;
};

}  // namespace weft::tools::study
