#include "common/files/removed_on_signal.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

namespace weft::tools {
namespace {

constexpr int kSlots = 16;
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

struct Slot {
  std::atomic<pid_t> owner{0};  // 0: free
  char path[PATH_MAX];
};
Slot slots[kSlots];
std::mutex mutex;  // of those who take slots; a handler only reads

// From here on only what a handler of a signal may call.

struct FolderEntry {  // linux_dirent64
  std::uint64_t inode;
  std::int64_t offset;
  std::uint16_t length;
  std::uint8_t type;
  char name[1];
};

void remove_all(int folder, const char* name, int depth) noexcept;

void remove_entries(int folder, int depth) noexcept {
  alignas(FolderEntry) char buffer[2048];
  for (;;) {
    const long count = ::syscall(SYS_getdents64, folder, buffer, sizeof buffer);
    if (count <= 0) return;
    for (long at = 0; at < count;) {
      const auto* const entry = reinterpret_cast<const FolderEntry*>(buffer + at);
      at += entry->length;
      const char* const name = buffer + at - entry->length + offsetof(FolderEntry, name);
      if (std::strcmp(name, ".") != 0 && std::strcmp(name, "..") != 0) remove_all(folder, name, depth + 1);
    }
  }
}

void remove_all(int folder, const char* name, int depth) noexcept {
  constexpr int kDeepest = 16;
  if (::unlinkat(folder, name, 0) == 0 || (errno != EISDIR && errno != EPERM)) return;
  const int inner = ::openat(folder, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  if (inner < 0) return;
  if (depth < kDeepest) remove_entries(inner, depth);
  ::close(inner);
  ::unlinkat(folder, name, AT_REMOVEDIR);
}

void on_signal(int signal) {
  const int error = errno;
  const pid_t self = ::getpid();
  for (const Slot& slot : slots)
    // Pairs with the release of the one who has written the path.
    if (slot.owner.load(std::memory_order_acquire) == self) remove_all(AT_FDCWD, slot.path, 0);
  errno = error;
  ::raise(signal);  // the disposition is the default again; it takes effect when this function returns
}

void take_signals() {
  for (const int signal : kSignals) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler != SIG_DFL) continue;
    action.sa_handler = on_signal;
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

RemovedOnSignal::RemovedOnSignal(const std::string& path) {
  std::error_code error;
  const std::string absolute = std::filesystem::absolute(path, error).string();
  if (error || absolute.size() >= PATH_MAX) return;
  const std::lock_guard lock(mutex);
  take_signals();
  for (int i = 0; i < kSlots && slot_ < 0; ++i)
    if (slots[i].owner.load(std::memory_order_relaxed) == 0) slot_ = i;
  if (slot_ < 0) return;
  std::memcpy(slots[slot_].path, absolute.c_str(), absolute.size() + 1);
  // Pairs with the acquire in on_signal().
  slots[slot_].owner.store(::getpid(), std::memory_order_release);
}

RemovedOnSignal::~RemovedOnSignal() {
  if (slot_ >= 0) slots[slot_].owner.store(0, std::memory_order_release);
}

RemovedOnSignal::RemovedOnSignal(RemovedOnSignal&& other) noexcept : slot_(std::exchange(other.slot_, -1)) {}

}  // namespace weft::tools
