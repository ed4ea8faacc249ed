#include "parcel/ports/weft/kept_messages.hpp"

#include <cstdint>
#include <cstring>
#include <utility>

namespace weft::parcel {

struct KeptMessages::Part final : detail::ArrayBlock {
  Kept* message = nullptr;
  Part* next = nullptr;
};

/// Everything with the mutex of all.
struct KeptMessages::Kept {
  std::shared_ptr<KeptMessages> all;
  weft::Message message;
  detail::ArrayMemory copy;  // instead of the message
  Part* parts = nullptr;
  bool is_held = true;  // by MessageToKeep
  bool is_listed = false;
  Kept* before = nullptr;
  Kept* behind = nullptr;

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

void KeptMessages::release(detail::ArrayBlock& block) noexcept {
  auto* const part = static_cast<Part*>(&block);
  Kept* kept = part->message;
  {
    const std::lock_guard lock(kept->all->mutex_);
    Part** at = &kept->parts;
    while (*at != part) at = &(*at)->next;
    *at = part->next;
    if (kept->parts != nullptr || kept->is_held)
      kept = nullptr;
    else
      kept->unlist();
  }
  delete part;
  delete kept;  // gives the packet back
}

void KeptMessages::move_out() noexcept {
  const std::lock_guard lock(mutex_);
  while (first_ != nullptr) {
    Kept& kept = *first_;
    kept.unlist();
    kept.copy_as_at(kept.message.data());
  }
}

detail::ArrayBlock* MessageToKeep::keep(const std::byte* at) {
  if (kept_ == nullptr) {
    kept_ = new KeptMessages::Kept;
    kept_->all = all_;
  }
  auto* const part = new KeptMessages::Part;
  part->data = const_cast<std::byte*>(at);
  part->release = &KeptMessages::release;
  part->message = kept_;
  const std::lock_guard lock(all_->mutex_);
  part->next = std::exchange(kept_->parts, part);
  return part;
}

void MessageToKeep::keep_in(weft::Message& message) {
  if (kept_ == nullptr) return;
  const std::byte* const before = message.data();
  weft::Message taken = message.take();
  const std::lock_guard lock(all_->mutex_);
  kept_->message = std::move(taken);
  const std::ptrdiff_t distance = kept_->message.data() - before;
  if (distance % static_cast<std::ptrdiff_t>(detail::kArrayAlignment) != 0) {
    // Copied, or within the message itself, where elements may not be aligned.
    kept_->copy_as_at(before);
    return;
  }
  kept_->move_by(distance);
  kept_->behind = all_->first_;
  if (all_->first_ != nullptr) all_->first_->before = kept_;
  all_->first_ = kept_;
  kept_->is_listed = true;
}

MessageToKeep::~MessageToKeep() {
  if (kept_ == nullptr) return;
  {
    const std::lock_guard lock(all_->mutex_);
    kept_->is_held = false;
    if (kept_->parts != nullptr) return;
    kept_->unlist();
  }
  delete kept_;
}

}  // namespace weft::parcel
