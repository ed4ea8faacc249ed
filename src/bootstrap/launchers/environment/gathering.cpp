#include "bootstrap/launchers/environment/gathering.hpp"

#include <weft/error.hpp>

#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <optional>
#include <thread>

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "bootstrap/launchers/environment/addresses_of_rank_0.hpp"
#include "bootstrap/launchers/environment/arrival.hpp"
#include "bootstrap/launchers/environment/meeting.hpp"
#include "bootstrap/launchers/environment/whole_messages.hpp"
#include "bootstrap/launchers/job_secret.hpp"
#include "sockets/greeting.hpp"
#include "sockets/unproved_connections.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr double kContradiction = 3.0;  // seconds, for which who listens there may be somebody else
constexpr auto kBeforeNextTry = std::chrono::milliseconds(100);
constexpr std::int64_t kWordEvery = 1'000'000'000;  // nanoseconds

/// Rank 0's side.
class Gathering : private sockets::UnprovedConnections::Owner {
 public:
  Gathering(const EnvironmentJob& job, std::span<const std::byte> own)
      : job_(job),
        arrived_(static_cast<std::size_t>(job.size)),
        connections_(listen_for(job),
                     sockets::UnprovedConnections::slots_for(static_cast<std::size_t>(job.size)), log_),
        guests_(connections_.slots()) {
    sockets::prepare_greetings();
    pair_ = sockets::make_key_pair();
    arrived_[0] = Member{base::Descriptor(), {}, {own.begin(), own.end()}, true};
    if (!has_secret_)
      log_.warn(
          "WEFT_JOB_SECRET is not set: who listens in learns nothing, but whoever reaches " +
          address_of(job_) +
          " before a rank can take its place, and who can change what is sent can be any rank; set it to "
          "the same random text on all ranks");
  }

  Cards run(const base::Deadline& deadline) {
    while (count_missing() != 0) {
      if (deadline.passed()) fail(missing_text());
      pollfd work{connections_.descriptor(), POLLIN, 0};
      ::poll(&work, 1, static_cast<int>(std::min<std::int64_t>(deadline.remaining_ms(), 200)));
      connections_.serve(*this);
    }
    Cards cards;
    std::vector<SizedCard> sized;
    for (const Member& each : arrived_) {
      sized.push_back(to_sized(each.card));
      cards.push_back(each.card);
    }
    tell(ResultKind::cards, std::as_bytes(std::span(sized)));
    return cards;
  }
  Connections take_connections() {
    Connections all;
    for (Member& each : arrived_) all.push_back({std::move(each.socket), each.result});
    return all;
  }

 private:
  using Progress = sockets::UnprovedConnections::Progress;
  struct Member {
    base::Descriptor socket;
    sockets::Key result;  // with which its result is sealed
    std::vector<std::byte> card;
    bool is_there = false;
  };
  /// A connection of which nothing is known yet.
  struct Guest {
    Greeting greeting;
    Arrival arrival;
    std::size_t filled = 0;
  };

  static sockets::Listener listen_for(const EnvironmentJob& job) try {
    return sockets::listen_in({job.port, job.port}, addresses_of(job), sockets::FirstWord::of_listening);
  } catch (const Error& error) {
    throw Error(ErrorClass::job, "rank 0 cannot listen on port " + std::to_string(job.port) + " (" +
                                     job.variables + "): " + error.what());
  }

  [[nodiscard]] std::size_t count_missing() const {
    return static_cast<std::size_t>(
        std::count_if(arrived_.begin(), arrived_.end(), [](const Member& each) { return !each.is_there; }));
  }

  [[nodiscard]] std::string missing_text() const {
    std::vector<int> missing;
    for (int rank = 0; rank < job_.size; ++rank)
      if (!arrived_[static_cast<std::size_t>(rank)].is_there) missing.push_back(rank);
    return "of " + std::to_string(job_.size) + " ranks " + list_ranks(missing) +
           (missing.size() == 1 ? " has" : " have") + " not come to rank 0 at " + address_of(job_) +
           " within the time limit (WEFT_BOOTSTRAP_TIMEOUT)";
  }

  bool begin(std::size_t slot) noexcept override {
    Guest& guest = guests_[slot];
    guest = Guest{};
    guest.greeting.has_secret = has_secret_ ? 1 : 0;
    guest.greeting.nonce = sockets::make_nonce();
    guest.greeting.key = pair_.known_to_all;
    return send_all(connections_.socket(slot), bytes_of(guest.greeting), base::Deadline(0));
  }

