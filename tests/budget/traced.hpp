// Runs a piece of code in a child process, one instruction at a time.
#pragma once

#include <sys/ptrace.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>

namespace weft::test {

/// What single-stepping has seen.
struct Trace {
  std::uint64_t instructions = 0;
  std::uint64_t locked = 0;  // with a lock prefix, or an exchange with memory
  std::uint64_t syscalls = 0;
  std::uint64_t first_locked = 0;  // its address
  std::string problem;             // why there is no trace
};

/// Marks the beginning and the end of what is traced; called by the code of the child.
inline void trace_mark() { asm volatile("int3" ::: "memory"); }

/// Whether the instruction that starts with these bytes locks the bus or a line.
[[nodiscard]] inline bool is_locked(const unsigned char* code) {
  std::size_t at = 0;
  for (; at < 14; ++at) {
    const unsigned char byte = code[at];
    if (byte == 0xf0) return true;
    const bool prefix = byte == 0x66 || byte == 0x67 || byte == 0xf2 || byte == 0xf3 || byte == 0x2e ||
                        byte == 0x36 || byte == 0x3e || byte == 0x26 || byte == 0x64 || byte == 0x65 ||
                        (byte & 0xf0) == 0x40;
    if (!prefix) break;
  }
  // xchg with a memory operand is locked without a prefix.
  return (code[at] == 0x86 || code[at] == 0x87) && (code[at + 1] >> 6) != 3;
}

/// Forks; the child runs `code`, which calls trace_mark() twice.
[[nodiscard]] inline Trace trace(const std::function<void()>& code) {
  Trace result;
  const pid_t child = ::fork();
  if (child == 0) {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(99);
    code();
    ::_exit(0);
  }
  const auto give_up = [&](const std::string& problem) {
    result.problem = problem;
    ::kill(child, SIGKILL);
    int status = 0;
    ::waitpid(child, &status, 0);
    return result;
  };
  int status = 0;
  if (::waitpid(child, &status, 0) != child) return give_up("the child was lost");
  if (WIFEXITED(status)) {
    result.problem =
        "ptrace is not permitted here (child exited with " + std::to_string(WEXITSTATUS(status)) + ")";
    return result;
  }
  if (!WIFSTOPPED(status) || WSTOPSIG(status) != SIGTRAP)
    return give_up("the child stopped before its first mark");
  for (;;) {
    user_regs_struct registers{};
    if (::ptrace(PTRACE_GETREGS, child, nullptr, &registers) != 0) return give_up("registers cannot be read");
    unsigned char bytes[16] = {};
    const iovec local{bytes, sizeof bytes};
    const iovec remote{reinterpret_cast<void*>(registers.rip), sizeof bytes};
    if (::process_vm_readv(child, &local, 1, &remote, 1, 0) < 2) {
      for (int word = 0; word < 2; ++word) {
        const long value =
            ::ptrace(PTRACE_PEEKTEXT, child, registers.rip + 8U * static_cast<unsigned>(word), nullptr);
        __builtin_memcpy(bytes + 8 * word, &value, 8);
      }
    }
    if (bytes[0] == 0xcc) break;  // the second mark
    ++result.instructions;
    if (is_locked(bytes)) {
      if (result.locked++ == 0) result.first_locked = registers.rip;
    }
    if (bytes[0] == 0x0f && bytes[1] == 0x05) ++result.syscalls;
    if (::ptrace(PTRACE_SINGLESTEP, child, nullptr, nullptr) != 0)
      return give_up("single-stepping is not possible");
    if (::waitpid(child, &status, 0) != child || !WIFSTOPPED(status)) {
      result.problem = "the child ended between its marks";
      return result;
    }
    if (WSTOPSIG(status) != SIGTRAP)
      return give_up("the child got signal " + std::to_string(WSTOPSIG(status)));
  }
  ::kill(child, SIGKILL);
  ::waitpid(child, &status, 0);
  return result;
}

}  // namespace weft::test
