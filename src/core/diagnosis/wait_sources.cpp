#include <weft/wait_source.hpp>

#include <algorithm>
#include <mutex>
#include <vector>

namespace weft::detail {

namespace {

struct Sources {
  std::mutex mutex;
  std::vector<WaitSource*> all;
};

Sources& sources() {
  static Sources& kept = *new Sources;  // a source may be static, and end later
  return kept;
}

}  // namespace

void WaitSource::enter() {
  const std::lock_guard lock(sources().mutex);
  sources().all.push_back(this);
}

void WaitSource::remove() noexcept {
  const std::lock_guard lock(sources().mutex);
  std::erase(sources().all, this);
}

void list_waits_of_layers(int rank, void (*add)(void* context, const DescribedWait& wait), void* context) {
  const std::lock_guard lock(sources().mutex);
  for (WaitSource* const source : sources().all)
    if (source->rank() == rank) source->list(add, context);
}

}  // namespace weft::detail
