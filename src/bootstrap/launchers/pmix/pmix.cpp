// The declarations below are those of the PMIx standard, versions 2 to 5, as far as they are needed: a build
// needs no headers of PMIx.
#include "bootstrap/launchers/pmix/pmix.hpp"

#include <weft/error.hpp>

#include <dlfcn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <optional>
#include <string>

#include "bootstrap/launchers/sized_card.hpp"

namespace weft::bootstrap::contact {

namespace {

using Status = int;
constexpr Status kSuccess = 0;
constexpr std::uint32_t kAnyRank = UINT32_MAX - 1;
constexpr std::uint8_t kGlobal = 3;  // scope
constexpr std::uint16_t kString = 3;
constexpr std::uint16_t kUint32 = 14;
constexpr std::size_t kKeyBytes = 512;

struct Process {
  char nspace[256];
  std::uint32_t rank;
};

struct Value {
  std::uint16_t type;
  union {
    char* text;
    std::uint32_t number;
    char room[56];  // as much as any version has, and more
  } data;
};

using Key = std::array<char, kKeyBytes>;
using Ended = void (*)(Status, void*);

Key key_of(const std::string& name) {
  Key key{};
  name.copy(key.data(), key.size() - 1);
  return key;
}

class Library {
 public:
  Library() {
    handle_ = ::dlopen("libpmix.so.2", RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) {
      const char* const why = ::dlerror();
      fault_ = why != nullptr ? why : "libpmix.so.2 cannot be opened";
      return;
    }
    find(init, "PMIx_Init");
    find(finalize, "PMIx_Finalize");
    find(put, "PMIx_Put");
    find(commit, "PMIx_Commit");
    find(fence, "PMIx_Fence_nb");
    find(get, "PMIx_Get");
    find(text_of, "PMIx_Error_string");
  }

  [[nodiscard]] const std::string& fault() const { return fault_; }

  Status (*init)(Process*, void*, std::size_t) = nullptr;
  Status (*finalize)(const void*, std::size_t) = nullptr;
  Status (*put)(std::uint8_t, const char*, Value*) = nullptr;
  Status (*commit)() = nullptr;
  Status (*fence)(const Process*, std::size_t, const void*, std::size_t, Ended, void*) = nullptr;
  Status (*get)(const Process*, const char*, const void*, std::size_t, Value**) = nullptr;
  const char* (*text_of)(Status) = nullptr;

 private:
  template <class Function>
  void find(Function& function, const char* name) {
    function = reinterpret_cast<Function>(::dlsym(handle_, name));
    if (function == nullptr && fault_.empty()) fault_ = std::string("libpmix.so.2 has no ") + name;
  }

  void* handle_ = nullptr;  // never closed: it has threads
  std::string fault_;
};

Library& library() {
  static Library library;
  return library;
}

/// Lives until the fence has ended, which may be after its waiter has given up.
struct Fence {
  std::mutex mutex;
  std::condition_variable changed;
  std::optional<Status> status;
};

class Pmix final : public Contact {
 public:
  Pmix() : library_(library()) {
    if (!library_.fault().empty()) throw Error(ErrorClass::job, "PMIx: " + library_.fault());
    require(library_.init(&own_, nullptr, 0), "PMIx_Init");
    is_open_ = true;
    Process job = own_;
    job.rank = kAnyRank;
    Value* value = nullptr;
    require(library_.get(&job, key_of("pmix.job.size").data(), nullptr, 0, &value),
            "PMIx_Get(pmix.job.size)");
    if (value->type != kUint32) throw Error(ErrorClass::job, "PMIx: the size of the job has another type");
    if (value->data.number == 0 || value->data.number > INT32_MAX || own_.rank >= value->data.number)
      throw Error(ErrorClass::job, "PMIx: rank " + std::to_string(own_.rank) + " of a job of " +
                                       std::to_string(value->data.number) + " ranks cannot be");
    size_ = static_cast<int>(value->data.number);
  }
  ~Pmix() override {
    if (is_open_ && ::getpid() == process_) library_.finalize(nullptr, 0);
  }