  Progress read(std::size_t slot) noexcept override {
    Guest& guest = guests_[slot];
    const std::span<std::byte> rest = bytes_of(guest.arrival).subspan(guest.filled);
    const ssize_t got = ::recv(connections_.socket(slot), rest.data(), rest.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return Progress::waits;
    if (got <= 0) return Progress::ended;
    guest.filled += static_cast<std::size_t>(got);
    // A magic of somebody else's is refused before so much is waited for.
    if (guest.filled < sizeof guest.arrival.magic) return Progress::waits;
    if (guest.arrival.magic != kArrivalMagic) {
      tell_of_stranger();
      return Progress::ended;
    }
    if (guest.filled != sizeof(Arrival)) return Progress::waits;
    try {
      return take(slot) ? Progress::proved : Progress::ended;
    } catch (const std::bad_alloc&) {
      return Progress::ended;
    }
  }

  void lose(std::size_t, sockets::UnprovedConnections::Loss) noexcept override {}

  /// Returns false when it is no rank that is missing.
  bool take(std::size_t slot) {
    const Guest& guest = guests_[slot];
    const int socket = connections_.socket(slot);
    const Arrival& arrival = guest.arrival;
    SizedCard card;
    const auto keys = keys_of(pair_, arrival.key, guest.greeting, arrival);
    if (!keys || !sockets::unseal_once(keys->arrival, arrival.sealed, bytes_of(card))) {
      tell_of_stranger();
      const ResultHead unreadable;
      static_cast<void>(send_all(socket, std::as_bytes(std::span(&unreadable, 1)), base::Deadline(0)));
      return false;
    }
    const auto bytes = from_sized(card);
    const auto refuse = [&](const std::string& why) {
      static_cast<void>(send_all(socket,
                                 sealed_result(ResultKind::text, keys->result, std::as_bytes(std::span(why))),
                                 base::Deadline(0)));
      return false;
    };
    if (arrival.version != kArrivalVersion || !bytes)
      return refuse("rank 0 runs with another version of weft");
    if (arrival.size != job_.size)
      return refuse("rank " + std::to_string(arrival.rank) + " was started as one of " +
                    std::to_string(arrival.size) + " ranks, rank 0 as one of " + std::to_string(job_.size));
    if (arrival.rank <= 0 || arrival.rank >= job_.size ||
        arrived_[static_cast<std::size_t>(arrival.rank)].is_there)
      return refuse("there is a rank " + std::to_string(arrival.rank) + " already (" + job_.variables + ")");
    arrived_[static_cast<std::size_t>(arrival.rank)] =
        Member{connections_.take(slot), keys->result, *bytes, true};
    return true;
  }

  void tell_of_stranger() {
    ++strangers_;
    const std::int64_t now = base::now_ns();
    if (now < next_word_) return;
    next_word_ = now + kWordEvery;
    log_.warn("port " + std::to_string(job_.port) + ": a stranger is refused, or a rank with " +
              (has_secret_ ? "another WEFT_JOB_SECRET or none" : "a WEFT_JOB_SECRET, which rank 0 has not") +
              " (" + std::to_string(strangers_) + " so far)");
  }

  void tell(ResultKind kind, std::span<const std::byte> content) {
    const base::Deadline deadline(kResultTime);
    for (const Member& each : arrived_)
      if (each.socket)
        static_cast<void>(send_all(each.socket.get(), sealed_result(kind, each.result, content), deadline));
  }

  [[noreturn]] void fail(const std::string& why) {
    tell(ResultKind::text, std::as_bytes(std::span(why)));
    throw Error(ErrorClass::job, why);
  }

  const EnvironmentJob& job_;
  const bool has_secret_ = configured_secret().has_value();
  const base::Log log_{base::LogLevel::warn, 0};
  sockets::KeyPair pair_;
  std::vector<Member> arrived_;  // by rank
  sockets::UnprovedConnections connections_;
  std::vector<Guest> guests_;  // by slot
  std::uint64_t strangers_ = 0;
  std::int64_t next_word_ = 0;
};

}  // namespace

Cards gather_cards(const EnvironmentJob& job, std::span<const std::byte> own, const base::Deadline& deadline,
                   Connections& connections) {
  Gathering gathering(job, own);
  Cards cards = gathering.run(deadline);
  connections = gathering.take_connections();
  return cards;
}

Cards bring_card(const EnvironmentJob& job, std::span<const std::byte> own, const base::Deadline& deadline,
                 Connections& connections) {
  sockets::prepare_greetings();
  std::string why = "it does not answer";
  // Another program may have the port for a moment: then rank 0 is asked again.
  std::optional<base::Deadline> contradicted;
  while (!deadline.passed()) {
    base::Descriptor socket = reach(job, deadline, why);
    if (!socket) break;
    Meeting meeting = meet(socket.get(), job, own, deadline);
    if (meeting.cards.has_value()) {
      connections.push_back({std::move(socket), meeting.key});
      return *std::move(meeting.cards);
    }
    if (meeting.has_talked && !contradicted) contradicted.emplace(kContradiction);
    if (meeting.is_final || (meeting.has_talked && contradicted->passed()))
      throw Error(ErrorClass::job, meeting.why);
    why = meeting.why;
    std::this_thread::sleep_for(kBeforeNextTry);
  }
  throw Error(ErrorClass::job, "rank " + std::to_string(job.rank) + " of " + std::to_string(job.size) +
                                   " cannot reach rank 0 at " + address_of(job) +
                                   " within the time limit (WEFT_BOOTSTRAP_TIMEOUT): " + why + " (" +
                                   job.variables + ")");
}

}  // namespace weft::bootstrap::contact
