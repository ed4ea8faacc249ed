// SIGUSR1 as a descriptor that becomes readable.
#pragma once

namespace weft::core {

/// While one of these lives, SIGUSR1 makes its descriptor readable instead of ending the process. A handler
/// belongs to the whole process, so what is behind these objects does as well: the handler is installed with
/// the first and removed with the last, and only where the program has none of its own.
///
/// The handler does nothing but write(2) to event descriptors, which stay open as long as the process
/// (signals may be on their way), to be used again.
class SignalNotice {
 public:
  /// `hears` false: only notify() makes it readable.
  explicit SignalNotice(bool hears);
  ~SignalNotice();
  SignalNotice(const SignalNotice&) = delete;
  SignalNotice& operator=(const SignalNotice&) = delete;

  /// Whether SIGUSR1 is heard: false where the program handles or ignores it itself.
  [[nodiscard]] bool is_heard() const noexcept { return is_heard_; }
  /// To be polled for POLLIN; also used by notify(). Negative: the process has no descriptor left.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_; }
  /// Makes it readable. Any thread.
  void notify() const noexcept;
  /// Makes it unreadable.
  void clear() const noexcept;

 private:
  int place_ = -1;
  int descriptor_ = -1;
  bool is_heard_ = false;
};

}  // namespace weft::core
