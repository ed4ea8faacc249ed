#include "bootstrap/open_names.hpp"

#include <weft/error.hpp>

#include <atomic>

namespace weft::bootstrap {

struct OpenNames::Hold::Table {
  struct Holder {
    std::uint64_t thread = 0;
    std::uint32_t count = 0;
  };
  std::mutex mutex;
  std::map<std::string, Holder, std::less<>> holders;
};

namespace {

/// Returns a number of the calling thread that is never reused, unlike the thread ids of the system.
std::uint64_t number_of_this_thread() {
  static std::atomic<std::uint64_t> last{0};
  thread_local const std::uint64_t number = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return number;
}

}  // namespace

OpenNames::Hold::~Hold() {
  if (table_ == nullptr) return;
  const std::lock_guard lock{table_->mutex};
  const auto holder = table_->holders.find(name_);
  if (--holder->second.count == 0) table_->holders.erase(holder);
}

OpenNames::OpenNames() : table_(std::make_shared<Hold::Table>()) {}

OpenNames::Hold OpenNames::take(std::string_view name) {
  if (name.size() > kMaximumName)
    throw Error(ErrorClass::job, "the name of a Runtime has " + std::to_string(name.size()) +
                                     " bytes: at most " + std::to_string(kMaximumName) + " are possible");
  const std::lock_guard lock{table_->mutex};
  const auto [holder, is_new] = table_->holders.try_emplace(std::string(name));
  if (!is_new && !name.empty())
    throw Error(ErrorClass::job,
                "a Runtime of the name \"" + std::string(name) +
                    "\" is open in this process: give each its own RuntimeOptions::name, equal on all ranks");
  if (!is_new && holder->second.thread != number_of_this_thread())
    throw Error(
        ErrorClass::job,
        "another thread of this process has a Runtime open that has no name either, and which of them "
        "belongs "
        "to which one of the other ranks cannot be told: give each its own RuntimeOptions::name, equal on "
        "all "
        "ranks");
  holder->second.thread = number_of_this_thread();
  ++holder->second.count;
  Hold hold;
  hold.table_ = table_;
  hold.name_ = name;
  return hold;
}

}  // namespace weft::bootstrap
