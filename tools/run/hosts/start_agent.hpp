#pragma once

#include <sys/types.h>

#include <string>
#include <string_view>
#include <vector>

#include "base/descriptor.hpp"

namespace weft::tools::run {

/// Lines that come before any other through the output of the command: from the shell of the other host,
/// where ssh is used, and from the agent.
inline constexpr std::string_view kShellBegins = "weft: the shell of this host has begun";
inline constexpr std::string_view kAgentBegins = "weft: the agent of this host has begun";

/// The command that starts the agent of a host: by `launcher_exec`, whose words are followed by the host and
/// the command; by ssh otherwise; and without either on this host. The agent is this program, by its absolute
/// path. Throws weft::Error.
std::vector<std::string> agent_command(const std::string& host, const std::string& launcher_exec);

struct StartedAgent {
  pid_t process = 0;
  base::Descriptor input;   // does not block; the agent ends when it is closed
  base::Descriptor output;  // of both kinds; does not block
};
/// The command blocks no signals and learns of the end of its children, whatever this process was started
/// with. Throws weft::Error that names the command.
StartedAgent start_agent(const std::vector<std::string>& command);

}  // namespace weft::tools::run
