#include "network/session/link/handle_board.hpp"

#include <weft/error.hpp>

#include <cstdlib>
#include <new>

namespace weft::network::session {

namespace {

constexpr std::uint64_t pack(std::uint32_t version, std::uint16_t generation, std::uint16_t state) noexcept {
  return std::uint64_t{version} << 32 | std::uint64_t{generation} << 16 | state;
}
constexpr std::uint32_t version_of(std::uint64_t entry) noexcept {
  return static_cast<std::uint32_t>(entry >> 32);
}
constexpr std::uint16_t generation_of(std::uint64_t entry) noexcept {
  return static_cast<std::uint16_t>(entry >> 16);
}

}  // namespace

void HandleBoard::FreeTable::operator()(std::atomic<std::uint64_t>* table) const noexcept {
  std::free(table);
}

HandleBoard::HandleBoard()
    // calloc(): zero pages take no memory until they are used.
    : table_(
          static_cast<std::atomic<std::uint64_t>*>(std::calloc(kIds, sizeof(std::atomic<std::uint64_t>)))) {
  if (table_ == nullptr) throw Error(ErrorClass::network, "cannot allocate the table of handles");
}

void HandleBoard::publish(std::uint16_t id, std::uint16_t generation, HandleState state) noexcept {
  const std::uint32_t version = version_of(table_[id].load(std::memory_order_relaxed)) + 1;
  table_[id].store(pack(version, generation, static_cast<std::uint16_t>(state)), std::memory_order_relaxed);
  if (used_.load(std::memory_order_relaxed) <= id) used_.store(id + 1U, std::memory_order_relaxed);
  const std::uint64_t number = changes_.load(std::memory_order_relaxed);
  log_[number % kLog].store(id, std::memory_order_relaxed);
  // Pairs with the acquire in changes(): a thread that sees the number sees the entry.
  changes_.store(number + 1, std::memory_order_release);
}

HandleChange HandleBoard::entry(std::uint32_t id) const noexcept {
  const std::uint64_t now = table_[id].load(std::memory_order_relaxed);
  return {static_cast<std::uint16_t>(id), generation_of(now), static_cast<std::uint16_t>(now), 0,
          version_of(now)};
}

std::size_t HandleBoard::take_updates(HandleCursor& cursor, std::span<HandleChange> updates) const noexcept {
  std::size_t count = 0;
  if (!cursor.whole_table) {
    while (count < updates.size() && cursor.next_change != changes()) {
      const std::uint16_t id = log_[cursor.next_change % kLog].load(std::memory_order_acquire);
      // The log is a ring: when it has gone round, the value read may be that of a later change, and changes
      // were missed.
      if (changes() - cursor.next_change >= kLog) {
        cursor = {};
        break;
      }
      ++cursor.next_change;
      updates[count++] = entry(id);
    }
    if (!cursor.whole_table) return count;
    count = 0;
  }
  // The table is sent from the beginning; changes from here on are taken from the log afterwards.
  if (cursor.next_id == 0) cursor.next_change = changes();
  const std::uint32_t used = used_.load(std::memory_order_relaxed);
  for (; cursor.next_id < used && count < updates.size(); ++cursor.next_id)
    if (const HandleChange change = entry(cursor.next_id); change.version != 0) updates[count++] = change;
  if (cursor.next_id >= used) cursor.whole_table = false;
  return count;
}

KnownHandles::~KnownHandles() {
  Pages* const pages = pages_.load(std::memory_order_relaxed);
  if (pages == nullptr) return;
  for (auto& page : *pages) delete page.load(std::memory_order_relaxed);
  delete pages;
}

namespace {

/// Returns what the slot points to, which is made when there is nothing; nullptr when there is no memory.
template <class Object>
Object* get_or_make(std::atomic<Object*>& slot) noexcept {
  // Pairs with the compare_exchange below, by which another device may have added the object.
  Object* object = slot.load(std::memory_order_acquire);
  if (object != nullptr) return object;
  auto* const fresh = new (std::nothrow) Object{};
  if (fresh == nullptr || slot.compare_exchange_strong(object, fresh, std::memory_order_acq_rel))
    return fresh;
  delete fresh;
  return object;
}

}  // namespace

bool KnownHandles::learn(const HandleChange& change) noexcept {
  Pages* const pages = get_or_make(pages_);
  Page* const page = pages == nullptr ? nullptr : get_or_make((*pages)[change.id / kPages]);
  if (page == nullptr) return false;
  std::atomic<std::uint64_t>& known = (*page)[change.id % kPages];
  std::uint64_t before = known.load(std::memory_order_relaxed);
  const std::uint64_t now = pack(change.version, change.generation, change.state);
  // Each device of the peer publishes the same changes on its own link; an older change may come later.
  do {
    if (before != 0 && static_cast<std::int32_t>(change.version - version_of(before)) <= 0) return true;
  } while (!known.compare_exchange_weak(before, now, std::memory_order_relaxed));
  return true;
}

SendResult KnownHandles::admission(std::uint64_t word) const noexcept {
  const auto id = static_cast<std::uint16_t>(word >> 48);
  const auto generation = static_cast<std::uint16_t>(word >> 32);
  const Pages* pages = pages_.load(std::memory_order_acquire);
  const Page* page = pages == nullptr ? nullptr : (*pages)[id / kPages].load(std::memory_order_acquire);
  const std::uint64_t known = page == nullptr ? 0 : (*page)[id % kPages].load(std::memory_order_relaxed);
  if (generation_of(known) < generation) return SendResult::not_ready;
  // Older and withdrawn handles are sent: the receiver refuses, counts and reports them.
  const bool stopped = static_cast<HandleState>(known & 0xffff) == HandleState::stopped;
  return generation_of(known) == generation && stopped ? SendResult::no_credit : SendResult::sent;
}

}  // namespace weft::network::session
