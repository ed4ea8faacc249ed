// SIGUSR1 as a descriptor that becomes readable.
#pragma once

namespace weft::core {

/// While an object of this class exists, SIGUSR1 makes its descriptor readable instead of ending the process.
/// A handler belongs to the whole process, so the data behind these objects do as well: the handler is
/// installed with the first object and removed with the last, and only where the program has none of its own.
///
/// The handler does nothing but write(2) to event descriptors. These stay open as long as the process,
/// because signals may be in transit, and are reused.
class SignalNotice {
 public:
  /// `hears` false: only notify() makes the descriptor readable.
  explicit SignalNotice(bool hears);
  ~SignalNotice();
  SignalNotice(const SignalNotice&) = delete;
  SignalNotice& operator=(const SignalNotice&) = delete;

  /// Returns true when SIGUSR1 is heard; false where the program handles or ignores it itself.
  [[nodiscard]] bool is_heard() const noexcept { return is_heard_; }
  /// The descriptor, to be polled for POLLIN; notify() uses it too. Negative: the process has no descriptor
  /// left.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Makes the descriptor readable. Any thread.
  void notify() const noexcept;
  /// Makes the descriptor unreadable.
  void clear() const noexcept;

 private:
  int slot_ = -1;
  int descriptor_ = -1;
  bool is_heard_ = false;
};

}  // namespace weft::core
