#pragma once

#include <string_view>
#include <utility>

namespace weft::bootstrap::local {

/// Owns a file descriptor.
class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~Descriptor();

  int get() const { return number_; }
  explicit operator bool() const { return number_ >= 0; }
  void close();

 private:
  int number_ = -1;
};

/// Both throw weft::Error. The sockets are closed on exec.
Descriptor listen_abstract(std::string_view name);   // does not block in accept
Descriptor connect_abstract(std::string_view name);  // blocks; the listener belongs to the same user

/// True when the process at the other end belongs to this process's user.
bool peer_is_same_user(int socket);

}  // namespace weft::bootstrap::local
