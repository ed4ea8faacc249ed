#include "network/sim/simulated_accesses.hpp"

#include "base/memory/guarded_copy.hpp"

#include <algorithm>
#include <cstring>

namespace weft::network::sim {

RegionKeys SimulatedAccesses::add_region(int rank, RegionName name, std::span<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t key = schedule_.random().next();
  members_.at(rank).regions[name.index] = {name.generation, key, memory};
  return {reinterpret_cast<std::uint64_t>(memory.data()), key};
}

void SimulatedAccesses::remove_region(int rank, RegionName name) noexcept {
  const std::lock_guard lock(mutex_);
  // Puts that are partly visible already are carried out in full: an access that ends as refused must not
  // have changed anything.
  std::erase_if(accesses_, [&](Access& access) {
    return access.peer == rank && access.memory.region.index == name.index && access.begun &&
           apply(access, true);
  });
  auto& regions = members_.at(rank).regions;
  const auto found = regions.find(name.index);
  if (found != regions.end() && found->second.generation == name.generation) regions.erase(found);
}

std::byte* SimulatedAccesses::find(const Access& access) noexcept {
  if (access.memory.region.index == kOffered) {
    const auto& offers = members_.at(access.peer).offers;
    const auto offered = offers.find(access.memory.keys.key);
    if (offered == offers.end() || access.memory.offset > offered->second.size() ||
        access.size > offered->second.size() - access.memory.offset)
      return nullptr;
    return const_cast<std::byte*>(offered->second.data()) + access.memory.offset;  // only read
  }
  const auto& regions = members_.at(access.peer).regions;
  const auto found = regions.find(access.memory.region.index);
  if (found == regions.end()) return nullptr;
  const Region& region = found->second;
  const std::uint64_t offset = access.memory.offset;
  const bool allowed = region.generation == access.memory.region.generation &&
                       region.key == access.memory.keys.key && offset <= region.memory.size() &&
                       access.size <= region.memory.size() - offset;
  return allowed ? region.memory.data() + offset : nullptr;
}

AccessResult SimulatedAccesses::put(DeviceAddress from, int peer, const RemoteMemory& to, Bytes bytes,
                                    const std::uint64_t* immediate, std::uint64_t token) noexcept {
  if (!schedule_.parameters().rma || (immediate != nullptr && schedule_.parameters().immediate == 0))
    return AccessResult::unsupported;
  const std::uint64_t mask = schedule_.parameters().immediate == 4 ? 0xffffffff : ~std::uint64_t{0};
  return start({from, peer, token, 0, to, bytes.data(), nullptr, bytes.size(), immediate != nullptr,
                immediate != nullptr ? *immediate & mask : 0, 0, 0, 0, false});
}

AccessResult SimulatedAccesses::get(DeviceAddress from, int peer, const RemoteMemory& memory,
                                    std::span<std::byte> to, std::uint64_t token) noexcept {
  if (!schedule_.parameters().rma) return AccessResult::unsupported;
  return start({from, peer, token, 0, memory, nullptr, to.data(), to.size(), false, 0, 0, 0, 0, false});
}

AccessResult SimulatedAccesses::start(Access access) noexcept {
  const std::lock_guard lock(mutex_);
  if (members_.has_left(access.from.rank, access.peer)) return AccessResult::peer_left;
  const DeviceAddress signalled{access.peer, access.memory.device};
  const auto refuse = [&](AccessResult result) {
    refused(access.peer, static_cast<std::uint64_t>(result), access.size);
    return result;
  };
  if (!members_.at(access.peer).joined || (access.has_immediate && !members_.mailbox(signalled).open))
    return refuse(AccessResult::not_ready);
  if (schedule_.random().chance(schedule_.parameters().refuse))
    return refuse(!members_.mailbox(access.from).exclusive.load(std::memory_order_relaxed) &&
                          schedule_.random().chance(50)
                      ? AccessResult::lock_contended
                      : AccessResult::no_slot);
  const auto under_way = std::count_if(accesses_.begin(), accesses_.end(), [&](const Access& other) {
    return other.is_from(access.from) && other.peer == access.peer;
  });
  if (static_cast<std::uint32_t>(under_way) >= schedule_.parameters().slots)
    return refuse(AccessResult::no_slot);
  access.number = schedule_.next_number();
  access.first_at = schedule_.some_time_from(schedule_.now() + 1);
  access.apply_at = schedule_.some_time_from(access.first_at);
  access.end_at = schedule_.some_time_from(access.apply_at);
  ++schedule_.counts().accesses;
  schedule_.note(Schedule::Event::posted, static_cast<std::uint64_t>(access.peer), access.end_at,
                 access.size);
  accesses_.push_back(access);
  return AccessResult::posted;
}

void SimulatedAccesses::tick() noexcept {
  schedule_.advance();
  if (members_.are_failures_due()) members_.show_failures();
  apply_due();
}

void SimulatedAccesses::refused(int peer, std::uint64_t result, std::size_t size) noexcept {
  ++schedule_.counts().refused;
  schedule_.note(Schedule::Event::refused, static_cast<std::uint64_t>(peer), result, size);
  tick();
}

void SimulatedAccesses::apply_due() noexcept {
  std::erase_if(accesses_, [this](Access& access) {
    const bool all = access.apply_at <= schedule_.now();
    return (all || (!access.begun && access.first_at <= schedule_.now())) && apply(access, all);
  });
}

bool SimulatedAccesses::apply(Access& access, bool all) noexcept {
  if (members_.at(access.peer).dead()) {
    end(access, std::max(access.end_at, members_.at(access.peer).gone_at), Outcome::peer_failed);
    return true;
  }
  std::byte* memory = find(access);
  if (memory == nullptr && !access.begun) {
    end(access, access.end_at, Outcome::refused);
    return true;
  }
  if (memory != nullptr && access.size != 0) {
    // A get reads everything at once; a put writes its first half before the rest.
    bool is_done = true;
    if (access.destination != nullptr) {
      is_done = !all || base::read_guarded(access.destination, memory, access.size);
    } else {
      const std::size_t from = access.begun ? access.size / 2 : 0;
      const std::size_t to = all ? access.size : access.size / 2;
      is_done = base::write_guarded(memory + from, access.source + from, to - from);
    }
    if (!is_done) {
      end(access, std::max(access.end_at, schedule_.now()), Outcome::refused);
      return true;
    }
  }
  access.begun = access.source != nullptr;
  if (!all) return false;
  schedule_.note(Schedule::Event::applied, static_cast<std::uint64_t>(access.peer), access.number,
                 access.size);
  if (access.has_immediate) {
    Mailbox& box = members_.mailbox({access.peer, access.memory.device});
    insert_by_due(box.immediates,
                  Mailbox::Immediate{schedule_.some_time_from(schedule_.now()), schedule_.next_number(),
                                     access.from.rank, access.immediate});
    box.ring();
  }
  end(access, std::max(access.end_at, schedule_.now()), Outcome::ok);
  return true;
}

void SimulatedAccesses::end(const Access& access, Tick due, Outcome outcome) noexcept {
  Mailbox& box = members_.mailbox(access.from);
  insert_by_due(box.ends, Mailbox::End{due, schedule_.next_number(), access.token, outcome});
  box.ring();
}

Offer SimulatedAccesses::offer(int rank, Bytes memory) noexcept {
  const std::lock_guard lock(mutex_);
  if (!schedule_.parameters().rma || schedule_.random().chance(50)) return {};
  const std::uint64_t key = schedule_.random().next() | 1;
  members_.at(rank).offers[key] = memory;
  return {key, nullptr};
}

void SimulatedAccesses::end_offer(int rank, const Offer& offer) noexcept {
  const std::lock_guard lock(mutex_);
  members_.at(rank).offers.erase(offer.key);
}

AccessResult SimulatedAccesses::fetch(DeviceAddress from, int peer, const OfferedMemory& memory,
                                      std::span<std::byte> to, std::uint64_t token) noexcept {
  const RemoteMemory offered{{kOffered, 0}, {memory.address, memory.key}, 0, memory.offset, memory.device};
  return get(from, peer, offered, to, token);
}

void SimulatedAccesses::stop_fetches(DeviceAddress address) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(accesses_, [&](const Access& access) {
    return access.is_from(address) && access.memory.region.index == kOffered;
  });
}

