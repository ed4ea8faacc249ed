#include "run/hosts/description.hpp"

#include <weft/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

namespace weft::tools::run {

namespace {

using nlohmann::json;

constexpr const char* kDigits = "0123456789abcdef";

std::string to_hex(std::span<const std::byte> bytes) {
  std::string text;
  for (const std::byte each : bytes) {
    text += kDigits[std::to_integer<unsigned>(each) >> 4];
    text += kDigits[std::to_integer<unsigned>(each) & 15];
  }
  return text;
}

std::vector<std::byte> from_hex(const std::string& text) {
  std::vector<std::byte> bytes;
  if (text.size() % 2 != 0 || text.find_first_not_of(kDigits) != std::string::npos)
    throw Error("a value in hexadecimal digits is damaged");
  for (std::size_t place = 0; place < text.size(); place += 2)
    bytes.push_back(static_cast<std::byte>(std::stoi(text.substr(place, 2), nullptr, 16)));
  return bytes;
}

}  // namespace

std::string to_line(const Description& from) {
  const json text = {{"version", from.version},
                     {"host", from.host},
                     {"number", from.number},
                     {"hosts", from.hosts},
                     {"ranks", from.ranks},
                     {"first", from.first},
                     {"count", from.count},
                     {"job", from.job_id},
                     {"secret", to_hex(from.secret)},
                     {"root", to_hex(from.root)},
                     {"contact_seconds", from.contact_seconds},
                     {"peer_timeout", from.peer_timeout},
                     {"directory", from.directory},
                     {"program", from.program},
                     {"path", from.path},
                     {"arguments", from.arguments},
                     {"environment", from.environment},
                     {"binding", static_cast<int>(from.binding)},
                     {"explains", from.explains}};
  // Arguments may be any bytes.
  return text.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

Description parse_description(const std::string& line) try {
  const json text = json::parse(line);
  Description to;
  text.at("version").get_to(to.version);
  text.at("host").get_to(to.host);
  text.at("number").get_to(to.number);
  text.at("hosts").get_to(to.hosts);
  text.at("ranks").get_to(to.ranks);
  text.at("first").get_to(to.first);
  text.at("count").get_to(to.count);
  text.at("job").get_to(to.job_id);
  const std::vector<std::byte> secret = from_hex(text.at("secret").get<std::string>());
  if (secret.size() != to.secret.size()) throw Error("the secret has a wrong length");
  std::copy(secret.begin(), secret.end(), to.secret.begin());
  to.root = from_hex(text.at("root").get<std::string>());
  text.at("contact_seconds").get_to(to.contact_seconds);
  text.at("peer_timeout").get_to(to.peer_timeout);
  text.at("directory").get_to(to.directory);
  text.at("program").get_to(to.program);
  text.at("path").get_to(to.path);
  text.at("arguments").get_to(to.arguments);
  text.at("environment").get_to(to.environment);
  to.binding = static_cast<Binding>(text.at("binding").get<int>());
  text.at("explains").get_to(to.explains);
  if (to.ranks < 1 || to.count < 1 || to.first < 0 || to.first > to.ranks - to.count || to.number < 0 ||
      to.number >= to.hosts)
    throw Error("its ranks cannot be");
  return to;
} catch (const json::exception&) {
  throw Error("--agent: the standard input has no description of a job: `weft run --hosts` starts agents");
}

}  // namespace weft::tools::run
