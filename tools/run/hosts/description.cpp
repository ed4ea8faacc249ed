#include "run/hosts/description.hpp"

#include <weft/error.hpp>
#include <weft/version.hpp>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <span>

#include "base/text/hex.hpp"

namespace weft::tools::run {

namespace {

using nlohmann::json;

std::vector<std::byte> bytes_of(const json& value) {
  const auto bytes = base::from_hex(value.get<std::string>());
  if (!bytes.has_value()) throw Error("a value in hexadecimal digits is damaged");
  return *bytes;
}

/// Texts of the user are bytes in no encoding that is known.
std::string hex_of(const std::string& text) { return base::to_hex(std::as_bytes(std::span(text))); }

std::string text_of(const json& value) {
  const std::vector<std::byte> bytes = bytes_of(value);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<std::string> hex_of(const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  for (const std::string& each : texts) all.push_back(hex_of(each));
  return all;
}

json hex_of(const std::vector<std::pair<std::string, std::string>>& variables) {
  json all = json::array();
  for (const auto& [name, value] : variables) all.push_back({hex_of(name), hex_of(value)});
  return all;
}

}  // namespace

std::string to_line(const Description& from) {
  const json text = {{"version", from.version},
                     {"host", hex_of(from.host)},
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
                     {"directory", hex_of(from.directory)},
                     {"program", hex_of(from.program)},
                     {"arguments", hex_of(from.arguments)},
                     {"environment", hex_of(from.environment)},
                     {"binding", static_cast<int>(from.binding)},
                     {"explains", from.explains},
                     {"blocked", to_bits(from.signals.blocked)},
                     {"ignored", to_bits(from.signals.ignored)}};
  return text.dump() + "\n";
}

Description parse_description(const std::string& line) try {
  const json text = json::parse(line);
  Description to;
  text.at("version").get_to(to.version);
  if (to.version != library_version())
    throw Error(fmt::format("weft {} is installed here, and the launcher is of weft {}: install the same",
                            library_version(), to.version));
  to.host = text_of(text.at("host"));
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
  to.directory = text_of(text.at("directory"));
  to.program = text_of(text.at("program"));
  for (const json& each : text.at("arguments")) to.arguments.push_back(text_of(each));
  for (const json& each : text.at("environment"))
    to.environment.emplace_back(text_of(each.at(0)), text_of(each.at(1)));
  to.binding = static_cast<Binding>(text.at("binding").get<int>());
  text.at("explains").get_to(to.explains);
  to.signals = {from_bits(text.at("blocked").get<std::uint64_t>()),
                from_bits(text.at("ignored").get<std::uint64_t>())};
  if (to.ranks < 1 || to.count < 1 || to.first < 0 || to.first > to.ranks - to.count || to.number < 0 ||
      to.number >= to.hosts)
    throw Error("its ranks cannot be");
  return to;
} catch (const json::exception&) {
  throw Error("--agent: the standard input has no description of a job: `weft run --hosts` starts agents");
}

}  // namespace weft::tools::run