  int rank() const override { return static_cast<int>(own_.rank); }
  int size() const override { return size_; }

  Cards exchange(std::span<const std::byte> own, const base::Deadline& deadline) override {
    publish("weft.card", own);
    fence(deadline);
    Cards cards;
    for (int rank = 0; rank < size_; ++rank) cards.push_back(published(rank, "weft.card"));
    return cards;
  }

  std::vector<std::string> report(const std::vector<int>& from, const std::string& own,
                                  const base::Deadline& deadline) override {
    if (std::find(from.begin(), from.end(), rank()) != from.end())
      publish("weft.report", std::as_bytes(std::span(own)).first(std::min(own.size(), kLongestReport)));
    fence(deadline);
    std::vector<std::string> reports;
    for (const int rank : from) {
      const std::vector<std::byte> text = published(rank, "weft.report");
      reports.emplace_back(reinterpret_cast<const char*>(text.data()), text.size());
    }
    return reports;
  }

 private:
  void require(Status status, const char* call) const {
    if (status == kSuccess) return;
    throw Error(ErrorClass::job, std::string("PMIx: ") + call + " has failed: " + library_.text_of(status));
  }

  static void end_fence(Status status, void* fence) {
    auto* const ended = static_cast<Fence*>(fence);
    const std::lock_guard lock(ended->mutex);
    ended->status = status;
    ended->changed.notify_all();
  }

  void publish(const char* key, std::span<const std::byte> bytes) {
    std::string text = to_published(bytes);
    Value value{};
    value.type = kString;
    value.data.text = text.data();
    require(library_.put(kGlobal, key_of(key).data(), &value), "PMIx_Put");
    require(library_.commit(), "PMIx_Commit");
  }

  /// Waits for all ranks.
  void fence(const base::Deadline& deadline) {
    auto* const fence = new Fence;  // belongs to this function until it gives up
    const Status begun = library_.fence(nullptr, 0, nullptr, 0, &end_fence, fence);
    if (begun != kSuccess) {
      delete fence;
      require(begun, "PMIx_Fence_nb");
    }
    await(fence, deadline);
  }

  void await(Fence* fence, const base::Deadline& deadline) {
    std::unique_lock lock(fence->mutex);
    while (!fence->status.has_value()) {
      if (deadline.passed()) {
        is_open_ =
            false;  // to finalize would wait for the same ranks; the fence stays for the library's thread
        throw Error(ErrorClass::job,
                    "PMIx: not all of the " + std::to_string(size_) +
                        " ranks have made a weft::Runtime within the time limit (WEFT_BOOTSTRAP_TIMEOUT)");
      }
      fence->changed.wait_for(lock, std::chrono::milliseconds(deadline.remaining_ms()));
    }
    const Status status = *fence->status;
    lock.unlock();
    delete fence;
    require(status, "PMIx_Fence");
  }

  std::vector<std::byte> published(int rank, const char* key) {
    Process peer = own_;
    peer.rank = static_cast<std::uint32_t>(rank);
    Value* value = nullptr;
    require(library_.get(&peer, key_of(key).data(), nullptr, 0, &value), "PMIx_Get");
    const auto bytes = value->type == kString && value->data.text != nullptr
                           ? from_published(value->data.text)
                           : std::nullopt;
    if (!bytes.has_value())
      throw Error(ErrorClass::job, "PMIx: rank " + std::to_string(rank) +
                                       " has published something else as " + key +
                                       " than a rank of weft does");
    return *bytes;
  }

  Library& library_;
  const pid_t process_ = ::getpid();  // copies of it are no ranks
  Process own_{};
  int size_ = 0;
  bool is_open_ = false;
};

}  // namespace

std::string why_no_pmix() { return library().fault(); }

std::unique_ptr<Contact> join_pmix() { return std::make_unique<Pmix>(); }

}  // namespace weft::bootstrap::contact
