#include "bootstrap/contact/environment/gathering.hpp"

#include <weft/error.hpp>

#include <netdb.h>
#include <poll.h>
#include <sodium.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

#include "base/descriptor.hpp"
#include "base/log.hpp"
#include "base/system_call.hpp"
#include "sockets/greeting.hpp"
#include "sockets/tcp_socket.hpp"

namespace weft::bootstrap::contact {

namespace {

constexpr std::uint32_t kMagic = 0x45544657;  // "WFTE"
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kMostStrangers = 64;
constexpr double kGuestTime = 2.0;   // seconds, in which a guest tells who it is
constexpr double kResultTime = 5.0;  // seconds, in which a rank takes the result
constexpr auto kBeforeNextTry = std::chrono::milliseconds(100);

struct Greeting {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  sockets::Nonce nonce{};
};

struct Arrival {
  std::uint32_t magic = kMagic;
  std::uint32_t version = kVersion;
  std::int32_t rank = 0;
  std::int32_t size = 0;
  std::uint32_t bytes = 0;  // of the card
  std::array<std::byte, kMostBytes> card{};
  sockets::Proof proof{};
};

/// Begins a result; `count` cards of kMostBytes and their lengths follow, or, when it is 0, `bytes` of text.
struct Result {
  std::uint32_t magic = kMagic;
  std::uint32_t count = 0;
  std::uint32_t bytes = 0;
};

struct Card {
  std::uint32_t bytes = 0;
  std::array<std::byte, kMostBytes> data{};
};

/// Of an arrival, with the secret that all ranks were given; zero when they were given none.
sockets::Proof proof_of(const Arrival& arrival, const sockets::Nonce& nonce) {
  sockets::Proof proof{};
  const char* const text = std::getenv("WEFT_JOB_SECRET");
  if (text == nullptr || *text == '\0') return proof;
  std::array<unsigned char, crypto_auth_hmacsha256_KEYBYTES> key;
  crypto_generichash(key.data(), key.size(), reinterpret_cast<const unsigned char*>(text), std::strlen(text),
                     nullptr, 0);
  std::vector<unsigned char> all(sizeof arrival - sizeof arrival.proof + nonce.size());
  std::memcpy(all.data(), &arrival, sizeof arrival - sizeof arrival.proof);
  std::memcpy(all.data() + sizeof arrival - sizeof arrival.proof, nonce.data(), nonce.size());
  crypto_auth_hmacsha256(reinterpret_cast<unsigned char*>(proof.data()), all.data(), all.size(), key.data());
  return proof;
}

bool send_all(int socket, std::span<const std::byte> bytes, const base::Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) bytes = bytes.subspan(static_cast<std::size_t>(sent));
    if (sent >= 0 || errno == EINTR) continue;
    if (errno != EAGAIN || deadline.passed()) return false;
    pollfd room{socket, POLLOUT, 0};
    ::poll(&room, 1, static_cast<int>(std::min<std::int64_t>(deadline.remaining_ms(), 1000)));
  }
  return true;
}

bool receive_all(int socket, std::span<std::byte> bytes, const base::Deadline& deadline) {
  while (!bytes.empty()) {
    const ssize_t got = ::recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT);
    if (got > 0) bytes = bytes.subspan(static_cast<std::size_t>(got));
    if (got > 0 || (got < 0 && errno == EINTR)) continue;
    if (got == 0 || errno != EAGAIN || deadline.passed()) return false;
    pollfd readable{socket, POLLIN, 0};
    ::poll(&readable, 1, static_cast<int>(std::min<std::int64_t>(deadline.remaining_ms(), 1000)));
  }
  return true;
}

template <class Object>
std::span<std::byte> bytes_of(Object& object) {
  return std::as_writable_bytes(std::span(&object, 1));
}

std::string place_of(const EnvironmentJob& job) { return job.host + ":" + std::to_string(job.port); }

/// Rank 0's side.
class Gathering {
 public:
  Gathering(const EnvironmentJob& job, std::span<const std::byte> own)
      : job_(job), arrived_(static_cast<std::size_t>(job.size)) {
    sockets::prepare_greetings();
    try {
      listener_ = sockets::listen_in({job.port, job.port});
    } catch (const Error& error) {
      throw Error("rank 0 cannot listen on port " + std::to_string(job.port) + " (" + job.told_by +
                  "): " + error.what());
    }
    arrived_[0] = Member{base::Descriptor(), {own.begin(), own.end()}, true};
  }

