// The objects of the program that use a runtime or one of its devices, for the line that names one which is
// still there at the end.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace weft::detail {

/// The objects that layers above the core have noted. Any thread.
class RuntimeUsers {
 public:
  static constexpr int kNoDevice = -1;

  /// `object`: "Collective (engine 255)". `device`: the device whose endpoint, or stream, it uses. Returns a
  /// number for remove().
  std::uint64_t add(std::string object, int device);
  void remove(std::uint64_t number) noexcept;
  [[nodiscard]] std::string name(std::uint64_t number) const;
  /// The name of the object that was noted last, which usually is made of those before it; of a device, or of
  /// any. Empty: there is none.
  [[nodiscard]] std::string last(int device = kNoDevice) const;

 private:
  struct User {
    std::string object;
    int device;
  };
  mutable std::mutex mutex_;  // guards the members below
  std::map<std::uint64_t, User> users_;
  std::uint64_t next_ = 0;
};

/// Ends the program with one line: `owner` is destroyed while `user` still uses it. Both in the words of the
/// program: "Runtime (rank 0 of 2, job 1f)", "Endpoint (device 3)".
[[noreturn]] void refuse_early_end(const std::string& owner, const std::string& user) noexcept;

}  // namespace weft::detail
