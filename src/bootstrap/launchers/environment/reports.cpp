#include "bootstrap/launchers/environment/reports.hpp"

#include <weft/error.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

#include "bootstrap/launchers/environment/whole_messages.hpp"
#include "bootstrap/launchers/launcher_exchange.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr std::uint32_t kMagic = 0x52544657;  // "WFTR"
constexpr double kToTake = 5.0;               // seconds in which a rank takes the reports

/// Of a fixed size, so that nobody can make the other side keep much.
struct Report {
  std::uint32_t magic = kMagic;
  std::uint32_t bytes = 0;
  std::array<char, kLongestReport> text{};
};

using SealedReport = std::array<std::byte, sizeof(Report) + sockets::kSealBytes>;

sockets::Key key_to_rank_0(const sockets::Key& key) { return sockets::derive(key, "weft report", {}); }
sockets::Key key_from_rank_0(const sockets::Key& key) { return sockets::derive(key, "weft reports", {}); }

Report to_report(const std::string& text) {
  Report report;
  report.bytes = static_cast<std::uint32_t>(std::min(text.size(), report.text.size()));
  text.copy(report.text.data(), report.bytes);
  return report;
}

std::optional<std::string> to_text(const Report& report) {
  if (report.magic != kMagic || report.bytes > report.text.size()) return std::nullopt;
  return std::string(report.text.data(), report.bytes);
}

/// What rank 0 knows of a rank.
struct Reporter {
  int rank = 0;
  int socket = -1;
  sockets::Key key{};
  bool reports = false;
  SealedReport report{};
  std::size_t filled = 0;
  std::optional<std::string> text;

  [[nodiscard]] bool is_awaited() const { return reports && !text.has_value(); }

  void read() {
    std::byte beyond;
    for (;;) {
      std::byte* const target = is_awaited() ? report.data() + filled : &beyond;
      const ssize_t got =
          ::recv(socket, target, is_awaited() ? sizeof report - filled : sizeof beyond, MSG_DONTWAIT);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0 && errno == EAGAIN) return;
      if (got <= 0) {
        text = "rank " + std::to_string(rank) + " has ended before all hosts had joined";
        socket = -1;
        return;
      }
      filled += static_cast<std::size_t>(got);
      if (is_awaited() && filled == sizeof report) text = open();
    }
  }

  [[nodiscard]] std::string open() const {
    Report opened;
    if (!sockets::unseal_once(key_to_rank_0(key), report, std::as_writable_bytes(std::span(&opened, 1))))
      return "what rank " + std::to_string(rank) + " has reported was changed on its way";
    return to_text(opened).value_or("rank " + std::to_string(rank) + " has reported in another form");
  }
};

}  // namespace

std::vector<std::string> gather_reports(const Connections& connections, const std::vector<int>& from,
                                        const std::string& own, const base::Deadline& deadline) {
  std::vector<Reporter> ranks(connections.size());
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    ranks[rank].rank = static_cast<int>(rank);
    ranks[rank].socket = connections[rank].socket.get();
    ranks[rank].key = connections[rank].key;
  }
  for (const int rank : from) ranks[static_cast<std::size_t>(rank)].reports = true;
  ranks.front().text = own;
  const auto is_awaited = [](const Reporter& each) { return each.is_awaited(); };
  while (std::any_of(ranks.begin(), ranks.end(), is_awaited) && !deadline.passed()) {
    std::vector<pollfd> waits;
    for (const Reporter& each : ranks) waits.push_back({each.socket, POLLIN, 0});
    ::poll(waits.data(), waits.size(), limit_of(deadline));
    for (std::size_t rank = 0; rank < ranks.size(); ++rank)
      if (waits[rank].revents != 0 && ranks[rank].socket >= 0) ranks[rank].read();
  }
  // A rank without a report of its own that has ended is reported in the place of rank 0's.
  std::string missing = own;
  for (const Reporter& each : ranks)
    if (!each.reports && each.text.has_value()) missing += (missing.empty() ? "" : "; ") + *each.text;
  ranks.front().text = missing;
  std::vector<std::string> reports;
  std::vector<std::byte> result;
  for (const int rank : from) {
    reports.push_back(ranks[static_cast<std::size_t>(rank)].text.value_or(
        "rank " + std::to_string(rank) + " has not reported in time whether its host could join"));
    const Report report = to_report(reports.back());
    const auto bytes = std::as_bytes(std::span(&report, 1));
    result.insert(result.end(), bytes.begin(), bytes.end());
  }
  const base::Deadline patience(kToTake);
  std::vector<std::byte> sealed(result.size() + sockets::kSealBytes);
  for (const Reporter& each : ranks) {
    if (each.socket < 0) continue;
    sockets::seal_once(key_from_rank_0(each.key), result, sealed);
    static_cast<void>(send_all(each.socket, sealed, patience));
  }
  return reports;
}

std::vector<std::string> bring_report(const Met& connection, int rank, const std::vector<int>& from,
                                      const std::string& own, const base::Deadline& deadline) {
  if (std::find(from.begin(), from.end(), rank) != from.end()) {
    const Report report = to_report(own);
    SealedReport sealed;
    sockets::seal_once(key_to_rank_0(connection.key), std::as_bytes(std::span(&report, 1)), sealed);
    // Where it cannot be sent, the other direction tells.
    static_cast<void>(send_all(connection.socket.get(), sealed, deadline));
  }
  std::vector<Report> result(from.size());
  std::vector<std::byte> sealed(result.size() * sizeof(Report) + sockets::kSealBytes);
  std::span<std::byte> rest = sealed;
  while (!rest.empty()) {
    const ssize_t got = ::recv(connection.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (got > 0) rest = rest.subspan(static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got == 0 || errno != EAGAIN)
      throw Error(ErrorClass::job,
                  "rank 0 has ended before all hosts had joined" + (own.empty() ? "" : "; " + own));
    if (deadline.passed())
      throw Error(ErrorClass::job, "rank 0 has not reported in time whether all hosts have joined" +
                                       (own.empty() ? "" : "; " + own));
    pollfd readable{connection.socket.get(), POLLIN, 0};
    ::poll(&readable, 1, limit_of(deadline));
  }
  if (!sockets::unseal_once(key_from_rank_0(connection.key), sealed,
                            std::as_writable_bytes(std::span(result))))
    throw Error(ErrorClass::job, "what rank 0 has reported of the hosts was changed on its way");
  std::vector<std::string> reports;
  for (const Report& each : result) {
    auto text = to_text(each);
    if (!text.has_value()) throw Error(ErrorClass::job, "rank 0 has reported the hosts in another form");
    reports.push_back(*std::move(text));
  }
  return reports;
}

}  // namespace weft::bootstrap::contact
