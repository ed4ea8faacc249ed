#include "collective/host_exchange.hpp"

#include "collective/collective_context.hpp"

#include <utility>

namespace weft::collective {

HostExchange::HostExchange(CollectiveContext& context, Runtime& runtime, const Team& team)
    : context_(context), guards_(post_alarm, &context) {
  auto channels = std::make_unique<HostChannels>(runtime, team);
  if (channels->are_possible()) channels_ = std::move(channels);
}

HostExchange::~HostExchange() = default;

bool HostExchange::wait(std::uint64_t number, std::span<const int> peers, LongWait::IsReady is_ready,
                        void* what) noexcept {
  struct Look {
    NearGuards& guards;
    const LongWait::IsReady is_ready;
    void* const what;
  } look{guards_, is_ready, what};
  const auto is_over = [](void* context) noexcept {
    const auto& at = *static_cast<const Look*>(context);
    if (at.is_ready(at.what)) return true;
    at.guards.keep_alarm();
    return false;
  };
  LongWait waiting(context_, number, peers, is_over, &look);
  guards_.begin_wait();
  context_.wait_for(waiting, guards_);
  guards_.end_wait();
  return !waiting.differs();
}

bool HostExchange::post_alarm(void* context, Completion& object, std::int64_t nanoseconds) noexcept {
  auto& of = *static_cast<CollectiveContext*>(context);
  ReceiveOptions options = of.receive_options(object);
  options.timeout = Timeout::of_nanoseconds(nanoseconds);
  options.may_retry = false;
  return of.port().post_receive(of.peer_of(of.rank()), of.tags().watch(), {}, options).is_posted();
}

}  // namespace weft::collective
