#include "perf/libraries/ucx_perftest.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "base/clock.hpp"
#include "experiment/launch/child_process.hpp"

namespace weft::tools::perf {
namespace {

constexpr const char* kProgram = "ucx_perftest";
constexpr const char* kTransports[] = {"posix", "sysv"};  // shared memory, by UCX's names
constexpr std::uint64_t kTrialMessages = 200'000;
constexpr std::uint64_t kTrialRoundTrips = 50'000;

int free_port() {
  const int descriptor = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof address;
  const bool found = descriptor >= 0 &&
                     ::bind(descriptor, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0 &&
                     ::getsockname(descriptor, reinterpret_cast<sockaddr*>(&address), &length) == 0;
  const std::string reason = std::strerror(errno);
  if (descriptor >= 0) ::close(descriptor);
  if (!found) throw Error(fmt::format("no free port on loopback for {}: {}", kProgram, reason));
  return ntohs(address.sin_port);
}

/// Reads the columns of the line that sums up the test: iterations; percentile, average and overall time;
/// average and overall bandwidth; average and overall message rate.
std::vector<double> final_columns(const std::string& output) {
  std::istringstream lines(output);
  std::vector<double> columns;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t final = line.find("Final:");
    if (final == std::string::npos) continue;
    columns.clear();
    std::istringstream words(line.substr(final + std::strlen("Final:")));
    for (double value = 0; words >> value;) columns.push_back(value);
  }
  return columns;
}

bool was_refused(const Ended& client) {
  return (client.output + client.errors).find("Connection refused") != std::string::npos;
}

}  // namespace

UcxPeer::UcxPeer(std::vector<int> processors, double seconds)
    : processors_(std::move(processors)), seconds_(seconds), program_(find_in_path(kProgram)) {}

double UcxPeer::run(Workload workload, std::size_t size, const std::string& transport,
                    std::uint64_t messages) {
  const double limit = 20 + 10 * seconds_;
  const std::string port = std::to_string(free_port());
  const bool rate = workload == Workload::rate;
  Command server{.arguments = {program_, "-p", port},
                 .environment = {{"UCX_TLS", transport + ",self"}, {"UCX_WARN_UNUSED_ENV_VARS", "n"}}};
  Command client{.arguments = {program_, "127.0.0.1", "-p", port, "-t", rate ? "ucp_am_bw" : "ucp_am_lat",
                               "-s", std::to_string(size), "-n", std::to_string(messages), "-w",
                               std::to_string(std::max<std::uint64_t>(messages / 10, 1000))},
                 .environment = server.environment};
  if (processors_.size() == 2) {
    server.processor = processors_[1];
    client.processor = processors_[0];
  }
  Child listening(server);
  const base::Deadline deadline(limit);
  Ended ended;
  do {
    ::usleep(20'000);
    ended = run_to_end(client, limit);
  } while (was_refused(ended) && listening.is_running() && !deadline.passed());
  const std::vector<double> columns = final_columns(ended.output);
  if (!ended.well || columns.size() < 8) throw Error(fmt::format("{}: {}", kProgram, ended.reason()));
  return rate ? columns[7] : columns[3] * 1000;
}

bool UcxPeer::prepare(Workload workload, std::size_t size) {
  if (program_.empty()) {
    remark_ = "UCX is left out: ucx_perftest is not installed (Debian package ucx-utils)";
    return false;
  }
  Setting& best = settings_[{workload, size}];
  std::string reason;
  for (int round = 0; round < 2; ++round) {
    for (const char* transport : kTransports) {
      try {
        const double value =
            run(workload, size, transport, workload == Workload::rate ? kTrialMessages : kTrialRoundTrips);
        const double rate = workload == Workload::rate ? value : 1e9 / (2 * value);
        if (rate > best.messages_per_second) best = {transport, rate};
      } catch (const Error& error) {
        reason = error.what();
      }
    }
  }
  if (best.transport.empty()) {
    remark_ = fmt::format("UCX is left out: {}", reason);
    return false;
  }
  remark_ += fmt::format(
      "{}{} over {}", remark_.empty() ? "UCX through shared memory (the faster of posix and sysv): " : ", ",
      name_of(workload), best.transport);
  return true;
}

double UcxPeer::run(Workload workload, std::size_t size) {
  Setting& used = settings_[{workload, size}];
  const auto messages = static_cast<std::uint64_t>(used.messages_per_second * seconds_);
  const double value = run(workload, size, used.transport, std::max<std::uint64_t>(messages, 1000));
  // The trial was short: a round gives the better estimate for the next one's length.
  used.messages_per_second = workload == Workload::rate ? value : 1e9 / (2 * value);
  return value;
}

}  // namespace weft::tools::perf
