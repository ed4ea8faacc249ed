// Waits that a layer above weft knows of, for explanations.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>
#include <span>

namespace weft::detail {

/// A wait as a layer describes it: of a task, or of a thread that sleeps for it; or a note about its state.
struct DescribedWait {
  const char* what = "";  ///< a phrase, "value 3 of channel 7"; read before the call returns
  const char* file = "";
  const char* function = "";
  std::uint32_t line = 0;  ///< 0: unknown
  std::int32_t peer = -1;  ///< the rank that is waited for, if known
  std::uint32_t number = 0;
  bool is_task = false;
  std::int64_t since = 0;  ///< nanoseconds of the steady clock
  bool is_note = false;    ///< `what` is a sentence about the layer, and nothing else has a meaning
};

/// A message, or what a receive asks for.
struct MessageKey {
  std::uint32_t engine = 0;
  std::int32_t peer = -1;  ///< -1: any
  std::uint64_t tag = 0;
  std::uint64_t tag_mask = 0;  ///< the bits of the tag that count
};

/// What a layer knows of a wait of weft that it has called.
struct WaitDetail {
  /// The wait is for these operations only, of those that signal its completion object: a tag under a mask,
  /// and a peer (-1: any).
  bool has_tag = false;
  std::uint64_t tag = 0, tag_mask = ~std::uint64_t{0};
  std::int32_t peer = -1;
  /// The wait is a step that all members of a sequence take in the same order: the sequence (0: none), the
  /// number of the step, and what the step is.
  std::uint64_t sequence = 0;
  std::uint64_t step = 0;
  const char* step_name = "";
};

/// How far this rank has come in a sequence of steps that all its members take in the same order.
struct SequenceState {
  std::uint64_t sequence = 0;
  std::uint64_t steps = 0;
  const char* name = "";  ///< of the sequence; read before the call returns
  const char* last = "";  ///< what the last step is or was
};

/// Where explanations of the runtimes of its rank (docs/guide/diagnosis.md) find further waits.
class WEFT_API WaitSource {
 public:
  /// Calls add(context, wait) for every wait. Any thread, one at a time.
  virtual void list(void (*add)(void* context, const DescribedWait& wait), void* context) = 0;
  /// Tells what the layer knows of the wait whose WaitDescription::what is this text, compared as an address.
  /// The wait does not end meanwhile. Returns false for waits that are not the layer's.
  virtual bool find_detail(const char* what, WaitDetail& detail);
  /// Puts the layer's words for the tag of a message into `text`, with a zero behind them. Returns false
  /// where it has none.
  virtual bool name_tag(const MessageKey& message, std::span<char> text);
  /// Calls add(context, state) for every sequence.
  virtual void list_sequences(void (*add)(void* context, const SequenceState& state), void* context);
  [[nodiscard]] int rank() const noexcept { return rank_; }

 protected:
  explicit WaitSource(int rank) noexcept : rank_(rank) {}
  ~WaitSource() = default;
  /// From here on list() may be called, until remove() has returned.
  void enter();
  void remove() noexcept;

 private:
  int rank_;
};

/// Calls source.list() for all sources of the rank.
void list_waits_of_layers(int rank, void (*add)(void* context, const DescribedWait& wait), void* context);
/// Asks the sources of the rank until one knows the wait, or the tag.
[[nodiscard]] bool find_detail_in_layers(int rank, const char* what, WaitDetail& detail);
[[nodiscard]] bool name_tag_by_layers(int rank, const MessageKey& message, std::span<char> text);
/// Calls source.list_sequences() for all sources of the rank.
void list_sequences_of_layers(int rank, void (*add)(void* context, const SequenceState& state),
                              void* context);

}  // namespace weft::detail
