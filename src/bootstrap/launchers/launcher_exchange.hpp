// What a launcher of the field gives the ranks that it has started: rank, size, and one exchange of small
// data.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/clock.hpp"

namespace weft::bootstrap::contact {

/// Most bytes that a rank gives to the exchange.
inline constexpr std::size_t kMostBytes = 700;
inline constexpr std::size_t kLongestReport = 640;

using Cards = std::vector<std::vector<std::byte>>;  // by rank

class Contact {
 public:
  Contact() = default;
  Contact(const Contact&) = delete;
  Contact& operator=(const Contact&) = delete;
  virtual ~Contact() = default;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;
  /// Gives the own bytes to all ranks and returns those of all, once. Throws weft::Error when it has not
  /// ended at the deadline, which names the ranks that have not come as far as the launcher tells.
  virtual Cards exchange(std::span<const std::byte> own, const base::Deadline& deadline) = 0;
  /// A second exchange, after the first: every rank calls it once, those of `from` give a text of at most
  /// kLongestReport bytes, and all ranks get these in the order of `from`. Throws as exchange() does.
  virtual std::vector<std::string> report(const std::vector<int>& from, const std::string& own,
                                          const base::Deadline& deadline) = 0;
  /// No second exchange follows.
  virtual void end_exchanges() {}
};

/// "1, 2 and 5", the first of many.
std::string list_ranks(const std::vector<int>& ranks);

}  // namespace weft::bootstrap::contact
