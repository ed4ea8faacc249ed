#include "bootstrap/local/client.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/fork_watch.hpp"
#include "base/host/host.hpp"
#include "base/log.hpp"
#include "base/text/parse.hpp"
#include "bootstrap/agreement.hpp"
#include "bootstrap/checks.hpp"
#include "bootstrap/job_id.hpp"
#include "bootstrap/local/board.hpp"
#include "bootstrap/local/channel.hpp"
#include "bootstrap/local/server_watch.hpp"
#include "bootstrap/open_names.hpp"

namespace weft::bootstrap {
namespace {

using local::Answer;
using local::Message;

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span{text}); }

/// Returns the names of this process as one rank of a job; tests are several ranks at a time.
OpenNames& names_of(const LocalJob& job) {
  static std::mutex& mutex = *new std::mutex;  // never destroyed: runtimes may be static objects
  static auto& names = *new std::map<std::pair<std::string, int>, OpenNames>;
  const std::lock_guard lock(mutex);
  return names[{job.id, job.rank}];
}

class LocalClient final : public Bootstrap, public Agreeing {
 public:
  LocalClient(const LocalJob& job, double timeout_seconds, std::string_view name)
      : name_(job.size > 1 ? names_of(job).take(name) : OpenNames::Hold()),
        rank_(job.rank),
        size_(job.size),
        timeout_(timeout_seconds),
        serves_others_(job.served_by == job.rank),
        channel_(local::connect_launcher(job.socket_name, job.inherited_socket)) {
    Answer welcome = ask(Message::hello, rank_, bytes_of(job.id), bytes_of(name));
    local::Welcome content{};
    const std::size_t hosts = welcome.payload.size() - sizeof content;
    if (welcome.payload.size() < sizeof content || !welcome.descriptor ||
        (hosts != 0 && hosts != static_cast<std::size_t>(size_) * sizeof(std::int32_t)))
      throw Error(ErrorClass::job,
                  "the launcher's welcome is not valid: the program and `weft run` must be of one version");
    std::memcpy(&content, welcome.payload.data(), sizeof content);
    host_of_.resize(hosts / sizeof(std::int32_t));
    if (hosts != 0) std::memcpy(host_of_.data(), welcome.payload.data() + sizeof content, hosts);
    id_ = instance_id(job.id, content.instance);
    secret_ = content.secret;
    const auto is_same = [](std::uint64_t mine, std::uint64_t launchers) {
      return mine != 0 && mine == launchers;
    };
    is_apart_ = !is_same(base::read_user_namespace(), content.user_namespace) ||
                !is_same(base::read_pid_namespace(), content.pid_namespace) || !base::has_own_proc();
    const bool has_other_server = job.served_by >= 0 && job.served_by != job.rank;
    board_ = local::Board::open(std::move(welcome.descriptor), job.id, job.size, has_other_server);
    if (has_other_server)
      server_watch_.emplace(channel_.descriptor(),
                            [this, server = job.served_by] { board_->mark_failed(server); });
  }

