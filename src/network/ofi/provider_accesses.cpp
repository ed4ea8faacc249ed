#include "network/ofi/provider_accesses.hpp"

#include "base/clock.hpp"
#include "network/ofi/ofi_endpoint.hpp"
#include "network/session/session_device.hpp"

#include <weft/error.hpp>

#include <algorithm>

namespace weft::network::ofi {

ProviderAccesses::ProviderAccesses(AccessDomain& domain, const EndpointContext& context, std::uint32_t index)
    : domain_(domain),
      context_(context),
      index_(index),
      has_ended_(static_cast<std::size_t>(context.peers.size())),
      endpoints_(domain.fabric()) {
  free_.reserve(records_.size());
  for (Record& record : records_) free_.push_back(&record);
}

void ProviderAccesses::connect(const session::Link& link, std::span<const std::byte> address) {
  auto target = std::make_unique<Target>();
  target->rank = link.rank;
  target->address = endpoints_.insert(address);
  target->question.target = target.get();
  target->question.access = {RegionAccess::Direction::get, target->answer, 0, 0, kPresenceKey};
  recovering_.reserve(targets_.size() + 1);
  targets_[&link] = std::move(target);
}

AccessResult ProviderAccesses::begin(const session::Link& link, const RemoteMemory& where,
                                     RegionAccess wanted) noexcept try {
  const auto found = targets_.find(&link);
  if (where.keys.key != region_key(where.region) || found == targets_.end() ||
      found->second->address == FI_ADDR_UNSPEC || endpoints_.outgoing() == nullptr)
    return AccessResult::unsupported;
  if (where.offset > where.region_size || wanted.memory.size() > where.region_size - where.offset)
    return AccessResult::refused;
  Target& target = *found->second;
  if (target.reach.is_given_up() && target.reach.is_paused(base::now_ns())) return AccessResult::unsupported;
  if (wanted.has_signal &&
      (where.keys.address != kTakesSignals || target.signals - target.signals_known >= PutSignal::kMostAhead))
    return AccessResult::unsupported;
  if (free_.empty() || target.is_recovering) return AccessResult::no_slot;
  wanted.signal_id = target.signals;
  wanted.offset = where.offset;
  wanted.key = where.keys.key;
  has_begun_ = true;
  Record& record = *free_.back();
  record.target = &target;
  record.access = wanted;
  const ssize_t posted = post(record);
  if (posted == 0) {
    free_.pop_back();
    if (wanted.has_signal) ++target.signals;
    return AccessResult::posted;
  }
  const std::int64_t now = base::now_ns();
  if (posted == -FI_EAGAIN && !target.reach.is_given_up()) {
    const bool is_for_long = target.reach.refused(now) && target.under_way == 0;
    if (!is_for_long) return AccessResult::no_slot;
  }
  give_up(target, now, posted);
  return AccessResult::unsupported;
} catch (const Error& error) {
  context_.log.info([&] { return "an access goes by messages: " + std::string(error.what()); });
  return AccessResult::unsupported;
}

ssize_t ProviderAccesses::post(Record& record) {
  const RegionAccess& access = record.access;
  record.registration = domain_.fabric().register_local(access.memory);
  const iovec local{access.memory.data(), access.memory.size()};
  void* descriptor = descriptor_of(record.registration);
  const fi_rma_iov remote{access.offset, access.memory.size(), access.key};
  const PutSignal signal{access.value, access.signal_id % PutSignal::kNumbers, index_,
                         static_cast<std::uint32_t>(context_.peers.rank())};
  const fi_msg_rma message{&local,  &descriptor, 1,           record.target->address,
                           &remote, 1,           &record.raw, signal.word()};
  // A put completes when the bytes are there: a signal that follows must not overtake them.
  const std::uint64_t flags =
      FI_COMPLETION | FI_DELIVERY_COMPLETE | (access.has_signal ? FI_REMOTE_CQ_DATA : 0);
  const ssize_t result = access.direction == RegionAccess::Direction::get
                             ? ::fi_readmsg(endpoints_.outgoing(), &message, FI_COMPLETION)
                             : ::fi_writemsg(endpoints_.outgoing(), &message, flags);
  if (result != 0) {
    record.registration.reset();
    return result;
  }
  Target& target = *record.target;
  if (target.reach.taken())
    context_.log.info(
        [&] { return "puts and gets of rank " + std::to_string(target.rank) + " go by the provider again"; });
  ++target.under_way;
  return 0;
}

void ProviderAccesses::give_up(Target& target, std::int64_t now, ssize_t result) noexcept {
  if (!target.reach.is_given_up())
    context_.log.info([&] {
      return "puts and gets of rank " + std::to_string(target.rank) +
             " go by messages for now: it cannot be reached: " + error_text(result);
    });
  target.reach.give_up(now);
}

void ProviderAccesses::end_with(int rank, session::SessionDevice& device) noexcept {
  const bool are_some_under_way = std::any_of(targets_.begin(), targets_.end(), [rank](const auto& each) {
    return each.second->rank == rank && each.second->under_way != 0;
  });
  if (are_some_under_way) try {
      endpoints_.restart();
    } catch (const Error& error) {
      context_.log.info([&] { return "puts and gets go by messages: " + std::string(error.what()); });
    }
  drive(device);
  has_ended_[static_cast<std::size_t>(rank)] = true;
}

bool ProviderAccesses::may_sleep() noexcept {
  fid* sources[] = {&endpoints_.completions().fid};
  return ::fi_trywait(&domain_.fabric().fabric(), sources, 1) == FI_SUCCESS;
}

}  // namespace weft::network::ofi
