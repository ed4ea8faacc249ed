// How a thread attends to streams of others.
#pragma once

#include <array>
#include <cstddef>

namespace weft::stream {

/// Takes streams over that nobody is inside, uses them, and gives them back, by one barrier in all threads of
/// the process for all of them. A stream has a `gate`, and is `shared` if any number of threads may use it.
///
/// The threads are a parameter so that tests can drive schedules.
template <class Threads, class Stream, std::size_t kMost>
class Attendance {
 public:
  /// At most kMost times. Without effect when another thread has taken the stream over.
  void take(Stream& stream) noexcept {
    if (stream.shared || stream.gate.try_take()) taken_[count_++] = &stream;
  }
  /// Calls use(stream) for each stream that was taken and that nobody is inside. Returns the sum of what it
  /// returns.
  template <class Use>
  std::size_t finish(const Use& use) noexcept {
    // Pairs with the fence of the compiler in StreamGate::enter().
    if (count_ != 0) Threads::barrier();
    std::size_t done = 0;
    for (std::size_t index = 0; index < count_; ++index) {
      Stream& stream = *taken_[index];
      if (stream.shared) {
        done += use(stream);
        continue;
      }
      if (stream.gate.is_left()) done += use(stream);
      stream.gate.give_back();
    }
    count_ = 0;
    return done;
  }

 private:
  std::array<Stream*, kMost> taken_;
  std::size_t count_ = 0;
};

}  // namespace weft::stream
