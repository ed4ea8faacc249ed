#include "run/hosts/description.hpp"

#include <weft/error.hpp>

#include <nlohmann/json.hpp>

#include <algorithm>

#include "base/hex.hpp"

namespace weft::tools::run {

namespace {

using nlohmann::json;

std::vector<std::byte> bytes_of(const json& value) {
  const auto bytes = base::from_hex(value.get<std::string>());
  if (!bytes.has_value()) throw Error("a value in hexadecimal digits is damaged");
  return *bytes;
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
                     {"secret", base::to_hex(from.secret)},
                     {"root", base::to_hex(from.root)},
                     {"contact_seconds", from.contact_seconds},
                     {"peer_timeout", from.peer_timeout},
                     {"directory", from.directory},
                     {"program", from.program},
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
  const std::vector<std::byte> secret = bytes_of(text.at("secret"));
  if (secret.size() != to.secret.size()) throw Error("the secret has a wrong length");
  std::copy(secret.begin(), secret.end(), to.secret.begin());
  to.root = bytes_of(text.at("root"));
  text.at("contact_seconds").get_to(to.contact_seconds);
  text.at("peer_timeout").get_to(to.peer_timeout);
  text.at("directory").get_to(to.directory);
  text.at("program").get_to(to.program);
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
