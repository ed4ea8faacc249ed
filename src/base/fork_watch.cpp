#include "base/fork_watch.hpp"

#include <weft/error.hpp>

#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/uninterrupted.hpp"

namespace weft::base {

namespace {

/// A mark on a page that the kernel replaces by zeroes in every child, whichever call made it.
struct OriginalMark {
  std::atomic<std::uint32_t> is_original{1};
};

OriginalMark& make_mark() noexcept {
  // Used when there is no such page: then only pthread_atfork() notices children.
  static OriginalMark without_page;
  void* page = ::mmap(nullptr, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page == MAP_FAILED) return without_page;
  if (::madvise(page, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)), MADV_WIPEONFORK) != 0) {
    ::munmap(page, static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)));
    return without_page;
  }
  return *new (page) OriginalMark;
}

}  // namespace

/// All watches of the process. Never destroyed: a child may end after static destruction.
struct ForkWatches {
  std::mutex mutex;  // guards the list; held over fork()
  ForkWatch* first = nullptr;
  std::atomic<bool> is_copy{false};
  std::atomic<bool> has_watches{false};
  OriginalMark& mark = make_mark();

  ForkWatches() {
    ::pthread_atfork([] { get().mutex.lock(); }, [] { get().mutex.unlock(); },
                     [] {
                       get().now_in_child();
                       get().mutex.unlock();
                     });
  }
  static ForkWatches& get() {
    static ForkWatches& instance = *new ForkWatches;
    return instance;
  }

  void add(ForkWatch& watch) {
    const std::lock_guard lock(mutex);
    // A child of a process that had no watches may use weft like any other process.
    if (first == nullptr) mark.is_original.store(1, std::memory_order_relaxed);
    watch.next_ = first;
    if (first != nullptr) first->previous_ = &watch;
    first = &watch;
    has_watches.store(true, std::memory_order_relaxed);
  }
  void remove(ForkWatch& watch) {
    const std::lock_guard lock(mutex);
    (watch.previous_ != nullptr ? watch.previous_->next_ : first) = watch.next_;
    if (watch.next_ != nullptr) watch.next_->previous_ = watch.previous_;
    has_watches.store(first != nullptr, std::memory_order_relaxed);
  }
  void now_in_child() noexcept {
    if (first == nullptr || is_copy.exchange(true, std::memory_order_relaxed)) return;
    for (ForkWatch* watch = first; watch != nullptr; watch = watch->next_) watch->in_child_(watch->context_);
  }
  bool is_in_copy() noexcept {
    if (is_copy.load(std::memory_order_relaxed)) return true;
    if (!has_watches.load(std::memory_order_relaxed) || mark.is_original.load(std::memory_order_relaxed) != 0)
      return false;
    // This is a child in which no handler of fork() has run. It has one thread, and the list is unchanged.
    now_in_child();
    return true;
  }
};

namespace {

std::string refusal_of(const char* operation) {
  return std::string(operation) + ": process " + std::to_string(::getpid()) +
         " is a copy that fork() made of a process with a weft::Runtime, which alone is the rank: the copy "
         "may "
         "exec another program or end, but not use weft";
}

}  // namespace

ForkWatch::ForkWatch(Function in_child, void* context) : in_child_(in_child), context_(context) {
  ForkWatches::get().add(*this);
}
ForkWatch::~ForkWatch() { ForkWatches::get().remove(*this); }

bool is_forked_copy() noexcept { return ForkWatches::get().is_in_copy(); }

void refuse_in_forked_copy(const char* operation) {
  if (is_forked_copy()) throw Error(ErrorClass::state, refusal_of(operation));
}

void end_forked_copy(const char* operation) noexcept {
  const std::string line = "weft error: " + refusal_of(operation) + "\n";
  static_cast<void>(uninterrupted([&line] { return ::write(STDERR_FILENO, line.data(), line.size()); }));
  std::abort();
}

SharedMemoryWatch::SharedMemoryWatch(void* base, std::uint64_t bytes, int descriptor)
    : SharedMemoryWatch(base, bytes, descriptor, [](const void*) noexcept { return std::uint64_t{0}; }) {}

SharedMemoryWatch::SharedMemoryWatch(void* base, std::uint64_t bytes, int descriptor,
                                     std::uint64_t (*zeroed)(const void* base) noexcept)
    : base_(base), bytes_(bytes), descriptor_(descriptor), zeroed_(zeroed), watch_(protect, this) {
  struct stat file {};
  if (descriptor < 0 || ::fstat(descriptor, &file) != 0) return;
  device_ = file.st_dev;
  inode_ = file.st_ino;
}

void SharedMemoryWatch::protect(void* self) noexcept {
  const auto& watch = *static_cast<const SharedMemoryWatch*>(self);
  auto* const base = static_cast<std::byte*>(watch.base_);
  const std::uint64_t bytes = watch.bytes_;
  const std::uint64_t zeroed = watch.zeroed_(base);
  // The program may have closed the descriptor, and its number may now belong to another file.
  struct stat file {};
  const bool is_same_file = watch.descriptor_ >= 0 && ::fstat(watch.descriptor_, &file) == 0 &&
                            file.st_dev == watch.device_ && file.st_ino == watch.inode_ && watch.inode_ != 0;
  constexpr int kPrivate = MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE;
  const auto is_mapped = [](void* result) { return result != MAP_FAILED; };
  bool is_safe =
      is_same_file && is_mapped(::mmap(base, bytes, PROT_READ | PROT_WRITE, kPrivate, watch.descriptor_, 0));
  is_safe = is_safe || ::mprotect(base, bytes, PROT_READ) == 0;
  if (zeroed != 0)
    is_safe =
        is_mapped(::mmap(base, zeroed, PROT_READ | PROT_WRITE, kPrivate | MAP_ANONYMOUS, -1, 0)) && is_safe;
  if (!is_safe) end_forked_copy("fork");
}

}  // namespace weft::base
