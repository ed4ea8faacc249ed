#include "bootstrap/launchers/environment/meeting.hpp"

#include <cstring>
#include <utility>
#include <vector>

#include "bootstrap/arriving_bytes.hpp"
#include "bootstrap/launchers/environment/arrival.hpp"
#include "bootstrap/launchers/environment/whole_messages.hpp"
#include "bootstrap/launchers/job_secret.hpp"

namespace weft::bootstrap::contact {

namespace {

Meeting failed(std::string why, bool is_final = false) {
  return {std::nullopt, {}, std::move(why), is_final, true};
}

}  // namespace

Meeting read_result(int socket, const EnvironmentJob& job, const sockets::Key& key,
                    const base::Deadline& patience) {
  const std::string rank_0 = "rank 0 at " + address_of(job);
  ResultHead head;
  if (!receive_all(socket, bytes_of(head), patience) || head.magic != kArrivalMagic)
    return failed(rank_0 + " has closed the connection: it has ended, or WEFT_JOB_SECRET differs");
  if (head.kind == ResultKind::unreadable)
    return failed(rank_0 + " has refused this rank: WEFT_JOB_SECRET differs");
  const std::size_t cards = static_cast<std::size_t>(job.size) * sizeof(SizedCard);
  const std::size_t most = (head.kind == ResultKind::cards ? cards : kMostText) + sockets::kSealBytes;
  if (head.bytes < sockets::kSealBytes || head.bytes > most)
    return failed(rank_0 + " has sent a list of " + std::to_string(head.bytes) + " bytes, which cannot be");
  ArrivingBytes arriving;
  for (arriving.expect(head.bytes); !arriving.is_complete();) {
    const std::span<std::byte> room = arriving.room();
    if (!receive_all(socket, room, patience))
      return failed(rank_0 + " has ended while it sent the list of ranks");
    arriving.came(room.size());
  }
  const std::vector<std::byte> sealed = arriving.take();
  std::vector<std::byte> content(sealed.size() - sockets::kSealBytes);
  if (!unseal_result(head.kind, key, sealed, content))
    return failed("who answers at " + address_of(job) +
                  " is not rank 0 of this job: WEFT_JOB_SECRET differs");
  if (head.kind == ResultKind::text)
    return failed({reinterpret_cast<const char*>(content.data()), content.size()}, true);
  if (content.size() != cards) return failed("rank 0 has sent the list of another number of ranks", true);
  Meeting meeting;
  meeting.cards.emplace();
  meeting.key = key;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(job.size); ++rank) {
    SizedCard card;
    std::memcpy(&card, content.data() + rank * sizeof card, sizeof card);
    const auto bytes = from_sized(card);
    if (!bytes) return failed("rank 0 has sent a rank in another form", true);
    meeting.cards->push_back(*bytes);
  }
  return meeting;
}

Meeting meet(int socket, const EnvironmentJob& job, std::span<const std::byte> own,
             const base::Deadline& deadline) {
  Greeting greeting;
  if (!receive_all(socket, bytes_of(greeting), deadline) || greeting.magic != kArrivalMagic)
    return {std::nullopt, {}, "who listens there is no rank 0 of weft", false, false};
  if (greeting.version != kArrivalVersion)
    return failed("rank 0 at " + address_of(job) + " runs with another version of weft", true);
  const bool has_secret = configured_secret().has_value();
  if (has_secret != (greeting.has_secret != 0))
    return failed("WEFT_JOB_SECRET differs: it is " + std::string(has_secret ? "" : "not ") +
                  "set here, and rank 0 at " + address_of(job) + " has " + (has_secret ? "none" : "one") +
                  "; set it to the same text on all ranks");
  const sockets::KeyPair pair = sockets::make_key_pair();
  Arrival arrival;
  arrival.has_secret = has_secret ? 1 : 0;
  arrival.rank = job.rank;
  arrival.size = job.size;
  arrival.nonce = sockets::make_nonce();
  arrival.key = pair.known_to_all;
  const auto keys = keys_of(pair, greeting.key, greeting, arrival);
  if (!keys) return failed("who listens at " + address_of(job) + " has sent a key that is none");
  SizedCard card = to_sized(own);
  sockets::seal_once(keys->arrival, bytes_of(card), arrival.sealed);
  const base::Deadline patience(static_cast<double>(deadline.remaining_ms()) / 1000 + kResultTime);
  if (!send_all(socket, bytes_of(arrival), deadline))
    return failed("rank 0 at " + address_of(job) + " has closed the connection");
  return read_result(socket, job, keys->result, patience);
}

}  // namespace weft::bootstrap::contact