  ~LocalClient() override {
    server_watch_.reset();
    channel_.tell(Message::leave);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string_view job_id() const override { return id_; }
  const Secret& secret() const override { return secret_; }
  int host_of(int rank) const override {
    return host_of_.empty() ? 0 : host_of_[static_cast<std::size_t>(rank)];
  }

  void put(std::string_view key, std::span<const std::byte> value) override {
    check_key(key);
    check_value(key, value.size());
    ask(Message::put, static_cast<std::int32_t>(key.size()), bytes_of(key), value);
  }

  std::optional<std::vector<std::byte>> try_get(int rank, std::string_view key) override {
    check_rank(rank, size_);
    check_key(key);
    base::refuse_in_forked_copy("bootstrap");
    std::vector<std::byte> value;
    const auto found = board_->look_up(rank, key, value);
    if (found == local::Board::Lookup::value) return value;
    if (found == local::Board::Lookup::not_published) return std::nullopt;
    Answer answer = ask(Message::try_get, rank, bytes_of(key));
    if (answer.message == Message::missing) return std::nullopt;
    return std::move(answer.payload);
  }

  std::vector<std::byte> get(int rank, std::string_view key) override {
    check_rank(rank, size_);
    check_key(key);
    auto answer = channel_.ask(Message::get, rank, bytes_of(key), {}, base::Deadline{timeout_});
    if (!answer) fail_not_published(rank, key, timeout_);
    return std::move(checked(*answer).payload);
  }

  bool lend(std::string_view key, int descriptor) override {
    check_key(key);
    auto answer = channel_.ask(Message::lend, 0, bytes_of(key), {}, base::Deadline{timeout_}, descriptor);
    return answer && checked(*answer).message == Message::done;
  }
  void take_back(std::string_view key) override {
    check_key(key);
    ask(Message::take_back, 0, bytes_of(key));
  }
  base::Descriptor borrow(int rank, std::string_view key) override {
    check_rank(rank, size_);
    check_key(key);
    return std::move(ask(Message::borrow, rank, bytes_of(key)).descriptor);
  }

  bool is_apart() const noexcept override { return is_apart_; }

  void barrier() override {
    auto answer = channel_.ask(Message::barrier, 0, {}, {}, std::nullopt);
    checked(*answer);
  }

  void allgather(std::span<const std::byte> mine, std::span<std::byte> all) override {
    check_gathered(size_, mine.size(), all.size());
    auto answer = channel_.ask(Message::allgather, 0, mine, {}, std::nullopt);
    if (checked(*answer).payload.size() != all.size())
      throw Error(ErrorClass::job, "the launcher's answer to an allgather is not valid");
    std::copy(answer->payload.begin(), answer->payload.end(), all.begin());
  }

  const std::atomic<std::uint32_t>* failures() const noexcept override {
    return board_ != nullptr ? &board_->failures() : nullptr;
  }
  bool has_failed(int rank) const noexcept override { return board_ != nullptr && board_->has_failed(rank); }

  const std::atomic<std::uint32_t>* departures() const noexcept override {
    return board_ != nullptr ? &board_->departures() : nullptr;
  }
  bool has_left(int rank) const noexcept override { return board_ != nullptr && board_->has_left(rank); }
  void begin_to_leave() noexcept override { channel_.tell(Message::ending); }
  void report_unreachable(int rank, std::string_view why) noexcept override {
    channel_.tell(Message::unreachable, bytes_of(why.substr(0, kLongestReason)), rank);
  }
  void report_loss(std::string_view what) noexcept override {
    channel_.tell(Message::loss, bytes_of(what.substr(0, kLongestReason)));
  }

  void agree(std::string_view statement) override {
    if (size_ == 1) return;
    try {
      ask(Message::agree, 0, bytes_of(statement));
    } catch (const Error&) {
      if (serves_others_) await_others();
      throw;
    }
  }

  void abort(int code, std::string_view reason) override {
    try {
      // The answer means that the launcher has the reason; it then ends this process, unless the process ends
      // itself first.
      channel_.ask(Message::abort, code, bytes_of(reason.substr(0, kLongestReason)), {}, base::Deadline{2.0});
    } catch (const Error&) {
      base::Log{base::LogLevel::error, rank_}
          .in(base::LogModule::bootstrap)
          .error("the job was aborted: " + std::string(reason));
    }
    std::_Exit((code & 0xff) == 0 ? 1 : code & 0xff);
  }

 private:
  static constexpr std::size_t kLongestReason = 4096;
  static constexpr double kToBeNotified = 5.0;  // seconds

  /// The job's server ends with this process: the others have a while to be told by it why.
  void await_others() const {
    const base::Deadline while_they_ask{kToBeNotified};
    while (board_->departures().load(std::memory_order_acquire) < static_cast<std::uint32_t>(size_) &&
           !while_they_ask.passed())
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  static Answer& checked(Answer& answer) {
    if (answer.message == Message::failed) throw Error(ErrorClass::job, text_of(answer.payload));
    return answer;
  }

  // Sends a request that the launcher answers at once.
  Answer ask(Message message, std::int32_t argument, std::span<const std::byte> first,
             std::span<const std::byte> second = {}) {
    auto answer = channel_.ask(message, argument, first, second, base::Deadline{timeout_});
    if (!answer) {
      throw Error(ErrorClass::job, "the launcher (`weft run`) did not answer within " +
                                       base::seconds_text(timeout_) + " s (WEFT_BOOTSTRAP_TIMEOUT)");
    }
    return std::move(checked(*answer));
  }

  const OpenNames::Hold name_;
  const int rank_;
  const int size_;
  const double timeout_;
  const bool serves_others_;
  bool is_apart_ = true;
  std::string id_;
  Secret secret_{};
  std::vector<std::int32_t> host_of_;  // by rank; empty: all are on one host
  std::unique_ptr<local::Board> board_;
  local::Channel channel_;
  std::optional<local::ServerWatch> server_watch_;
  const base::ForkWatch fork_watch_{
      [](void* channel) noexcept { static_cast<local::Channel*>(channel)->close_in_forked_child(); },
      &channel_};
};

std::string required(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    throw Error(ErrorClass::job, "WEFT_BOOTSTRAP is set but " + std::string(name) +
                                     " is not: `weft run` sets both, so unset WEFT_BOOTSTRAP to run alone");
  }
  return value;
}

int required_integer(const char* name, std::int64_t minimum, std::int64_t maximum) {
  const std::string text = required(name);
  const auto value = base::parse_integer(text);
  if (!value || *value < minimum || *value > maximum) {
    throw Error(ErrorClass::job, std::string(name) + "=" + text +
                                     " is not valid: it must be an integer from " + std::to_string(minimum) +
                                     " to " + std::to_string(maximum) + ", as `weft run` sets it");
  }
  return static_cast<int>(*value);
}

}  // namespace

LocalJob local_job_from_environment() {
  constexpr std::int64_t kMostRanks = 1 << 20;
  LocalJob job;
  job.socket_name = required("WEFT_BOOTSTRAP");
  if (const char* inherited = std::getenv("WEFT_BOOTSTRAP_SOCKET")) job.inherited_socket = inherited;
  job.id = required("WEFT_JOB");
  if (!is_job_id(job.id))
    throw Error(ErrorClass::job, "WEFT_JOB=" + job.id + " is not valid: it must be 32 hexadecimal digits");
  job.size = required_integer("WEFT_SIZE", 1, kMostRanks);
  job.rank = required_integer("WEFT_RANK", 0, job.size - 1);
  return job;
}

std::unique_ptr<Bootstrap> join_local(const LocalJob& job, double timeout_seconds, std::string_view name) {
  return std::make_unique<LocalClient>(job, timeout_seconds, name);
}

}  // namespace weft::bootstrap
