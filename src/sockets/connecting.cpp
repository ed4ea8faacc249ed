#include "sockets/connecting.hpp"

#include "base/system_call.hpp"
#include "base/uninterrupted.hpp"
#include "sockets/tcp_socket.hpp"

#include <weft/error.hpp>

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <thread>
#include <vector>

namespace weft::sockets {

namespace {

constexpr std::int64_t kNextAddressMs = 250;
constexpr auto kBeforeNextRound = std::chrono::milliseconds(50);

/// Waits for the event; false when the deadline has passed before.
bool await(int socket, short event, const base::Deadline& deadline) {
  pollfd ready{socket, event, 0};
  return base::poll_until({&ready, 1}, deadline) > 0;
}

/// Receives a whole object; an empty text, or why not.
template <class Object>
std::string receive(int socket, Object& object, const base::Deadline& deadline) {
  std::size_t filled = 0;
  while (filled < sizeof object) {
    if (!await(socket, POLLIN, deadline)) return "who listens there does not answer";
    const ssize_t got =
        ::recv(socket, reinterpret_cast<std::byte*>(&object) + filled, sizeof object - filled, MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (got < 0) return base::failed_call("recv", errno);
    if (got == 0) return "closed during the greeting";
    filled += static_cast<std::size_t>(got);
  }
  return {};
}

/// What is sent of a greeting always fits into an empty socket.
template <class Object>
std::string send(int socket, const Object& object) {
  return ::send(socket, &object, sizeof object, MSG_NOSIGNAL | MSG_DONTWAIT) ==
                 static_cast<ssize_t>(sizeof object)
             ? std::string()
             : base::failed_call("send", errno);
}

/// Returns an empty text, and the keys, when the greeting has succeeded; else why not.
std::string greet(int socket, const Caller& caller, const base::Deadline& deadline, SessionKeys& keys) {
  Introduction introduction;
  caller.job_id.copy(introduction.job_id.data(), introduction.job_id.size());
  introduction.from_rank = caller.from;
  introduction.to_rank = caller.to;
  introduction.to_device = caller.inbox;
  introduction.purpose = caller.purpose;
  complete(introduction, caller.protection);
  if (std::string fault = send(socket, introduction); !fault.empty()) return fault;
  Challenge challenge;
  if (std::string fault = receive(socket, challenge, deadline); !fault.empty()) return fault;
  if (std::string fault = fault_of(challenge, caller.secret, introduction); !fault.empty()) return fault;
  if (std::string fault = send(socket, proof_of_connector(caller.secret, introduction, challenge));
      !fault.empty())
    return fault;
  Answer answer;
  if (std::string fault = receive(socket, answer, deadline); !fault.empty()) return fault;
  keys = keys_of_connector(caller.secret, introduction, challenge);
  if (!is_genuine(answer, keys)) return "the answer to the greeting was changed on its way";
  return answer.verdict == Verdict::accepted ? std::string() : "it is not wanted there";
}

struct Trial {
  base::Descriptor socket;
  const Address* address = nullptr;
};

/// Returns the first connection that is established, and takes it out; notes why others have failed.
Trial take_established(std::vector<Trial>& trials, std::int64_t limit_ms, std::uint16_t port,
                       std::map<std::string, std::string>& faults) {
  std::vector<pollfd> waits;
  for (const Trial& each : trials) waits.push_back({each.socket.get(), POLLOUT, 0});
  base::poll_until(waits, base::Deadline(static_cast<double>(limit_ms) / 1000));
  for (std::size_t index = 0; index < waits.size(); ++index) {
    if (waits[index].revents == 0) continue;
    int error = 0;
    socklen_t size = sizeof error;
    static_cast<void>(::getsockopt(waits[index].fd, SOL_SOCKET, SO_ERROR, &error, &size));
    Trial trial = std::move(trials[index]);
    trials.erase(trials.begin() + static_cast<std::ptrdiff_t>(index));
    if (error == 0) return trial;
    faults[to_text(*trial.address, port)] = base::failed_call("connect", error);
    return {};
  }
  return {};
}

}  // namespace

Greeted connect_to(const Endpoints& there, std::span<const Interface> own,
                   std::uint64_t own_network_namespace, const Caller& caller,
                   const base::Deadline& deadline) {
  prepare_greetings();
  const std::vector<Address> addresses = order_of_trial(there, own, own_network_namespace);
  std::map<std::string, std::string> faults;
  for (bool is_first = true; !addresses.empty() && (is_first || !deadline.passed()); is_first = false) {
    if (!is_first) std::this_thread::sleep_for(kBeforeNextRound);
    std::vector<Trial> trials;
    for (std::size_t next = 0; next < addresses.size() || !trials.empty();) {
      if (next < addresses.size()) {
        const Address& address = addresses[next++];
        base::Descriptor socket = begin_connect(address, there.port);
        if (socket)
          trials.push_back({std::move(socket), &address});
        else
          faults[to_text(address, there.port)] = base::failed_call("connect", errno);
        if (trials.empty()) continue;
      }
      Trial trial = take_established(
          trials, std::clamp<std::int64_t>(deadline.remaining_ms(), 0, kNextAddressMs), there.port, faults);
      if (trial.socket) {
        set_options(trial.socket.get(), caller.peer_timeout);
        SessionKeys keys;
        const std::string fault = greet(trial.socket.get(), caller, deadline, keys);
        if (fault.empty()) return {std::move(trial.socket), keys};
        faults[to_text(*trial.address, there.port)] = fault;
      }
      if (deadline.passed()) {
        for (const Trial& each : trials)
          faults.try_emplace(to_text(*each.address, there.port), "it does not answer");
        break;
      }
    }
  }
  std::string attempts;
  for (const auto& [address, fault] : faults)
    attempts += (attempts.empty() ? "" : ", ") + address + " (" + fault + ")";
  throw Error(
      ErrorClass::network,
      "none of the addresses can be reached: " +
          (attempts.empty() ? "there is none that this host could try; it has " + to_text(own) : attempts));
}

}  // namespace weft::sockets
