#include "run/job/host_list.hpp"

#include <weft/error.hpp>

#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "base/text/parse.hpp"

namespace weft::tools::run {

namespace {

constexpr std::int64_t kMostSlots = 4096;

int parse_slots(std::string_view text, const std::string& where) {
  const auto slots = base::parse_integer(std::string(text));
  if (!slots || *slots < 1 || *slots > kMostSlots)
    throw Error(fmt::format("{}: \"{}\" is no number of slots: it must be an integer from 1 to {}", where,
                            text, kMostSlots));
  return static_cast<int>(*slots);
}

/// "a", "a:4", "fd00::1" or "[fd00::1]:4".
Host parse_host(std::string_view text, const std::string& where) {
  std::string_view name = text;
  std::string_view slots = "1";
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    const std::string_view rest = end == std::string_view::npos ? "" : text.substr(end + 1);
    if (end == std::string_view::npos || (!rest.empty() && !rest.starts_with(':')))
      throw Error(
          fmt::format("{}: \"{}\" is no host: it must be NAME, NAME:SLOTS or [ADDRESS]:SLOTS", where, text));
    name = text.substr(1, end - 1);
    if (!rest.empty()) slots = rest.substr(1);
  } else if (std::count(text.begin(), text.end(), ':') == 1) {
    name = text.substr(0, text.find(':'));
    slots = text.substr(text.find(':') + 1);
  }
  // A name that begins with a dash would be an option of the program that starts processes there.
  if (name.empty() || name.starts_with('-') ||
      name.find_first_of(" \t\"'`$;&|<>()\\") != std::string_view::npos)
    throw Error(
        fmt::format("{}: \"{}\" is no host: it must be NAME, NAME:SLOTS or [ADDRESS]:SLOTS", where, text));
  return {std::string(name), parse_slots(slots, where)};
}

void add(std::vector<Host>& hosts, Host host, const std::string& where) {
  const bool is_known =
      std::any_of(hosts.begin(), hosts.end(), [&](const Host& each) { return each.name == host.name; });
  if (is_known)
    throw Error(
        fmt::format("{}: the host {} is named twice: name it once, with all its slots", where, host.name));
  hosts.push_back(std::move(host));
}

}  // namespace

std::vector<Host> parse_hosts(std::string_view text) {
  const std::string where = fmt::format("--hosts {}", text);
  std::vector<Host> hosts;
  for (bool is_last = false; !is_last;) {
    const std::size_t comma = text.find(',');
    is_last = comma == std::string_view::npos;
    add(hosts, parse_host(text.substr(0, comma), where), where);
    if (!is_last) text.remove_prefix(comma + 1);
  }
  return hosts;
}

std::vector<Host> read_hostfile(const std::string& path) {
  std::ifstream file(path);
  if (!file) throw Error(fmt::format("--hostfile {}: it cannot be read", path));
  std::vector<Host> hosts;
  std::string line;
  for (int number = 1; std::getline(file, line); ++number) {
    const std::string where = fmt::format("--hostfile {}, line {}", path, number);
    std::istringstream words(line.substr(0, line.find('#')));
    std::string name;
    if (!(words >> name)) continue;
    Host host = parse_host(name, where);
    std::string word;
    while (words >> word) {
      constexpr std::string_view kSlots = "slots=";
      if (!word.starts_with(kSlots))
        throw Error(fmt::format(
            "{}: \"{}\" is not understood: a line is HOST, HOST:SLOTS or HOST slots=SLOTS", where, word));
      host.slots = parse_slots(std::string_view(word).substr(kSlots.size()), where);
    }
    add(hosts, std::move(host), where);
  }
  if (hosts.empty()) throw Error(fmt::format("--hostfile {}: it names no host", path));
  return hosts;
}

int count_slots(const std::vector<Host>& hosts) {
  int slots = 0;
  for (const Host& each : hosts) slots += each.slots;
  return slots;
}

std::vector<int> place_ranks(std::vector<Host>& hosts, int ranks) {
  if (ranks > count_slots(hosts))
    throw Error(fmt::format("-n {} is more than the hosts have slots: they have {} (HOST:SLOTS)", ranks,
                            count_slots(hosts)));
  std::vector<int> ranks_per_host;
  for (const Host& each : hosts) {
    const int here = std::min(each.slots, ranks);
    if (here == 0) break;
    ranks_per_host.push_back(here);
    ranks -= here;
  }
  hosts.resize(ranks_per_host.size());
  return ranks_per_host;
}

bool is_own_name(std::string_view host) {
  std::array<char, 256> own{};
  if (host == "localhost") return true;
  return ::gethostname(own.data(), own.size() - 1) == 0 && host == std::string_view(own.data());
}

}  // namespace weft::tools::run
