#include "bootstrap/local/socket.hpp"

#include <weft/error.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

namespace weft::bootstrap::local {
namespace {

struct Address {
  sockaddr_un storage{};
  socklen_t length = 0;

  explicit Address(std::string_view name) {
    if (name.empty() || name.size() >= sizeof storage.sun_path) {
      throw Error("the launcher's socket name \"" + std::string(name) +
                  "\" is not valid: it must have 1 to " + std::to_string(sizeof storage.sun_path - 1) +
                  " characters");
    }
    storage.sun_family = AF_UNIX;
    std::memcpy(storage.sun_path + 1, name.data(),
                name.size());  // a leading zero byte makes the name abstract
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&storage); }
};

Descriptor open_socket(int flags) {
  Descriptor descriptor{::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | flags, 0)};
  if (!descriptor) throw Error(std::string("a unix socket cannot be opened: ") + std::strerror(errno));
  return descriptor;
}

}  // namespace

Descriptor::~Descriptor() { close(); }

void Descriptor::close() {
  if (number_ >= 0) ::close(number_);
  number_ = -1;
}

Descriptor listen_abstract(std::string_view name) {
  const Address address{name};
  Descriptor descriptor = open_socket(SOCK_NONBLOCK);
  if (::bind(descriptor.get(), address.get(), address.length) != 0 ||
      ::listen(descriptor.get(), SOMAXCONN) != 0) {
    throw Error("the launcher's socket \"" + std::string(name) +
                "\" cannot be opened: " + std::strerror(errno));
  }
  return descriptor;
}

Descriptor connect_abstract(std::string_view name) {
  const Address address{name};
  Descriptor descriptor = open_socket(0);
  int result = 0;
  do {
    result = ::connect(descriptor.get(), address.get(), address.length);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    throw Error("the launcher named by WEFT_BOOTSTRAP=" + std::string(name) + " cannot be reached (" +
                std::strerror(errno) +
                "): its `weft run` has ended, or the variable was inherited from another job");
  }
  if (!peer_is_same_user(descriptor.get())) {
    throw Error("the launcher named by WEFT_BOOTSTRAP=" + std::string(name) + " belongs to another user");
  }
  return descriptor;
}

bool peer_is_same_user(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
         credentials.uid == ::geteuid();
}

}  // namespace weft::bootstrap::local
