// Waits that a layer above weft knows of, for explanations.
#pragma once

#include <weft/detail/export.hpp>

#include <cstdint>

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

/// Where explanations of the runtimes of its rank (docs/guide/diagnosis.md) find further waits.
class WEFT_API WaitSource {
 public:
  /// Calls add(context, wait) for every wait. Any thread, one at a time.
  virtual void list(void (*add)(void* context, const DescribedWait& wait), void* context) = 0;
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

}  // namespace weft::detail
