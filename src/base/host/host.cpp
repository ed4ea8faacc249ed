#include "base/host/host.hpp"

#include "base/host/own_threads.hpp"

#include <weft/binding/own_threads.hpp>

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <fstream>
#include <string>
#include <string_view>

namespace weft::base {

namespace {

constinit std::atomic<int> counted_threads{0};

}  // namespace

void count_own_thread(int change) noexcept { counted_threads.fetch_add(change, std::memory_order_relaxed); }

std::uint64_t read_boot_id() {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string text;
  std::getline(file, text);
  std::uint64_t hash = 0xcbf29ce484222325;  // FNV-1a, 64 bits
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3;
  return hash;
}

bool is_only_thread() noexcept {
  // A folder has a link for each folder in it, one for itself, and one from its parent.
  constexpr nlink_t kOfOneThread = 3;
#ifdef __SANITIZE_THREAD__
  // ThreadSanitizer has a thread of its own from the first thread on that the program makes.
  constexpr nlink_t kOfTheSanitizer = 1;
#else
  constexpr nlink_t kOfTheSanitizer = 0;
#endif
  const auto own = static_cast<nlink_t>(counted_threads.load(std::memory_order_relaxed));
  struct stat threads {};
  return ::stat("/proc/self/task", &threads) == 0 && threads.st_nlink <= kOfOneThread + kOfTheSanitizer + own;
}

std::uint64_t read_pid_namespace() {
  struct stat information {};
  return ::stat("/proc/self/ns/pid", &information) == 0 ? information.st_ino : 0;
}

std::uint64_t read_user_namespace() {
  struct stat information {};
  return ::stat("/proc/self/ns/user", &information) == 0 ? information.st_ino : 0;
}

bool has_own_proc() {
  std::array<char, 32> name{};
  return ::readlink("/proc/self", name.data(), name.size() - 1) > 0 &&
         std::string_view(name.data()) == std::to_string(::getpid());
}

}  // namespace weft::base

namespace weft {

int own_threads() noexcept { return base::counted_threads.load(std::memory_order_relaxed); }

}  // namespace weft
