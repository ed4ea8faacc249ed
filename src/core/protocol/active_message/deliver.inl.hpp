// Delivery of active messages, for the calls that bring them up from the network.
#pragma once

#include "core/protocol/active_message/active_messages.hpp"

#include <weft/completion/arrivals.hpp>
#include <weft/detail/message_access.hpp>

namespace weft::core {

// Only jumps, also to the slow paths, which is why these tell the batch by themselves what was not taken.
[[gnu::always_inline]] inline void ActiveMessages::deliver(network::Batch& batch) noexcept {
  const std::uint64_t word = batch.word();
  Message& message = batch.message();
  Completion* completion = exposures_.find(word);
  if (completion == nullptr) [[unlikely]]
    return refuse(word, message.peer());
  if (completion->allocates_every_size()) [[unlikely]]
    return deliver_copy(*completion, batch);
  detail::MessageAccess::set_came_by(message, word, device_);
  completion->signal(message);
}

[[gnu::always_inline]] inline void ActiveMessages::free_slot_and_deliver(network::Batch& batch) noexcept {
  const std::uint64_t word = batch.word();
  Message& message = batch.message();
  batch.free_slot();
  Completion* completion = exposures_.find(word);
  if (completion == nullptr) [[unlikely]]
    return refuse(word, message.peer());
  if (completion->allocates_every_size()) [[unlikely]]
    return deliver_copy_at_once(*completion, word, message);
  detail::MessageAccess::set_came_by(message, word, device_);
  completion->signal(message);
}

template <class Batch>
inline void ActiveMessages::deliver_batch(Batch& batch, detail::PayloadLender* lender) noexcept {
  Backlog& backlog = posts_.backlog;
  std::uint64_t word = 0;
  Bytes payload;
  while (batch.look(word, payload) && !backlog.over_limit()) {
    Completion* completion = exposures_.find(word);
    if (completion == nullptr) [[unlikely]] {
      refuse(word, batch.peer());
      batch.advance();
      continue;
    }
    if (completion->allocates_every_size()) [[unlikely]] {
      Message message;
      detail::MessageAccess::set_view(message, Operation::active_message, batch.peer(),
                                      static_cast<std::uint32_t>(word), payload.data(), payload.size(),
                                      nullptr, 0);
      if (!deliver_copy(*completion, word, message)) return;
      batch.advance();
      continue;
    }
    Arrivals arrivals(batch,
                      {detail::open_handle(word), &exposures_.open(word), &backlog.posts_of_handlers(),
                       backlog.limit(), device_},
                      lender);
    const std::uint64_t before = batch.head();
    completion->signal_batch(arrivals);
    // The object was withdrawn meanwhile, or leaves the messages: the next poll begins with a single one.
    if (batch.head() == before) [[unlikely]]
      return;
  }
}

}  // namespace weft::core
