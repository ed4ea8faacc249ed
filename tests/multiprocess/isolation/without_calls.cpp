// without_calls ERRNO CALL[,CALL...] PROGRAM ARGUMENTS...: runs a program for which the kernel refuses calls,
// as profiles of containers do. ERRNO: 1 (EPERM), 38 (ENOSYS) and the like. 77: such a filter cannot be set
// here.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <sstream>
#include <string>
#include <vector>

namespace {

const std::map<std::string, unsigned> kCalls{{"process_vm_readv", SYS_process_vm_readv},
                                             {"process_vm_writev", SYS_process_vm_writev},
                                             {"membarrier", SYS_membarrier},
                                             {"pidfd_open", SYS_pidfd_open},
                                             {"memfd_create", SYS_memfd_create},
                                             {"signalfd4", SYS_signalfd4},
                                             {"epoll_create1", SYS_epoll_create1},
                                             {"madvise", SYS_madvise},
                                             {"socketpair", SYS_socketpair},
                                             {"fallocate", SYS_fallocate}};

sock_filter statement(unsigned code, unsigned value) {
  return {static_cast<std::uint16_t>(code), 0, 0, value};
}

}  // namespace

int main(int count, char** arguments) {
  if (count < 4) return 2;
  const auto error = static_cast<unsigned>(std::atoi(arguments[1]));
  std::vector<sock_filter> filter{statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr))};
  std::istringstream calls(arguments[2]);
  for (std::string call; std::getline(calls, call, ',');) {
    const bool is_of_executables = call == "executable_memfd";
    const auto known = kCalls.find(is_of_executables ? "memfd_create" : call);
    if (known == kCalls.end()) return 2;
    if (is_of_executables) {  // as with vm.memfd_noexec=2: those without MFD_NOEXEC_SEAL
      filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 4, known->second});
      filter.push_back(statement(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, args[1])));
      filter.push_back({BPF_JMP | BPF_JSET | BPF_K, 1, 0, 8});
      filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
      filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
      continue;
    }
    filter.push_back({BPF_JMP | BPF_JEQ | BPF_K, 0, 1, known->second});
    filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | error));
  }
  filter.push_back(statement(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
  const sock_fprog program{static_cast<unsigned short>(filter.size()), filter.data()};
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
      ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
    return 77;
  ::execvp(arguments[3], arguments + 3);
  std::perror(arguments[3]);
  return 126;
}
