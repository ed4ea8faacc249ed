// A collective as a graph.
#pragma once

#include "collective/collective_context.hpp"

#include <weft/completion/graph.hpp>

#include <atomic>
#include <deque>
#include <memory>
#include <source_location>
#include <span>
#include <vector>

namespace weft::collective {

/// A collective that is laid out as a graph. It is also the `Steps` object from which it is built
/// (kinds/steps.hpp).
class CollectiveRun {
 public:
  CollectiveRun(CollectiveContext& context, const detail::CollectiveCall& call);
  /// One that cannot end may be destroyed: its receives may still be filled, so the context keeps their
  /// memory.
  ~CollectiveRun();

  [[nodiscard]] const detail::CollectiveCall& call() const noexcept { return call_; }
  [[nodiscard]] CollectiveContext& context() noexcept { return context_; }
  [[nodiscard]] Graph& graph() noexcept { return graph_; }
  /// Returns true once it has been started; then number() is that of its last run. Any thread.
  [[nodiscard]] bool has_begun() const noexcept { return number() != kNotStarted; }
  [[nodiscard]] std::uint64_t number() const noexcept { return number_.load(std::memory_order_acquire); }
  /// The ranks with which it exchanges messages.
  [[nodiscard]] std::span<const int> peers() const noexcept { return peers_; }
  /// `where`: the line of the program's call.
  void start(const std::source_location& where);
  /// The run cannot end by itself: takes back what has been posted and still waits, so that it ends, with
  /// this outcome. Any thread that may post.
  void abandon(Outcome outcome) noexcept;
  /// Progresses until the end of the run, or the timeout of the context, and returns the outcome; throws
  /// weft::Error for a message of another length, and for ranks that have called different collectives.
  Outcome wait();

  [[nodiscard]] Algorithm algorithm() const noexcept { return context_.algorithms().of(call_); }
  [[nodiscard]] const TeamHosts& hosts() const noexcept { return context_.algorithms().hosts(); }
  void begin_segment();
  void send(int peer, Bytes bytes, std::uint32_t step);
  void receive(int peer, std::span<std::byte> buffer, std::uint32_t step, bool early);
  [[nodiscard]] std::byte* receive_part(int peer, std::size_t bytes, std::uint32_t step) {
    std::byte* part = scratch(bytes);
    receive(peer, {part, bytes}, step, true);
    return part;
  }
  void join();
  void compute(std::byte* to, const std::byte* a, const std::byte* b, std::size_t elements);
  void copy(std::byte* to, const std::byte* from, std::size_t bytes);
  [[nodiscard]] std::byte* scratch(std::size_t bytes);

 private:
  [[nodiscard]] std::uint64_t tag_of(std::uint64_t segment, std::uint32_t step) const noexcept {
    return context_.tag_of(number(), call_) | context_.tags().step_tag(segment, step);
  }
  /// A send or a receive, by which it is taken back.
  struct Operation {
    SendHandle send;
    ReceiveHandle receive;
    std::atomic<bool> is_posted{false};  // in this run
  };
  Status note_posted(Operation& operation, Status status) noexcept;
  void take_back(const Operation& operation) noexcept;
  void progress_until_taken_back() noexcept;
  void after_last(Graph::Node node);
  void note_peer(int peer);
  /// The outcome of a message; that of the run where it has been taken back.
  [[nodiscard]] Outcome end_of(const Message& message) const noexcept;
  [[nodiscard]] Outcome judge(const Message& message, std::size_t expected) noexcept;

  /// The lists of a call, which the caller keeps only until the call that makes the run returns.
  struct Lists {
    explicit Lists(const detail::CollectiveCall& call)
        : from_counts(call.from_counts.begin(), call.from_counts.end()),
          to_counts(call.to_counts.begin(), call.to_counts.end()),
          from_displacements(call.from_displacements.begin(), call.from_displacements.end()),
          to_displacements(call.to_displacements.begin(), call.to_displacements.end()),
          sources(call.sources.begin(), call.sources.end()),
          destinations(call.destinations.begin(), call.destinations.end()) {}
    std::vector<std::size_t> from_counts;
    std::vector<std::size_t> to_counts;
    std::vector<std::size_t> from_displacements;
    std::vector<std::size_t> to_displacements;
    std::vector<int> sources;
    std::vector<int> destinations;
  };

  CollectiveContext& context_;
  const Lists lists_;
  detail::CollectiveCall call_;  // `where` changes with each start
  std::vector<int> peers_;
  std::vector<std::unique_ptr<std::byte[]>> scratch_;
  static constexpr std::uint64_t kNotStarted = ~std::uint64_t{0};
  std::atomic<std::uint64_t> number_{kNotStarted};  // of the run
  std::atomic<bool> has_mismatch_{false};
  Mismatch mismatch_;
  std::deque<Operation> operations_;                 // which do not move
  std::atomic<Outcome> abandoned_for_{Outcome::ok};  // ok: not abandoned
  // Used while the graph is built.
  Graph::Node begin_;               // numbers the run; precedes all other nodes
  std::vector<Graph::Node> last_;   // the predecessors of the next step
  std::vector<Graph::Node> group_;  // the nodes since the last join
  std::vector<Graph::Node> ends_;   // the last nodes of earlier segments
  bool has_early_ = false;          // group_ has an early receive
  std::uint64_t segment_ = 0;
  std::uint64_t segments_ = 0;
  Graph graph_;  // its nodes use the members above
};

}  // namespace weft::collective
