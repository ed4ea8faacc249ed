#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "base/descriptor.hpp"

namespace weft::bootstrap::local {

using base::Descriptor;

/// Open sockets, which are closed on exec. Both functions throw weft::Error.
Descriptor listen_abstract(std::string_view name);   // does not block in accept
Descriptor connect_abstract(std::string_view name);  // blocks; the listener belongs to the same user
/// Connects by the socket that this process has inherited from the launcher ("descriptor:inode"), which works
/// from any network namespace and for any user; if a program in between has closed that socket, by its name.
Descriptor connect_launcher(std::string_view name, const std::string& inherited);

/// sendmsg() with a descriptor that travels with the first byte; negative: none.
ssize_t send_parts(int socket, iovec* parts, std::size_t count, int descriptor, int flags);
/// recv() with a descriptor: `passed` gets the one that has come, closed on exec. EMFILE: a descriptor came,
/// but this process may not have so many open files.
ssize_t receive_part(int socket, void* target, std::size_t bytes, Descriptor& passed, int flags);

/// Returns true when the process at the other end belongs to this process's user.
bool peer_is_same_user(int socket);
/// Returns the number of the process that connected; 0 when it has none in this pid namespace.
int peer_process(int socket);

}  // namespace weft::bootstrap::local
