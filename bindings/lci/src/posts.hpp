// What posts have in common: what their arguments ask for, and the statuses that they answer.
#pragma once

#include <atomic>
#include <optional>
#include <string>
#include <weft/binding/per_thread.hpp>

#include "completions.hpp"
#include "network_ends.hpp"
#include "objects.hpp"

namespace lci {

[[nodiscard]] inline errorcode_t code_of(weft::Reason reason) noexcept {
  switch (reason) {
    case weft::Reason::no_slot:
      return errorcode_t::retry_nomem;
    case weft::Reason::no_packet:
      return errorcode_t::retry_nopacket;
    case weft::Reason::lock_contended:
      return errorcode_t::retry_lock;
    case weft::Reason::backlog:
      return errorcode_t::retry_backlog;
    default:
      return errorcode_t::retry;
  }
}

/// What the completion object and the arguments allow_... of a post mean for weft's post.
struct Mode {
  weft::Completion* completion = nullptr;  // null: the operation ends before the post returns
  bool may_retry = true;
  bool may_be_done = true;
};

[[nodiscard]] inline Mode mode_of(const comp_t& comp, bool allow_done, bool allow_posted, bool allow_retry) {
  if (comp == COMP_NULL) return {.may_retry = false};
  if (comp == COMP_NULL_RETRY || !allow_posted) return {.may_retry = allow_retry};
  return {.completion = completion_of(comp), .may_retry = allow_retry, .may_be_done = allow_done};
}
template <class Post>
Mode mode_of(const Post& post) {
  return mode_of(post.m_local_comp, post.m_allow_done, post.m_allow_posted, post.m_allow_retry);
}

struct Fields {
  int rank;
  void* buffer;
  std::size_t size;
  tag_t tag;
  void* user_context;
  weft::LocalRegion region{};  // that holds the buffer, where the program has named it
};
/// The region that the argument mr of a post names.
[[nodiscard, gnu::always_inline]] inline weft::LocalRegion region_of(const mr_t& memory) noexcept {
  return memory.is_empty() ? weft::LocalRegion() : weft::LocalRegion(memory.p_impl->region);
}
template <class Post>
Fields fields_of(const Post& post) {
  return {post.m_rank, post.m_local_buffer, post.m_size,
          post.m_tag,  post.m_user_context, region_of(post.m_mr)};
}

[[gnu::always_inline]] inline status_t status_with(errorcode_t code, const Fields& fields) {
  return make_status(code, fields.rank, fields.buffer, fields.size, fields.tag, fields.user_context);
}
[[gnu::always_inline]] inline errorcode_t code_of(weft::Status answer) noexcept {
  if (answer.is_done()) return errorcode_t::done;
  return answer.is_posted() ? errorcode_t::posted : code_of(answer.reason());
}
[[nodiscard]] inline status_t status_with(weft::Status answer, const Fields& fields) {
  return status_with(code_of(answer), fields);
}
/// Whether progress is to signal the end of a post: its object is signalled when the network is done with it.
template <class Post>
[[nodiscard, gnu::always_inline]] inline bool is_for_network(const Post& post) noexcept {
  return post.m_comp_semantic != comp_semantic_t::memory && post.m_allow_posted &&
         !post.m_local_comp.is_empty();
}
/// Such a post. Answers posted, never retry: programs wait for the end of the operation.
template <class Post>
errorcode_t post_for_network(endpoint_impl_t& lci_endpoint, const Post& post) {
  NetworkEnds& ends = *lci_endpoint.runtime.network_ends;
  Post deferred = post;
  deferred.m_local_comp = comp_t(static_cast<comp_impl_t*>(&ends));
  deferred.m_user_context = ends.begin(post.m_local_comp, post.m_user_context);
  deferred.m_comp_semantic = comp_semantic_t::memory;
  deferred.m_allow_done = deferred.m_allow_retry = false;
  try {
    const errorcode_t answer = deferred.call().error.errorcode;
    if (answer != errorcode_t::posted) ends.abandon(deferred.m_user_context);
    return answer;
  } catch (...) {
    ends.abandon(deferred.m_user_context);
    throw;
  }
}

/// Of an operation without a completion object that has ended.
[[nodiscard]] errorcode_t code_of(weft::Outcome outcome, const Fields& fields, const char* operation);

[[noreturn]] void refuse_tag(tag_t tag, const char* operation);
[[gnu::always_inline]] inline std::uint32_t short_tag(tag_t tag, const char* operation) {
  if (tag > UINT32_MAX) [[unlikely]]
    refuse_tag(tag, operation);
  return static_cast<std::uint32_t>(tag);
}

[[nodiscard]] inline weft::Bytes bytes_of(const Fields& fields) noexcept {
  return {static_cast<const std::byte*>(fields.buffer), fields.size};
}

/// Waits, as posts without a completion object do: for an operation that was posted with it.
class Ended final : public weft::Completion {
 public:
  ~Ended() override { retire(); }
  void signal(weft::Message& message) noexcept override {
    if (message.outcome() == weft::Outcome::timed_out)  // of a receive that was to take what has arrived
      status = errorcode_t::retry;
    else
      status = Delivery(nullptr, false).status_of(message);
    is_ready_.store(true, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override { return is_ready_.load(std::memory_order_acquire); }
  /// For the next operation: none names the object.
  void reset() noexcept { is_ready_.store(false, std::memory_order_relaxed); }
  status_t status;
  bool is_in_use = false;

 private:
  std::atomic<bool> is_ready_{false};
};

/// The object of this thread for one wait: one that dies has to look for operations that name it, which costs
/// more than most operations. A wait inside another one gets an object of its own.
class EndedOfThread {
 public:
  EndedOfThread() : ended_(weft::PerThread<Ended>::get()) {
    if (ended_ == nullptr || ended_->is_in_use) ended_ = &own_.emplace();
    ended_->is_in_use = true;
    ended_->reset();
  }
  EndedOfThread(const EndedOfThread&) = delete;
  EndedOfThread& operator=(const EndedOfThread&) = delete;
  ~EndedOfThread() { ended_->is_in_use = false; }
  [[nodiscard]] Ended& operator*() const noexcept { return *ended_; }

 private:
  std::optional<Ended> own_;
  Ended* ended_;
};

/// An operation that has to end before the call returns. `post` takes the completion object.
template <class Post>
status_t post_and_wait(weft::Endpoint& endpoint, const Fields& fields, const Post& post,
                       bool may_retry = false) {
  const EndedOfThread object;
  Ended& ended = *object;
  for (;;) {
    const weft::Status answer = post(ended);
    if (answer.is_done()) return status_with(errorcode_t::done, fields);
    if (answer.is_posted()) break;
    if (may_retry) return status_with(answer, fields);
    endpoint.progress();
  }
  endpoint.wait_ready(ended);
  ended.status.user_context = fields.user_context;
  return ended.status;
}

}  // namespace lci