bool SimulatedAccesses::read(int reader, int peer, std::uint64_t address,
                             std::span<std::byte> local) noexcept {
  const std::lock_guard lock(mutex_);
  if (!schedule_.parameters().rma || members_.at(reader).killed || members_.at(peer).dead() ||
      schedule_.random().chance(schedule_.parameters().refuse))
    return false;
  std::memcpy(local.data(), reinterpret_cast<const std::byte*>(address), local.size());
  return true;
}

void SimulatedAccesses::drop_of(int rank) noexcept {
  std::erase_if(accesses_, [&](const Access& access) { return access.from.rank == rank; });
}

void SimulatedAccesses::drop_of(DeviceAddress address) noexcept {
  std::erase_if(accesses_, [&](const Access& access) { return access.is_from(address); });
}

void SimulatedAccesses::fail_of(int rank) noexcept {
  for (const Access& access : accesses_)
    if (access.from.rank == rank) end(access, schedule_.now(), Outcome::peer_failed);
  drop_of(rank);
}

bool SimulatedAccesses::concern(DeviceAddress address) const noexcept {
  return std::any_of(accesses_.begin(), accesses_.end(), [&](const Access& access) {
    return access.is_from(address) || access.peer == address.rank;
  });
}

}  // namespace weft::network::sim
