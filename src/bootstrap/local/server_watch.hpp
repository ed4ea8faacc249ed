// Notices that the process with the server has ended, in jobs in which that is a rank's.
#pragma once

#include <sys/types.h>

#include <functional>
#include <thread>

#include "base/descriptor.hpp"

namespace weft::bootstrap::local {

/// A thread that sleeps until the connection is closed at the other end, and then calls `lost` once.
class ServerWatch {
 public:
  /// `socket` stays open until the destructor has returned. Throws weft::Error.
  ServerWatch(int socket, std::function<void()> lost);
  ~ServerWatch();
  ServerWatch(const ServerWatch&) = delete;
  ServerWatch& operator=(const ServerWatch&) = delete;

 private:
  base::Descriptor stop_;
  const pid_t process_;
  std::thread thread_;
};

}  // namespace weft::bootstrap::local
