#include "bootstrap/launchers/pmi1/pmi1.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "base/system_call.hpp"
#include "base/text/hex.hpp"
#include "base/text/parse.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr std::size_t kMostValue = 1000;  // characters; the protocol's processes take 1024
constexpr std::size_t kLongestLine = 4096;

int required_integer(const char* name, std::int64_t least, std::int64_t most) {
  const char* const text = std::getenv(name);
  const auto value = text == nullptr ? std::nullopt : base::parse_integer(text);
  if (!value || *value < least || *value > most)
    throw Error(ErrorClass::job,
                std::string("PMI-1: ") + name +
                    (text == nullptr ? " is not set" : "=" + std::string(text) + " is not valid") +
                    ": the launcher sets PMI_FD, PMI_RANK and PMI_SIZE");
  return static_cast<int>(*value);
}

/// The value of a key in a line; it ends at a blank.
std::string value_of(std::string_view line, std::string_view key) {
  std::size_t position = 0;
  while ((position = line.find(key, position)) != std::string_view::npos) {
    const bool begins = position == 0 || line[position - 1] == ' ';
    const std::size_t end = position + key.size();
    if (begins && end < line.size() && line[end] == '=') {
      const std::string_view rest = line.substr(end + 1);
      return std::string(rest.substr(0, rest.find(' ')));
    }
    position = end;
  }
  return {};
}

class Pmi1 final : public Contact {
 public:
  Pmi1()
      : socket_(required_integer("PMI_FD", 0, 1 << 20)),
        rank_(required_integer("PMI_RANK", 0, 1 << 20)),
        size_(required_integer("PMI_SIZE", 1, 1 << 20)) {
    struct stat status {};
    if (::fstat(socket_, &status) != 0 || !S_ISSOCK(status.st_mode))
      throw Error(
          ErrorClass::job,
          "PMI_FD=" + std::to_string(socket_) +
              " is no socket here: the launcher gives it to the processes that it has started itself, "
              "and not to those that they start");
    // Processes that this one starts are no ranks.
    ::fcntl(socket_, F_SETFD, FD_CLOEXEC);
  }
  ~Pmi1() override {
    if (::getpid() != process_ || !is_open_ || !send("cmd=finalize")) return;
    try {
      // Hydra ends the job with an error when it cannot answer.
      static_cast<void>(await("finalize_ack", base::Deadline(2.0)));
    } catch (const Error&) {
      // It has closed the connection.
    }
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }

  Cards exchange(std::span<const std::byte> own, const base::Deadline& deadline) override {
    ask("cmd=init pmi_version=1 pmi_subversion=1", "response_to_init", deadline);
    is_open_ = true;
    space_ = value_of(ask("cmd=get_my_kvsname", "my_kvsname", deadline), "kvsname");
    const std::string text = base::to_hex(own);
    const std::string_view all = text;
    put(rank_, 0, all.substr(0, kMostValue), deadline);
    put(rank_, 1, all.size() > kMostValue ? all.substr(kMostValue) : "", deadline);
    if (!send("cmd=barrier_in") || !await("barrier_out", deadline)) fail_incomplete(1, all_ranks());
    Cards cards;
    for (int rank = 0; rank < size_; ++rank) {
      const auto card =
          base::from_hex(get(rank, 0, deadline).value_or("") + get(rank, 1, deadline).value_or(""));
      if (!card.has_value())
        throw Error(ErrorClass::job, "PMI-1: rank " + std::to_string(rank) +
                                         " has published something else than a rank of weft does");
      cards.push_back(*card);
    }
    return cards;
  }

  std::vector<std::string> report(const std::vector<int>& from, const std::string& own,
                                  const base::Deadline& deadline) override {
    if (std::find(from.begin(), from.end(), rank_) != from.end()) {
      const std::string text =
          base::to_hex(std::as_bytes(std::span(own)).first(std::min(own.size(), kLongestReport)));
      const std::string_view all = text;
      put(rank_, 2, all.substr(0, kMostValue), deadline);
      put(rank_, 3, all.size() > kMostValue ? all.substr(kMostValue) : "", deadline);
    }
    if (!send("cmd=barrier_in") || !await("barrier_out", deadline)) fail_incomplete(3, from);
    std::vector<std::string> reports;
    for (const int rank : from) {
      const auto text =
          base::from_hex(get(rank, 2, deadline).value_or("") + get(rank, 3, deadline).value_or(""));
      reports.emplace_back(text.has_value()
                               ? std::string(reinterpret_cast<const char*>(text->data()), text->size())
                               : "rank " + std::to_string(rank) + " has reported in another form");
    }
    return reports;
  }

 private:
  static std::string key_of(int rank, int part) {
    return "weft-" + std::to_string(rank) + "-" + std::to_string(part);
  }

