// Which hosts a job runs on, and how many ranks each may have.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace weft::tools::run {

struct Host {
  std::string name;  // a name or an address, as the user gave it
  int slots = 1;
};

/// Parses "a:4,b:4,[fd00::1]:2"; without a number a host has one slot. Throws weft::Error.
std::vector<Host> parse_hosts(std::string_view text);
/// Reads a file with one host on each line: "a", "a:4" or "a slots=4"; `#` begins a comment. Throws
/// weft::Error that names the line.
std::vector<Host> read_hostfile(const std::string& path);
/// The number of ranks on each host when `ranks` fill the slots host by host; hosts without ranks are left
/// out of the list. Throws weft::Error when there are not enough slots.
std::vector<int> place_ranks(std::vector<Host>& hosts, int ranks);
int count_slots(const std::vector<Host>& hosts);
/// Returns true for "localhost" and the name of this host.
bool is_own_name(std::string_view host);

}  // namespace weft::tools::run
