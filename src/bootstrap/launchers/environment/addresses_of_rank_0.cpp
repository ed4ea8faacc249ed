#include "bootstrap/launchers/environment/addresses_of_rank_0.hpp"

#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include <weft/error.hpp>

#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr auto kBeforeNextConnect = std::chrono::milliseconds(100);

using Found = std::unique_ptr<addrinfo, void (*)(addrinfo*)>;

/// The addresses of the host at which rank 0 is to be; `failure`: of getaddrinfo().
Found resolve(const EnvironmentJob& job, int& failure) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  failure = ::getaddrinfo(job.host.c_str(), std::to_string(job.port).c_str(), &hints, &found);
  return {failure == 0 ? found : nullptr, ::freeaddrinfo};
}

}  // namespace

std::vector<sockets::Address> addresses_of(const EnvironmentJob& job) {
  const auto all = sockets::list_interfaces();
  std::vector<sockets::Address> addresses;
  std::exception_ptr wrong;
  try {
    addresses =
        sockets::addresses_to_listen_at(sockets::select_interfaces(all, job.interfaces), job.interfaces);
    if (addresses.empty()) return addresses;
  } catch (const Error&) {
    wrong = std::current_exception();  // rank 0 cannot join, and tells the others why, where they come to
  }
  int failure = 0;
  const Found given = resolve(job, failure);
  for (const addrinfo* each = given.get(); each != nullptr; each = each->ai_next)
    for (const sockets::Interface& own : all) {
      std::array<char, NI_MAXHOST> text{};
      if (::getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                        NI_NUMERICHOST) == 0 &&
          to_text(own.address) == text.data() && std::ranges::find(addresses, own.address) == addresses.end())
        addresses.push_back(own.address);
    }
  if (addresses.empty()) std::rethrow_exception(wrong);
  return addresses;
}

base::Descriptor reach(const EnvironmentJob& job, const base::Deadline& deadline, std::string& why) {
  while (!deadline.passed()) {
    int failure = 0;
    const Found found = resolve(job, failure);
    if (failure != 0) why = std::string("its name cannot be resolved: ") + ::gai_strerror(failure);
    for (const addrinfo* each = found.get(); each != nullptr; each = each->ai_next) {
      base::Descriptor socket(::socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      int error = 0;
      if (::connect(socket.get(), each->ai_addr, each->ai_addrlen) != 0) {
        error = errno;
        pollfd ready{socket.get(), POLLOUT, 0};
        socklen_t size = sizeof error;
        const base::Deadline limit(
            static_cast<double>(std::min<std::int64_t>(deadline.remaining_ms(), 3000)) / 1000);
        if ((error == EINPROGRESS || error == EINTR) &&
            (base::poll_until({&ready, 1}, limit) != 1 ||
             ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0))
          error = ETIMEDOUT;
      }
      if (error == 0) return socket;
      why = base::failed_call("connect", error);
    }
    std::this_thread::sleep_for(kBeforeNextConnect);
  }
  return {};
}

}  // namespace weft::bootstrap::contact
