#include "network/ibv/region_accesses.hpp"

#include "network/ibv/memory/registered_regions.hpp"

#include <arpa/inet.h>

#include <cstring>
#include <limits>
#include <utility>

namespace weft::network::ibv {

using session::Sent;

namespace {

constexpr std::size_t kRoomsForOthers = 64;  // that puts and gets leave to messages
/// New accesses go by messages after so many queue pairs have failed; those that come back may need some
/// more.
constexpr std::uint8_t kLastRound = 100;
constexpr std::uint8_t kVeryLastRound = std::numeric_limits<std::uint8_t>::max();

}  // namespace

AccessResult RegionAccesses::begin(Connection& messages, const RemoteMemory& where,
                                   RegionAccess wanted) noexcept {
  if (!is_key_of(where.keys.key, where.region)) return AccessResult::unsupported;
  if (where.offset > where.region_size || wanted.size > where.region_size - where.offset)
    return AccessResult::refused;
  if (wanted.is_atomic() && (where.keys.address + where.offset) % sizeof(wanted.change.operand) != 0)
    return AccessResult::refused;
  if (messages.is_closed) return AccessResult::peer_left;
  Connection* const accesses = connection_beside(messages, kLastRound);
  if (accesses == nullptr) return AccessResult::unsupported;
  if (!accesses->is_open) return AccessResult::not_ready;
  // Before memory is registered, which is dear.
  if (!posting_.may_post(*accesses) || rooms_.free_count() <= kRoomsForOthers) return AccessResult::no_slot;
  const std::uint32_t index = accesses_.take();
  RegionAccess& access = accesses_[index] = std::move(wanted);
  access.messages = &messages;
  access.remote = where.keys.address + where.offset;
  access.key = static_cast<std::uint32_t>(where.keys.key);
  access.region = where.local;
  const Sent sent = make_sendable(access) ? post(index) : Sent::never;
  if (sent == Sent::yes) return AccessResult::posted;
  end(index);
  if (sent == Sent::later) return AccessResult::no_slot;
  return messages.is_closed ? AccessResult::peer_left : AccessResult::unsupported;
}

/// Short ones are inlined, or copied: to register memory costs a system call.
bool RegionAccesses::make_sendable(RegionAccess& access) noexcept try {
  const bool is_put = access.is_put();
  if (is_put && access.size <= access.messages->accesses->inline_bytes) return true;
  if (access.size > rooms_.bytes()) {
    // Verbs take memory that they may write; a put is only read.
    access.registration =
        context_.regions.local({access.local, access.size}, is_put ? 0 : kLocalAccess, access.region);
    return true;
  }
  access.room = rooms_.take();
  if (is_put) std::memcpy(access.room, access.local, access.size);
  return true;
} catch (const std::exception& error) {
  context_.log.info([&] { return "an access goes by messages: " + std::string(error.what()); });
  return false;
}

Sent RegionAccesses::post(std::uint32_t index) noexcept {
  RegionAccess& access = accesses_[index];
  const bool is_inlined = access.room == nullptr && access.registration == nullptr;
  ibv_sge piece = piece_of(access.room != nullptr ? access.room : access.local, access.size,
                           access.room != nullptr ? rooms_.key()
                           : is_inlined           ? 0
                                                  : access.registration->lkey);
  ibv_send_wr request{};
  request.sg_list = &piece;
  request.num_sge = 1;
  request.opcode = access.opcode;
  request.imm_data = ::htonl(access.immediate);
  request.send_flags = is_inlined ? IBV_SEND_INLINE : 0;
  if (access.is_atomic())
    request.wr.atomic = {access.remote,
                         access.change.is_compare_swap ? access.change.expected : access.change.operand,
                         access.change.operand, access.key};
  else
    request.wr.rdma = {access.remote, access.key};
  return posting_.post(*access.messages->accesses, request,
                       {.kind = Work::Kind::region_access, .token = index});
}

/// Returns nullptr when there is none and none can be made, up to the round `last`.
Connection* RegionAccesses::connection_beside(Connection& messages, std::uint8_t last) noexcept try {
  Connection* const now = messages.accesses;
  if (now != nullptr && !now->is_closed) return now;
  const std::uint8_t before = now != nullptr ? now->round : 0;
  if (!messages.reaches_regions || before >= last) return nullptr;
  return &introductions_.begin_accesses(messages, Purpose::accesses, static_cast<std::uint8_t>(before + 1));
} catch (const std::exception& error) {
  messages.reaches_regions = false;
  context_.log.info([&] {
    return "puts and gets of rank " + std::to_string(messages.rank) + " go by messages: " + error.what();
  });
  return nullptr;
}

void RegionAccesses::end(std::uint64_t index) noexcept {
  RegionAccess& access = accesses_[index];
  if (access.room != nullptr) rooms_.give_back(access.room);
  accesses_.give_back(index);
}

void RegionAccesses::report(std::uint64_t index, Outcome outcome, session::SessionDevice& device) noexcept {
  RegionAccess& access = accesses_[index];
  if (outcome == Outcome::ok && access.room != nullptr && !access.is_put() && access.local != nullptr)
    std::memcpy(access.local, access.room, access.size);
  const std::uint64_t token = access.token;
  end(index);
  device.fetch_completed(token, outcome);
}

void RegionAccesses::on_completion(Connection& connection, std::uint64_t index, ibv_wc_status status,
                                   session::SessionDevice& device) noexcept {
  if (status == IBV_WC_SUCCESS) return report(index, Outcome::ok, device);
  connection.is_closed = true;
  Connection& messages = *connection.messages;
  if (!messages.is_closed) static_cast<void>(connection_beside(messages, kVeryLastRound));
  switch (status) {
    case IBV_WC_REM_ACCESS_ERR:
    case IBV_WC_REM_INV_REQ_ERR:
    case IBV_WC_REM_OP_ERR:
      context_.log.info([&] {
        return "a put or get is refused by the device of rank " + std::to_string(connection.rank) + ": " +
               verbs().wc_status_str(status);
      });
      return report(index, Outcome::refused, device);
    case IBV_WC_WR_FLUSH_ERR:
      if (messages.is_closed) break;
      again_.push_back(static_cast<std::uint32_t>(index));
      return;
    default:
      posting_.lose(connection, "a put or get failed: " + std::string(verbs().wc_status_str(status)));
  }
  report(index, Outcome::peer_failed, device);
}

void RegionAccesses::post_again(session::SessionDevice& device) noexcept {
  std::erase_if(again_, [&](std::uint32_t index) {
    Connection& messages = *accesses_[index].messages;
    if (!messages.is_closed) {
      const Connection* const accesses = connection_beside(messages, kVeryLastRound);
      if (accesses != nullptr && (!posting_.may_post(*accesses) || post(index) == Sent::later)) return false;
      if (accesses == nullptr) posting_.lose(messages, "puts and gets cannot be carried out");
    }
    if (messages.is_closed) report(index, Outcome::peer_failed, device);
    return true;
  });
}

}  // namespace weft::network::ibv
