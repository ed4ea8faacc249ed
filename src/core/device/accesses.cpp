#include "core/device/accesses.hpp"

#include <weft/completion/completion.hpp>

#include "core/device/call_name.hpp"
#include "core/device/until_accepted.hpp"
#include "core/protocol/post_checks.hpp"
#include "core/protocol/timed_posts.hpp"

#include <atomic>
#include <string_view>

namespace weft::core {

namespace {

/// Signals the end of a blocking access to the waiting thread, and passes the signal on.
class Ending final : public Completion {
 public:
  explicit Ending(Completion* next) noexcept : next_(next) {}
  ~Ending() override { set_unnamed(); }  // the thread that made it waits for the end
  void signal(Message& message) noexcept override {
    outcome_ = message.outcome();
    if (next_ != nullptr) next_->signal(message);
    // Pairs with the acquire in ready(): the outcome is visible.
    ended_.store(true, std::memory_order_release);
    notify_waiters_of(this);
  }
  [[nodiscard]] bool ready() const noexcept override { return ended_.load(std::memory_order_acquire); }
  [[nodiscard]] Outcome outcome() const noexcept { return outcome_; }

 private:
  Completion* const next_;
  Outcome outcome_ = Outcome::ok;
  std::atomic<bool> ended_{false};
};

}  // namespace

Status post_access(detail::DeviceState& device, const OneSided::Access& access, Caller caller) {
  if (access.options.timeout.count() != 0) [[unlikely]] {
    return device.protocols().posts.timed.post(
        OneSided::name_of_post(access).data(),
        {access.operation, access.peer, access.options.tag, access.data, access.size}, access.options,
        [&](const AccessOptions& within) {
          OneSided::Access posted = access;
          posted.options = within;
          return post_access(device, posted, caller);
        });
  }
  const Status status = device.protocols().one_sided.post(access, device.protocols().posts.backlog, caller);
  device.protocols().posts.observe(access.operation, access.peer, access.options.tag, access.size, status);
  return status;
}

Outcome perform_access(detail::DeviceState& device, OneSided::Access access,
                       const std::source_location& where, Caller caller) {
  Ending ending(access.options.completion);
  const bool is_observed = access.options.completion != nullptr;
  access.options.completion = &ending;
  access.options.may_complete_now = access.options.may_complete_now || !is_observed;
  access.options.may_retry = true;
  const std::string_view name = OneSided::name_of_post(access);
  const detail::TimeLeft time_left(access.options.timeout);
  const detail::WaitDescription description{access.operation == Operation::put   ? "a put"
                                            : access.operation == Operation::get ? "a get"
                                                                                 : "an atomic operation",
                                            where, access.peer};
  const Status status = device.waits().until_accepted(
      [&] {
        access.options.timeout = time_left.left();
        return named(name.substr(OneSided::kPost.size()), name,
                     [&] { return post_access(device, access, caller); });
      },
      description);
  if (status.is_done()) return Outcome::ok;
  device.waits().wait_for(ending, description);
  if (!is_observed && ending.outcome() != Outcome::ok)
    device.protocols().one_sided.requests().count_failure(access.operation, access.where, access.size,
                                                          ending.outcome());
  return ending.outcome();
}

Status post_pieces(detail::DeviceState& device, int peer, std::span<const PutPiece> pieces,
                   const AccessOptions& options, Caller caller) {
  check_peer(peer, device.protocols().context, "post_put");
  if (options.timeout.count() != 0)
    return device.protocols().posts.timed.post(
        "post_put", {Operation::put, peer, options.tag, nullptr, 0}, options,
        [&](const AccessOptions& within) { return post_pieces(device, peer, pieces, within, caller); });
  return device.protocols().vectored_accesses.post(
      Operation::put, peer, pieces.size(),
      [&](std::size_t index) -> VectoredAccesses::Piece {
        const PutPiece& piece = pieces[index];
        return {piece.to, const_cast<std::byte*>(piece.from.data()), piece.from.size()};
      },
      options, caller);
}

Status post_pieces(detail::DeviceState& device, int peer, std::span<const GetPiece> pieces,
                   const AccessOptions& options, Caller caller) {
  check_peer(peer, device.protocols().context, "post_get");
  if (options.timeout.count() != 0)
    return device.protocols().posts.timed.post(
        "post_get", {Operation::get, peer, options.tag, nullptr, 0}, options,
        [&](const AccessOptions& within) { return post_pieces(device, peer, pieces, within, caller); });
  return device.protocols().vectored_accesses.post(
      Operation::get, peer, pieces.size(),
      [&](std::size_t index) -> VectoredAccesses::Piece {
        const GetPiece& piece = pieces[index];
        return {piece.from, piece.to.data(), piece.to.size()};
      },
      options, caller);
}

}  // namespace weft::core
