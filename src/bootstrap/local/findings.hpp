// What the server has found out about ranks, until its owner takes it.
#pragma once

#include <cstddef>
#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace weft::bootstrap::local {

class Findings {
 public:
  /// `size`: of the job.
  explicit Findings(int size) : is_known_unfinished_(static_cast<std::size_t>(size), false) {}

  /// A rank that has ended without a step that other ranks of the job need: it has not joined, or not left in
  /// order.
  struct Unfinished {
    int rank;
    /// True: the rank had joined and did not leave; false: it has never joined, though `other` has.
    bool has_joined;
    int other;
    /// The rank's connection had ended long before the process did.
    bool is_cut_off = false;
  };
  /// A rank that has been declared failed because another one could not reach it, although its process runs.
  struct Unreachable {
    int rank;
    int by;
    std::string why;
  };
  /// A rank that differs from others in what all must agree on; it takes part no more.
  struct Refused {
    int rank;
    std::string why;
  };
  struct Abort {
    int rank;
    int code;
    std::string reason;
  };
  struct Loss {
    int rank;
    std::string what;
  };

  // For the owner of the server.

  /// Returns each unfinished rank once, the next one that has been found.
  std::optional<Unfinished> take_unfinished() { return take(unfinished_); }
  /// Returns each such rank once; its process should be ended.
  std::optional<Unreachable> take_unreachable() { return take(unreachable_); }
  /// Returns each such rank once.
  std::optional<Refused> take_refused() { return take(refused_); }
  /// The first request of a rank to end the job.
  [[nodiscard]] const std::optional<Abort>& aborted() const { return aborted_; }
  /// Losses: messages that ranks had accepted for ranks that have failed, and that have not arrived.
  [[nodiscard]] const std::vector<Loss>& losses() const { return losses_; }

  // For the server.

  /// Adds the rank unless it is known as unfinished already.
  void add(const Unfinished& rank);
  void add(Unreachable rank) { unreachable_.push_back(std::move(rank)); }
  void add(Refused rank) { refused_.push_back(std::move(rank)); }
  void add(Loss loss) { losses_.push_back(std::move(loss)); }
  /// A rank asks for the end of the job, with the code that its process would end with.
  void abort(int rank, int code, std::string reason);

 private:
  template <class Finding>
  static std::optional<Finding> take(std::deque<Finding>& found) {
    if (found.empty()) return std::nullopt;
    std::optional<Finding> next(std::move(found.front()));
    found.pop_front();
    return next;
  }

  std::optional<Abort> aborted_;
  std::deque<Unfinished> unfinished_;
  std::vector<bool> is_known_unfinished_;  // by rank
  std::vector<Loss> losses_;
  std::deque<Unreachable> unreachable_;
  std::deque<Refused> refused_;
};

}  // namespace weft::bootstrap::local
