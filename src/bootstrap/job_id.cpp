#include "bootstrap/job_id.hpp"

#include <weft/error.hpp>

#include <sys/random.h>

#include <array>
#include <cerrno>

#include "base/system_call.hpp"

namespace weft::bootstrap {
namespace {

constexpr std::string_view kDigits = "0123456789abcdef";
constexpr std::size_t kLength = 32;

void fill(std::span<std::byte> room, const char* what) {
  ssize_t filled = 0;
  do {
    filled = getrandom(room.data(), room.size(), 0);
  } while (filled < 0 && errno == EINTR);
  if (filled != static_cast<ssize_t>(room.size()))
    throw Error(ErrorClass::job, "the kernel gave no random " + std::string(what) + ": " +
                                     base::failed_call("getrandom", errno));
}

}  // namespace

std::string random_job_id() {
  std::array<std::byte, kLength / 2> random{};
  fill(random, "job id");
  std::string id;
  for (const std::byte byte : random) {
    id += kDigits[std::to_integer<unsigned>(byte) >> 4];
    id += kDigits[std::to_integer<unsigned>(byte) & 15];
  }
  return id;
}

Secret random_secret() {
  Secret secret;
  fill(secret, "secret");
  return secret;
}

std::string instance_id(std::string_view job_id, std::uint32_t instance) {
  std::string id{job_id.substr(0, kLength - 8)};
  for (int shift = 28; shift >= 0; shift -= 4) id += kDigits[instance >> shift & 15];
  return id;
}

bool is_job_id(std::string_view text) {
  return text.size() == kLength && text.find_first_not_of(kDigits) == std::string_view::npos;
}

}  // namespace weft::bootstrap
