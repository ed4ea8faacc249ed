#include "parcel/ports/weft/retained_messages.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace weft::parcel {

struct RetainedMessages::Part final : detail::ArrayBlock {
  Retained* message = nullptr;
  Part* next = nullptr;
};

/// Everything with the mutex of all.
struct RetainedMessages::Retained {
  std::shared_ptr<RetainedMessages> all;
  weft::Message message;
  detail::ArrayMemory copy;  // instead of the message
  Part* parts = nullptr;
  bool is_held = true;  // by MessageToRetain
  bool is_listed = false;
  Retained* before = nullptr;
  Retained* behind = nullptr;

  void unlist() noexcept {
    if (!is_listed) return;
    (before != nullptr ? before->behind : all->first_) = behind;
    if (behind != nullptr) behind->before = before;
    is_listed = false;
  }
  void move_by(std::ptrdiff_t distance) noexcept {
    for (Part* part = parts; part != nullptr; part = part->next) part->data += distance;
  }
  /// Holds a copy instead of the message, whose payload the parts know to be at `at`; aligned as that is.
  void copy_as_at(const std::byte* at) {
    const Bytes bytes = message.bytes();
    const std::size_t beyond = reinterpret_cast<std::uintptr_t>(at) % detail::kArrayAlignment;
    copy = detail::ArrayMemory(detail::take_array_block(beyond + bytes.size()));
    std::memcpy(copy.data() + beyond, bytes.data(), bytes.size());
    move_by(copy.data() + beyond - at);
    message = weft::Message();
  }
};

void RetainedMessages::release(detail::ArrayBlock& block) noexcept {
  auto* const part = static_cast<Part*>(&block);
  Retained* retained = part->message;
  {
    const std::lock_guard lock(retained->all->mutex_);
    Part** at = &retained->parts;
    while (*at != part) at = &(*at)->next;
    *at = part->next;
    if (retained->parts != nullptr || retained->is_held)
      retained = nullptr;
    else
      retained->unlist();
  }
  delete part;
  delete retained;  // gives the packet back
}

void RetainedMessages::move_out() noexcept {
  const std::lock_guard lock(mutex_);
  while (first_ != nullptr) {
    Retained& retained = *first_;
    retained.unlist();
    retained.copy_as_at(retained.message.data());
  }
}

detail::ArrayBlock* MessageToRetain::keep(const std::byte* at) {
  if (retained_ == nullptr) {
    retained_ = new RetainedMessages::Retained;
    retained_->all = all_;
  }
  auto* const part = new RetainedMessages::Part;
  part->data = const_cast<std::byte*>(at);
  part->release = &RetainedMessages::release;
  part->message = retained_;
  const std::lock_guard lock(all_->mutex_);
  part->next = std::exchange(retained_->parts, part);
  return part;
}

void MessageToRetain::retain_in(weft::Message& message) {
  if (retained_ == nullptr) return;
  const std::byte* const before = message.data();
  weft::Message taken = message.take();
  const std::lock_guard lock(all_->mutex_);
  retained_->message = std::move(taken);
  const std::ptrdiff_t distance = retained_->message.data() - before;
  if (distance % static_cast<std::ptrdiff_t>(detail::kArrayAlignment) != 0) {
    // Copied, or within the message itself, where elements may not be aligned.
    retained_->copy_as_at(before);
    return;
  }
  retained_->move_by(distance);
  retained_->behind = all_->first_;
  if (all_->first_ != nullptr) all_->first_->before = retained_;
  all_->first_ = retained_;
  retained_->is_listed = true;
}

MessageToRetain::~MessageToRetain() {
  if (retained_ == nullptr) return;
  {
    const std::lock_guard lock(all_->mutex_);
    retained_->is_held = false;
    if (retained_->parts != nullptr) return;
    retained_->unlist();
  }
  delete retained_;
}

}  // namespace weft::parcel
