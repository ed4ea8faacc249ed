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

bool WaitSource::find_detail(const char*, WaitDetail&) { return false; }
bool WaitSource::name_tag(const MessageKey&, std::span<char>) { return false; }
void WaitSource::list_sequences(void (*)(void*, const SequenceState&), void*) {}

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

bool find_detail_in_layers(int rank, const char* what, WaitDetail& detail) {
  const std::lock_guard lock(sources().mutex);
  return std::ranges::any_of(sources().all, [&](WaitSource* source) {
    return source->rank() == rank && source->find_detail(what, detail);
  });
}

bool name_tag_by_layers(int rank, const MessageKey& message, std::span<char> text) {
  const std::lock_guard lock(sources().mutex);
  return std::ranges::any_of(sources().all, [&](WaitSource* source) {
    return source->rank() == rank && source->name_tag(message, text);
  });
}

void list_sequences_of_layers(int rank, void (*add)(void* context, const SequenceState& state),
                              void* context) {
  const std::lock_guard lock(sources().mutex);
  for (WaitSource* const source : sources().all)
    if (source->rank() == rank) source->list_sequences(add, context);
}

}  // namespace weft::detail
