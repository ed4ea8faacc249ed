#include "bootstrap/launchers/environment/arrival.hpp"

#include <cstring>

#include "bootstrap/launchers/job_secret.hpp"

namespace weft::bootstrap::contact {

namespace {

/// One kind of result is none of another.
sockets::Key key_of(ResultKind kind, const sockets::Key& key) {
  return sockets::derive(key, "weft kind of result", std::as_bytes(std::span(&kind, 1)));
}

}  // namespace

std::optional<MeetingKeys> keys_of(const sockets::KeyPair& own, const sockets::PublicKey& other,
                                   const Greeting& greeting, const Arrival& arrival) {
  const auto secret = secret_between(own, other);
  if (!secret.has_value()) return std::nullopt;
  std::array<std::byte, sizeof greeting + offsetof(Arrival, sealed)> said;
  std::memcpy(said.data(), &greeting, sizeof greeting);
  std::memcpy(said.data() + sizeof greeting, &arrival, said.size() - sizeof greeting);
  return MeetingKeys{sockets::derive(*secret, "weft arrival", said),
                     sockets::derive(*secret, "weft result", said)};
}

std::vector<std::byte> sealed_result(ResultKind kind, const sockets::Key& key,
                                     std::span<const std::byte> content) {
  ResultHead head;
  head.kind = kind;
  head.bytes = static_cast<std::uint32_t>(content.size() + sockets::kSealBytes);
  std::vector<std::byte> result(sizeof head + head.bytes);
  std::memcpy(result.data(), &head, sizeof head);
  sockets::seal_once(key_of(kind, key), content, std::span(result).subspan(sizeof head));
  return result;
}

bool unseal_result(ResultKind kind, const sockets::Key& key, std::span<const std::byte> sealed,
                   std::span<std::byte> content) {
  return sockets::unseal_once(key_of(kind, key), sealed, content);
}

}  // namespace weft::bootstrap::contact