  void put(int rank, int part, std::string_view value, const base::Deadline& deadline) {
    // A value has a character at least.
    const std::string answer =
        ask("cmd=put kvsname=" + space_ + " key=" + key_of(rank, part) + " value=w" + std::string(value),
            "put_result", deadline);
    if (value_of(answer, "rc") != "0")
      throw Error(ErrorClass::job, "PMI-1: a value was not taken: " + answer);
  }

  std::optional<std::string> get(int rank, int part, const base::Deadline& deadline) {
    const std::string answer =
        ask("cmd=get kvsname=" + space_ + " key=" + key_of(rank, part), "get_result", deadline);
    const std::string value = value_of(answer, "value");
    if (value_of(answer, "rc") != "0" || value.empty()) return std::nullopt;
    return value.substr(1);
  }

  /// The barrier has not ended in time: which of these ranks has not published this part is missing.
  [[noreturn]] void fail_incomplete(int part, const std::vector<int>& ranks) {
    const base::Deadline soon(2.0);
    std::vector<int> missing;
    try {
      for (const int rank : ranks)
        if (!get(rank, part, soon).has_value()) missing.push_back(rank);
    } catch (const Error&) {
      missing.clear();
    }
    // Hydra tells nothing before all have come, not even what this rank has published.
    if (std::find(missing.begin(), missing.end(), rank_) != missing.end()) missing.clear();
    throw Error(ErrorClass::job,
                "PMI-1: of " + std::to_string(size_) + " ranks " +
                    (missing.empty() ? "some" : list_ranks(missing)) +
                    (missing.size() == 1 ? " has" : " have") +
                    " not made a weft::Runtime within the time limit (WEFT_BOOTSTRAP_TIMEOUT)");
  }

  [[nodiscard]] std::vector<int> all_ranks() const {
    std::vector<int> ranks(static_cast<std::size_t>(size_));
    std::iota(ranks.begin(), ranks.end(), 0);
    return ranks;
  }

  bool send(const std::string& line) {
    const std::string text = line + "\n";
    std::size_t sent = 0;
    while (sent < text.size()) {
      const ssize_t more = ::send(socket_, text.data() + sent, text.size() - sent, MSG_NOSIGNAL);
      if (more < 0 && errno == EINTR) continue;
      if (more < 0) return false;
      sent += static_cast<std::size_t>(more);
    }
    return true;
  }

  std::string ask(const std::string& line, std::string_view command, const base::Deadline& deadline) {
    if (!send(line))
      throw Error(
          ErrorClass::job,
          errno == EPIPE
              ? std::string("PMI-1: the launcher has closed the connection: a program that this rank ran "
                            "before has left the job already")
              : "PMI-1: the launcher cannot be asked: " + base::failed_call("send", errno));
    const auto answer = await(command, deadline);
    if (!answer.has_value())
      throw Error(ErrorClass::job, "PMI-1: the launcher has not answered \"" +
                                       line.substr(0, line.find(' ')) +
                                       "\" within the time limit (WEFT_BOOTSTRAP_TIMEOUT)");
    return *answer;
  }

  /// Returns the next line of this command; nothing when the deadline passes before. Others answer what was
  /// given up.
  std::optional<std::string> await(std::string_view command, const base::Deadline& deadline) {
    for (;;) {
      const std::size_t end = received_.find('\n');
      if (end != std::string::npos) {
        const std::string line = received_.substr(0, end);
        received_.erase(0, end + 1);
        if (value_of(line, "cmd") == command) return line;
        continue;
      }
      if (received_.size() > kLongestLine)
        throw Error(ErrorClass::job, "PMI-1: the launcher has sent a line without an end");
      pollfd readable{socket_, POLLIN, 0};
      const std::int64_t left = deadline.remaining_ms();
      if (::poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(left, 1000))) == 0) {
        if (deadline.passed()) return std::nullopt;
        continue;
      }
      std::array<char, 2048> piece;
      const ssize_t got = ::recv(socket_, piece.data(), piece.size(), MSG_DONTWAIT);
      if (got < 0 && (errno == EINTR || errno == EAGAIN)) continue;
      if (got <= 0) {
        is_open_ = false;
        throw Error(ErrorClass::job, "PMI-1: the launcher has closed the connection: it ends the job");
      }
      received_.append(piece.data(), static_cast<std::size_t>(got));
    }
  }

  const int socket_;
  const int rank_;
  const int size_;
  const pid_t process_ = ::getpid();  // copies of it are no ranks
  bool is_open_ = false;
  std::string space_;
  std::string received_;
};

}  // namespace

std::unique_ptr<Contact> join_pmi1() { return std::make_unique<Pmi1>(); }

}  // namespace weft::bootstrap::contact