  Cards run(const base::Deadline& deadline) {
    while (count_missing() != 0) {
      if (deadline.passed()) fail(missing_text());
      wait(deadline);
      accept_all();
      std::erase_if(guests_, [this](const auto& guest) { return !read(*guest) || guest->deadline.passed(); });
    }
    Cards cards;
    std::vector<std::byte> result(sizeof(Result) + arrived_.size() * sizeof(Card));
    Result head;
    head.count = static_cast<std::uint32_t>(arrived_.size());
    std::memcpy(result.data(), &head, sizeof head);
    for (std::size_t rank = 0; rank < arrived_.size(); ++rank) {
      Card card;
      card.bytes = static_cast<std::uint32_t>(arrived_[rank].card.size());
      std::copy(arrived_[rank].card.begin(), arrived_[rank].card.end(), card.data.begin());
      std::memcpy(result.data() + sizeof head + rank * sizeof card, &card, sizeof card);
      cards.push_back(arrived_[rank].card);
    }
    tell(result);
    return cards;
  }

 private:
  struct Member {
    base::Descriptor socket;
    std::vector<std::byte> card;
    bool is_there = false;
  };
  /// A connection of which nothing is known yet.
  struct Guest {
    base::Descriptor socket;
    Greeting greeting;
    Arrival arrival;
    std::size_t filled = 0;
    base::Deadline deadline{kGuestTime};
  };

  [[nodiscard]] std::size_t count_missing() const {
    return static_cast<std::size_t>(
        std::count_if(arrived_.begin(), arrived_.end(), [](const Member& each) { return !each.is_there; }));
  }

  [[nodiscard]] std::string missing_text() const {
    std::vector<int> missing;
    for (int rank = 0; rank < job_.size; ++rank)
      if (!arrived_[static_cast<std::size_t>(rank)].is_there) missing.push_back(rank);
    return "of " + std::to_string(job_.size) + " ranks " + list_ranks(missing) +
           (missing.size() == 1 ? " has" : " have") + " not come to rank 0 at " + place_of(job_) +
           " within the time limit (WEFT_BOOTSTRAP_TIMEOUT)";
  }

  void wait(const base::Deadline& deadline) const {
    std::vector<pollfd> waits{{has_room() ? listener_.socket.get() : -1, POLLIN, 0}};
    for (const auto& guest : guests_) waits.push_back({guest->socket.get(), POLLIN, 0});
    ::poll(waits.data(), waits.size(),
           static_cast<int>(std::min<std::int64_t>(deadline.remaining_ms(), 200)));
  }

  [[nodiscard]] bool has_room() const {
    return guests_.size() < static_cast<std::size_t>(job_.size) + kMostStrangers;
  }

