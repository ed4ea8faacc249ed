#include "run/hosts/start_agent.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <fmt/core.h>
#include <fmt/format.h>
#include <signal.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <sstream>

#include "base/system_call.hpp"
#include "run/job/host_list.hpp"

namespace weft::tools::run {

std::vector<std::string> agent_command(const std::string& host, const std::string& launcher_exec) {
  std::error_code error;
  const std::string own = std::filesystem::read_symlink("/proc/self/exe", error).string();
  if (error) throw Error("the path of this program cannot be read: " + error.message());
  std::vector<std::string> command;
  std::string program = own;
  if (!launcher_exec.empty()) {
    std::istringstream words(launcher_exec);
    for (std::string word; words >> word;) command.push_back(word);
    if (command.empty()) throw Error("--launcher-exec is blank: it must be a command");
    command.push_back(host);
  } else if (!is_own_name(host)) {
    // Without a question that nobody would see.
    command = {"ssh", "-o", "BatchMode=yes", "-T", host};
    // The shell of the other host takes it apart; any kind of shell understands this.
    command.insert(command.end(), {"echo", fmt::format("'{}'", kShellBegins), ";", "exec"});
    program.assign(1, '\'');
    for (const char each : own) {
      if (each == '\'') program.append("'\\'");
      program.push_back(each);
      if (each == '\'') program.push_back('\'');
    }
    program.push_back('\'');
  }
  command.insert(command.end(), {program, "run", "--agent"});
  return command;
}

StartedAgent start_agent(const std::vector<std::string>& command) {
  int input[2];
  int output[2];
  if (::pipe2(input, O_CLOEXEC) != 0)
    throw Error("a pipe cannot be opened: " + base::failed_call("pipe2", errno));
  base::Descriptor read_end(input[0]);
  StartedAgent started;
  started.input = base::Descriptor(input[1]);
  if (::pipe2(output, O_CLOEXEC) != 0)
    throw Error("a pipe cannot be opened: " + base::failed_call("pipe2", errno));
  started.output = base::Descriptor(output[0]);
  base::Descriptor write_end(output[1]);
  for (const base::Descriptor* end : {&started.input, &started.output})
    ::fcntl(end->get(), F_SETFL, O_NONBLOCK);

  std::vector<char*> arguments;
  for (const std::string& each : command) arguments.push_back(const_cast<char*>(each.c_str()));
  arguments.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_adddup2(&actions, read_end.get(), STDIN_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, write_end.get(), STDERR_FILENO);
  sigset_t reset;
  sigemptyset(&reset);
  for (const int signal : {SIGPIPE, SIGCHLD}) sigaddset(&reset, signal);
  sigset_t blocked;
  sigemptyset(&blocked);
  ::posix_spawnattr_setsigdefault(&attributes, &reset);
  ::posix_spawnattr_setsigmask(&attributes, &blocked);
  ::posix_spawnattr_setpgroup(&attributes, 0);
  ::posix_spawnattr_setflags(&attributes,
                             POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP);
  const int failure =
      ::posix_spawnp(&started.process, arguments[0], &actions, &attributes, arguments.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failure != 0)
    throw Error(fmt::format("the command \"{}\" cannot be executed: {}", fmt::join(command, " "),
                            std::strerror(failure)));
  return started;
}

}  // namespace weft::tools::run
