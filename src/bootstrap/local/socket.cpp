#include "bootstrap/local/socket.hpp"

#include <weft/error.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <string>

#include "base/system_call.hpp"

namespace weft::bootstrap::local {
namespace {

struct Address {
  sockaddr_un storage{};
  socklen_t length = 0;

  explicit Address(std::string_view name) {
    if (name.empty() || name.size() >= sizeof storage.sun_path) {
      throw Error(ErrorClass::job, "the launcher's socket name \"" + std::string(name) +
                                       "\" is not valid: it must have 1 to " +
                                       std::to_string(sizeof storage.sun_path - 1) + " characters");
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
  if (!descriptor)
    throw Error(ErrorClass::job, "a unix socket cannot be opened: " + base::failed_call("socket", errno));
  return descriptor;
}

}  // namespace

ssize_t send_parts(int socket, iovec* parts, std::size_t count, int descriptor, int flags) {
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = count;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof descriptor)] = {};
  if (descriptor >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* const rights = CMSG_FIRSTHDR(&message);
    rights->cmsg_level = SOL_SOCKET;
    rights->cmsg_type = SCM_RIGHTS;
    rights->cmsg_len = CMSG_LEN(sizeof descriptor);
    std::memcpy(CMSG_DATA(rights), &descriptor, sizeof descriptor);
  }
  return ::sendmsg(socket, &message, flags | MSG_NOSIGNAL);
}

ssize_t receive_part(int socket, void* target, std::size_t bytes, Descriptor& passed, int flags) {
  iovec part{target, bytes};
  msghdr message{};
  message.msg_iov = &part;
  message.msg_iovlen = 1;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  const ssize_t count = ::recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
  if (count < 0) return count;
  for (cmsghdr* rights = CMSG_FIRSTHDR(&message); rights != nullptr; rights = CMSG_NXTHDR(&message, rights)) {
    if (rights->cmsg_level != SOL_SOCKET || rights->cmsg_type != SCM_RIGHTS ||
        rights->cmsg_len < CMSG_LEN(sizeof(int)))
      continue;
    int descriptor = -1;
    std::memcpy(&descriptor, CMSG_DATA(rights), sizeof descriptor);
    passed = Descriptor{descriptor};
  }
  if ((message.msg_flags & MSG_CTRUNC) != 0 && !passed) {
    errno = EMFILE;
    return -1;
  }
  return count;
}

Descriptor listen_abstract(std::string_view name) {
  const Address address{name};
  Descriptor descriptor = open_socket(SOCK_NONBLOCK);
  if (::bind(descriptor.get(), address.get(), address.length) != 0 ||
      ::listen(descriptor.get(), SOMAXCONN) != 0) {
    throw Error(ErrorClass::job, "the launcher's socket \"" + std::string(name) +
                                     "\" cannot be opened: " + base::failed_call("bind", errno));
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
    throw Error(ErrorClass::job,
                "the launcher named by WEFT_BOOTSTRAP=" + std::string(name) +
                    " cannot be reached: " + base::failed_call("connect", errno) +
                    (errno == ECONNREFUSED
                         ? "; no socket has this name in the network namespace of this process: "
                           "that is another one than its `weft run` has, or its `weft run` has ended"
                         : ""));
  }
  if (!peer_is_same_user(descriptor.get())) {
    throw Error(ErrorClass::job,
                "the launcher named by WEFT_BOOTSTRAP=" + std::string(name) + " belongs to another user");
  }
  return descriptor;
}

Descriptor connect_launcher(std::string_view name, const std::string& inherited) {
  int number = -1;
  unsigned long long inode = 0;
  struct stat status {};
  // A program in between may have closed the socket, and its number may belong to another file.
  if (std::sscanf(inherited.c_str(), "%d:%llu", &number, &inode) != 2 || ::fstat(number, &status) != 0 ||
      !S_ISSOCK(status.st_mode) || status.st_ino != inode)
    return connect_abstract(name);
  int ends[2] = {-1, -1};
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw Error(ErrorClass::job,
                "a connection to the launcher cannot be made: " + base::failed_call("socketpair", errno));
  Descriptor own{ends[0]};
  const Descriptor theirs{ends[1]};
  char byte = 0;
  iovec part{&byte, sizeof byte};
  ssize_t sent = 0;
  do {
    sent = send_parts(number, &part, 1, theirs.get(), 0);
  } while (sent < 0 && errno == EINTR);
  if (sent < 0)
    throw Error(ErrorClass::job, "a connection to the launcher (`weft run`) cannot be made: " +
                                     base::failed_call("sendmsg", errno) +
                                     (errno == EPIPE ? "; it has ended" : ""));
  return own;
}

int peer_process(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 ? credentials.pid : 0;
}

bool peer_is_same_user(int socket) {
  ucred credentials{};
  socklen_t length = sizeof credentials;
  return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &credentials, &length) == 0 &&
         credentials.uid == ::geteuid();
}

}  // namespace weft::bootstrap::local
