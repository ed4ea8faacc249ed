// Regions, and the puts and gets that access them without their owner's help.
#include "network/sim/simulated_fabric.hpp"

#include "base/memory/guarded_copy.hpp"

#include <algorithm>
#include <cstring>

namespace weft::network::sim {

RegionKeys SimulatedFabric::add_region(int rank, RegionName name, std::span<std::byte> memory) {
  const std::lock_guard lock(mutex_);
  const std::uint64_t key = random_.next();
  member(rank).regions[name.index] = {name.generation, key, memory};
  return {reinterpret_cast<std::uint64_t>(memory.data()), key};
}

void SimulatedFabric::remove_region(int rank, RegionName name) noexcept {
  const std::lock_guard lock(mutex_);
  // Puts that are partly visible already are carried out in full: an access that ends as refused must not
  // have changed anything.
  std::erase_if(accesses_, [&](Access& access) {
    return access.peer == rank && access.memory.region.index == name.index && access.begun &&
           apply(access, true);
  });
  auto& regions = member(rank).regions;
  const auto found = regions.find(name.index);
  if (found != regions.end() && found->second.generation == name.generation) regions.erase(found);
}

std::byte* SimulatedFabric::find(const Access& access) noexcept {
  if (access.memory.region.index == kOffered) {
    const auto& offers = member(access.peer).offers;
    const auto offered = offers.find(access.memory.keys.key);
    if (offered == offers.end() || access.memory.offset > offered->second.size() ||
        access.size > offered->second.size() - access.memory.offset)
      return nullptr;
    return const_cast<std::byte*>(offered->second.data()) + access.memory.offset;  // only read
  }
  const auto& regions = member(access.peer).regions;
  const auto found = regions.find(access.memory.region.index);
  if (found == regions.end()) return nullptr;
  const Region& region = found->second;
  const std::uint64_t offset = access.memory.offset;
  const bool allowed = region.generation == access.memory.region.generation &&
                       region.key == access.memory.keys.key && offset <= region.memory.size() &&
                       access.size <= region.memory.size() - offset;
  return allowed ? region.memory.data() + offset : nullptr;
}

AccessResult SimulatedFabric::put(Place from, int peer, const RemoteMemory& to, Bytes bytes,
                                  const std::uint64_t* immediate, std::uint64_t token,
                                  bool exclusive) noexcept {
  if (!parameters_.rma || (immediate != nullptr && parameters_.immediate == 0))
    return AccessResult::unsupported;
  const std::uint64_t mask = parameters_.immediate == 4 ? 0xffffffff : ~std::uint64_t{0};
  return start({from, peer, token, 0, to, bytes.data(), nullptr, bytes.size(), immediate != nullptr,
                immediate != nullptr ? *immediate & mask : 0, 0, 0, 0, false},
               exclusive);
}

AccessResult SimulatedFabric::get(Place from, int peer, const RemoteMemory& memory, std::span<std::byte> to,
                                  std::uint64_t token, bool exclusive) noexcept {
  if (!parameters_.rma) return AccessResult::unsupported;
  return start({from, peer, token, 0, memory, nullptr, to.data(), to.size(), false, 0, 0, 0, 0, false},
               exclusive);
}

AccessResult SimulatedFabric::start(Access access, bool exclusive) noexcept {
  const std::lock_guard lock(mutex_);
  if (has_left_locked(access.from.rank, access.peer)) return AccessResult::peer_left;
  const Place signalled{access.peer, access.memory.device};
  const auto refuse = [&](AccessResult result) {
    refused(access.peer, static_cast<std::uint64_t>(result), access.size);
    return result;
  };
  if (!member(access.peer).joined || (access.has_immediate && !mailbox(signalled).open))
    return refuse(AccessResult::not_ready);
  if (random_.chance(parameters_.refuse))
    return refuse(!exclusive && random_.chance(50) ? AccessResult::lock_contended : AccessResult::no_slot);
  const auto under_way = std::count_if(accesses_.begin(), accesses_.end(), [&](const Access& other) {
    return other.from.rank == access.from.rank && other.from.device == access.from.device &&
           other.peer == access.peer;
  });
  if (static_cast<std::uint32_t>(under_way) >= parameters_.slots) return refuse(AccessResult::no_slot);
  access.number = ++numbers_;
  access.first_at = some_time_from(now_ + 1);
  access.apply_at = some_time_from(access.first_at);
  access.end_at = some_time_from(access.apply_at);
  ++counts_.accesses;
  note(Event::posted, static_cast<std::uint64_t>(access.peer), access.end_at, access.size);
  accesses_.push_back(access);
  return AccessResult::posted;
}

void SimulatedFabric::apply_due_accesses() noexcept {
  std::erase_if(accesses_, [this](Access& access) {
    const bool all = access.apply_at <= now_;
    return (all || (!access.begun && access.first_at <= now_)) && apply(access, all);
  });
}

bool SimulatedFabric::apply(Access& access, bool all) noexcept {
  if (member(access.peer).dead()) {
    end(access, std::max(access.end_at, member(access.peer).gone_at), Outcome::peer_failed);
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
      end(access, std::max(access.end_at, now_), Outcome::refused);
      return true;
    }
  }
  access.begun = access.source != nullptr;
  if (!all) return false;
  note(Event::applied, static_cast<std::uint64_t>(access.peer), access.number, access.size);
  if (access.has_immediate) {
    Mailbox& box = mailbox({access.peer, access.memory.device});
    insert_by_due(box.immediates,
                  Mailbox::Immediate{some_time_from(now_), ++numbers_, access.from.rank, access.immediate});
    ring(box);
  }
  end(access, std::max(access.end_at, now_), Outcome::ok);
  return true;
}

void SimulatedFabric::end(const Access& access, Tick due, Outcome outcome) noexcept {
  Mailbox& box = mailbox(access.from);
  insert_by_due(box.ends, Mailbox::End{due, ++numbers_, access.token, outcome});
  ring(box);
}

Offer SimulatedFabric::offer(int rank, Bytes memory) noexcept {
  const std::lock_guard lock(mutex_);
  if (!parameters_.rma || random_.chance(50)) return {};
  const std::uint64_t key = random_.next() | 1;
  member(rank).offers[key] = memory;
  return {key, nullptr};
}

void SimulatedFabric::end_offer(int rank, const Offer& offer) noexcept {
  const std::lock_guard lock(mutex_);
  member(rank).offers.erase(offer.key);
}

AccessResult SimulatedFabric::fetch(Place from, int peer, const OfferedMemory& memory,
                                    std::span<std::byte> to, std::uint64_t token, bool exclusive) noexcept {
  const RemoteMemory offered{{kOffered, 0}, {memory.address, memory.key}, 0, memory.offset, memory.device};
  return get(from, peer, offered, to, token, exclusive);
}

void SimulatedFabric::stop_fetches(Place place) noexcept {
  const std::lock_guard lock(mutex_);
  std::erase_if(accesses_, [&](const Access& access) {
    return access.from.rank == place.rank && access.from.device == place.device &&
           access.memory.region.index == kOffered;
  });
}

bool SimulatedFabric::read(int reader, int peer, std::uint64_t address, std::span<std::byte> local) noexcept {
  const std::lock_guard lock(mutex_);
  if (!parameters_.rma || member(reader).killed || member(peer).dead() || random_.chance(parameters_.refuse))
    return false;
  std::memcpy(local.data(), reinterpret_cast<const std::byte*>(address), local.size());
  return true;
}

}  // namespace weft::network::sim