  void accept_all() {
    while (has_room()) {
      base::Descriptor socket(
          ::accept4(listener_.socket.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (!socket) return;
      auto guest = std::make_unique<Guest>();
      guest->socket = std::move(socket);
      guest->greeting.nonce = sockets::make_nonce();
      if (send_all(guest->socket.get(), bytes_of(guest->greeting), base::Deadline(0)))
        guests_.push_back(std::move(guest));
    }
  }

  /// Returns false when the guest is not one any more.
  bool read(Guest& guest) {
    const std::span<std::byte> rest = bytes_of(guest.arrival).subspan(guest.filled);
    const ssize_t got = ::recv(guest.socket.get(), rest.data(), rest.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return true;
    if (got <= 0) return false;
    guest.filled += static_cast<std::size_t>(got);
    if (guest.filled != sizeof(Arrival)) return true;
    take(guest);
    return false;
  }

  void take(Guest& guest) {
    const Arrival& arrival = guest.arrival;
    if (arrival.magic != kMagic || arrival.bytes > kMostBytes ||
        !sockets::are_equal(arrival.proof, proof_of(arrival, guest.greeting.nonce))) {
      log_.warn("port " + std::to_string(job_.port) +
                ": a stranger is refused, or a rank with another WEFT_JOB_SECRET");
      return;
    }
    if (arrival.version != kVersion) return refuse(guest, "rank 0 runs with another version of weft");
    if (arrival.size != job_.size)
      return refuse(guest, "rank " + std::to_string(arrival.rank) + " was started as one of " +
                               std::to_string(arrival.size) + " ranks, rank 0 as one of " +
                               std::to_string(job_.size));
    if (arrival.rank <= 0 || arrival.rank >= job_.size ||
        arrived_[static_cast<std::size_t>(arrival.rank)].is_there)
      return refuse(guest,
                    "there is a rank " + std::to_string(arrival.rank) + " already (" + job_.told_by + ")");
    arrived_[static_cast<std::size_t>(arrival.rank)] =
        Member{std::move(guest.socket), {arrival.card.begin(), arrival.card.begin() + arrival.bytes}, true};
  }

  static std::vector<std::byte> result_of(const std::string& text) {
    Result head;
    head.bytes = static_cast<std::uint32_t>(text.size());
    std::vector<std::byte> result(sizeof head + text.size());
    std::memcpy(result.data(), &head, sizeof head);
    std::memcpy(result.data() + sizeof head, text.data(), text.size());
    return result;
  }

  void refuse(const Guest& guest, const std::string& why) {
    static_cast<void>(send_all(guest.socket.get(), result_of(why), base::Deadline(0)));
  }

  void tell(std::span<const std::byte> result) {
    const base::Deadline deadline(kResultTime);
    for (const Member& each : arrived_)
      if (each.socket) static_cast<void>(send_all(each.socket.get(), result, deadline));
  }

  [[noreturn]] void fail(const std::string& why) {
    tell(result_of(why));
    throw Error(why);
  }

  const EnvironmentJob& job_;
  const base::Log log_{base::LogLevel::warn, 0};
  sockets::Listener listener_;
  std::vector<Member> arrived_;  // by rank
  std::vector<std::unique_ptr<Guest>> guests_;
};

/// Connects to rank 0, which may not listen yet. Returns an empty descriptor at the deadline, and why.
base::Descriptor reach(const EnvironmentJob& job, const base::Deadline& deadline, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  while (!deadline.passed()) {
    addrinfo* found = nullptr;
    const int failure = ::getaddrinfo(job.host.c_str(), std::to_string(job.port).c_str(), &hints, &found);
    const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
    if (failure != 0) why = std::string("its name cannot be resolved: ") + ::gai_strerror(failure);
    for (const addrinfo* each = failure == 0 ? found : nullptr; each != nullptr; each = each->ai_next) {
      base::Descriptor socket(::socket(each->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
      int error = 0;
      if (::connect(socket.get(), each->ai_addr, each->ai_addrlen) != 0) {
        error = errno;
        pollfd ready{socket.get(), POLLOUT, 0};
        socklen_t size = sizeof error;
        if (error == EINPROGRESS &&
            (::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(deadline.remaining_ms(), 3000))) !=
                 1 ||
             ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size) != 0))
          error = ETIMEDOUT;
      }
      if (error == 0) return socket;
      why = base::failed_call("connect", error);
    }
    std::this_thread::sleep_for(kBeforeNextTry);
  }
  return {};
}

}  // namespace

Cards gather_cards(const EnvironmentJob& job, std::span<const std::byte> own,
                   const base::Deadline& deadline) {
  return Gathering(job, own).run(deadline);
}

Cards bring_card(const EnvironmentJob& job, std::span<const std::byte> own, const base::Deadline& deadline) {
  sockets::prepare_greetings();
  std::string why = "it does not answer";
  // Another program may have the port for a moment: then rank 0 is asked again.
  while (!deadline.passed()) {
    const base::Descriptor socket = reach(job, deadline, why);
    if (!socket) break;
    Greeting greeting;
    if (!receive_all(socket.get(), bytes_of(greeting), deadline) || greeting.magic != kMagic) {
      why = "who listens there is no rank 0 of weft";
      std::this_thread::sleep_for(kBeforeNextTry);
      continue;
    }
    if (greeting.version != kVersion)
      throw Error("rank 0 at " + place_of(job) + " runs with another version of weft");
    Arrival arrival;
    arrival.rank = job.rank;
    arrival.size = job.size;
    arrival.bytes = static_cast<std::uint32_t>(own.size());
    std::copy(own.begin(), own.end(), arrival.card.begin());
    arrival.proof = proof_of(arrival, greeting.nonce);
    Result result;
    // Rank 0 has the time limit too, and tells who is missing.
    const base::Deadline patience(static_cast<double>(deadline.remaining_ms()) / 1000 + kResultTime);
    if (!send_all(socket.get(), bytes_of(arrival), deadline) ||
        !receive_all(socket.get(), bytes_of(result), patience) || result.magic != kMagic)
      throw Error("rank 0 at " + place_of(job) +
                  " has closed the connection: it has ended, or WEFT_JOB_SECRET differs");
    if (result.count == 0) {
      std::string text(std::min<std::size_t>(result.bytes, 4096), '\0');
      static_cast<void>(receive_all(socket.get(), std::as_writable_bytes(std::span(text)), patience));
      throw Error(text);
    }
    if (result.count != static_cast<std::uint32_t>(job.size))
      throw Error("rank 0 has told of another number of ranks");
    Cards cards;
    for (int rank = 0; rank < job.size; ++rank) {
      Card card;
      if (!receive_all(socket.get(), bytes_of(card), patience) || card.bytes > kMostBytes)
        throw Error("rank 0 at " + place_of(job) + " has ended while it told of the ranks");
      cards.emplace_back(card.data.begin(), card.data.begin() + card.bytes);
    }
    return cards;
  }
  throw Error("rank " + std::to_string(job.rank) + " of " + std::to_string(job.size) +
              " cannot reach rank 0 at " + place_of(job) +
              " within the time limit (WEFT_BOOTSTRAP_TIMEOUT): " + why + " (" + job.told_by + ")");
}

}  // namespace weft::bootstrap::contact
