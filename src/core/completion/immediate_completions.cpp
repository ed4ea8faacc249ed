#include "core/completion/immediate_completions.hpp"

#include <functional>
#include <new>
#include <utility>

namespace weft::core {

constinit thread_local SignalScope* SignalScope::innermost_ = nullptr;

ImmediateCompletions::ImmediateCompletions(network::Port& port, std::uint32_t device_number)
    : port_(port), device_number_(device_number), records_(new Record[kRecords]) {
  for (std::size_t index = 0; index < kRecords; ++index) release(records_[index]);
}

ImmediateCompletions::~ImmediateCompletions() {
  const auto free_all = [this](Record* record) {
    while (record != nullptr) {
      Record* const next = record->next;
      if (is_allocated(*record)) delete record;
      record = next;
    }
  };
  free_all(under_way_);
  free_all(list_.take_all());
  free_all(free_.load(std::memory_order_relaxed));
}

bool ImmediateCompletions::is_allocated(const Record& record) const noexcept {
  const std::less<> before;
  return before(&record, records_.get()) || !before(&record, records_.get() + kRecords);
}

/// Takes the whole list for a moment. Another thread finds no record meanwhile, and allocates one.
ImmediateCompletions::Record* ImmediateCompletions::take() noexcept {
  // Pairs with the release in release(): the last use of the records is over.
  Record* const first = free_.exchange(nullptr, std::memory_order_acquire);
  if (first == nullptr) return new (std::nothrow) Record;
  if (Record* const rest = first->next; rest != nullptr) release(*rest);
  return first;
}

/// Releases a list of records.
void ImmediateCompletions::release(Record& first) noexcept {
  Record* head = nullptr;
  if (free_.compare_exchange_strong(head, &first, std::memory_order_release, std::memory_order_relaxed))
    return;
  Record* last = &first;
  while (last->next != nullptr) last = last->next;
  do {
    last->next = head;
  } while (!free_.compare_exchange_weak(head, &first, std::memory_order_release, std::memory_order_relaxed));
}

void ImmediateCompletions::keep(Completion& completion, Message& message) noexcept {
  Record* const record = take();
  if (record == nullptr) {
    // Without memory it is better to nest deeper than to lose a signal.
    const SignalScope scope(*this);
    completion.signal(message);
    return;
  }
  record->completion = &completion;
  detail::NamedCompletion::note_named_by(&completion, device_number_);
  record->message = std::move(message);
  kept_.fetch_add(1, std::memory_order_relaxed);
  working_->fetch_add(1, std::memory_order_relaxed);
  list_.put(*record);
  // The posting thread need not be one that progresses.
  if (port_.has_parked()) port_.wake(~std::uint32_t{0});
}

std::size_t ImmediateCompletions::deliver() noexcept {
  std::size_t count = 0;
  // One by one, because the program may ask meanwhile for signals that are stored.
  if (under_way_ == nullptr) under_way_ = list_.take_all();
  for (; under_way_ != nullptr; ++count) {
    Record& record = *under_way_;
    under_way_ = record.next;
    Completion* const completion = record.completion;
    Message message = std::move(record.message);
    record.next = nullptr;
    release(record);
    kept_.fetch_sub(1, std::memory_order_relaxed);
    working_->fetch_sub(1, std::memory_order_relaxed);
    if (completion != nullptr) completion->signal(message);
  }
  return count;
}

void ImmediateCompletions::forget_object(const Completion& object) noexcept {
  Record** link = &under_way_;
  while (*link != nullptr) link = &(*link)->next;
  *link = list_.take_all();
  // A signal that is not delivered yet stays where the next deliver() finds it.
  for (Record* record = under_way_; record != nullptr; record = record->next)
    if (record->completion == &object) record->completion = nullptr;
}

}  // namespace weft::core
