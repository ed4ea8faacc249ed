#include "bootstrap/local/server_watch.hpp"

#include <weft/error.hpp>

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <utility>

#include "base/signals_blocked.hpp"
#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"

namespace weft::bootstrap::local {

ServerWatch::ServerWatch(int socket, std::function<void()> lost)
    : stop_(::eventfd(0, EFD_CLOEXEC)), process_(::getpid()) {
  if (!stop_)
    throw Error(ErrorClass::job,
                "the server of the job cannot be watched: " + base::failed_call("eventfd", errno));
  const base::SignalsBlocked inherited;
  thread_ = std::thread([socket, stop = stop_.get(), lost = std::move(lost)] {
    pollfd waits[] = {{stop, POLLIN, 0}, {socket, POLLRDHUP, 0}};
    base::uninterrupted([&waits] { return ::poll(waits, 2, -1); });
    const bool is_closed = (waits[1].revents & (POLLRDHUP | POLLHUP | POLLERR)) != 0;
    if (waits[0].revents == 0 && is_closed) lost();
  });
}

ServerWatch::~ServerWatch() {
  if (::getpid() != process_) {  // the copy of a process after fork() has no such thread
    thread_.detach();
    return;
  }
  const std::uint64_t one = 1;
  static_cast<void>(!::write(stop_.get(), &one, sizeof one));
  thread_.join();
}

}  // namespace weft::bootstrap::local
