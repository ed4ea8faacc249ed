#include "bootstrap/launchers/job_secret.hpp"

#include <weft/error.hpp>

#include <cstdlib>
#include <span>

namespace weft::bootstrap::contact {

std::optional<sockets::Key> configured_secret() {
  const char* const text = std::getenv("WEFT_JOB_SECRET");
  if (text == nullptr || *text == '\0') return std::nullopt;
  return sockets::secret_of_text(text);
}

std::optional<sockets::Key> secret_between(const sockets::KeyPair& own, const sockets::PublicKey& other) {
  sockets::Key shared;
  if (!sockets::agree(own, other, shared)) return std::nullopt;
  const auto secret = configured_secret();
  return sockets::derive(shared, secret ? "weft told secret" : "weft no secret",
                         secret ? std::span<const std::byte>(*secret) : std::span<const std::byte>());
}

sockets::Key secret_of_host(const sockets::KeyPair& own, const sockets::PublicKey& other,
                            std::string_view job_id) {
  const auto secret = secret_between(own, other);
  if (!secret.has_value())
    throw Error(ErrorClass::job, "a rank has sent a key by which nobody can be reached");
  return sockets::derive(*secret, "weft host", std::as_bytes(std::span(job_id)));
}

}  // namespace weft::bootstrap::contact
