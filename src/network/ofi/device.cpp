#include "network/ofi/device.hpp"

#include "base/clock.hpp"
#include "concurrent/process_barrier.hpp"

#include <weft/error.hpp>

#include <sched.h>
#include <algorithm>
#include <map>

namespace weft::network::ofi {

namespace {

constexpr std::size_t kSendings = 512;
constexpr std::uint32_t kForGreetings = 8;          // receive buffers before anybody is known
constexpr std::int64_t kDeviceDrains = 20'000'000;  // nanoseconds
constexpr double kGoodbyeSeconds = 0.5;

void check(long result, const char* call, const Fabric& fabric) {
  if (result >= 0) return;
  throw Error("ofi: " + std::string(call) + " of the provider \"" + std::string(fabric.provider()) +
              "\" failed: " + error_text(result));
}

}  // namespace

OfiDevice::OfiDevice(const Shared& shared, std::uint32_t index)
    : shared_(shared),
      index_(static_cast<std::uint8_t>(index)),
      buffers_(shared.fabric, sizeof(Header) + std::max(shared.packets.layout().payload, shared.inline_bytes),
               shared.copier) {
  Fabric& fabric = shared_.fabric;
  fi_info& info = fabric.info();
  inject_bytes_ = info.tx_attr->inject_size;

  fi_av_attr av_attributes{};
  av_attributes.type = FI_AV_UNSPEC;
  fid_av* addresses = nullptr;
  check(::fi_av_open(&fabric.domain(), &av_attributes, &addresses, nullptr), "fi_av_open", fabric);
  addresses_.reset(addresses);

  fi_cq_attr cq_attributes{};
  cq_attributes.format = FI_CQ_FORMAT_DATA;
  cq_attributes.size = info.tx_attr->size + info.rx_attr->size;
  cq_attributes.wait_obj = FI_WAIT_FD;
  fid_cq* completions = nullptr;
  if (::fi_cq_open(&fabric.domain(), &cq_attributes, &completions, nullptr) != 0) {
    // Some providers have nothing to sleep on.
    cq_attributes.wait_obj = FI_WAIT_NONE;
    check(::fi_cq_open(&fabric.domain(), &cq_attributes, &completions, nullptr), "fi_cq_open", fabric);
  }
  completions_.reset(completions);
  if (cq_attributes.wait_obj == FI_WAIT_FD &&
      ::fi_control(&completions->fid, FI_GETWAIT, &wait_descriptor_) != 0)
    wait_descriptor_ = -1;

  fid_ep* endpoint = nullptr;
  check(::fi_endpoint(&fabric.domain(), &info, &endpoint, nullptr), "fi_endpoint", fabric);
  endpoint_.reset(endpoint);
  check(::fi_ep_bind(endpoint, &completions->fid, FI_SEND | FI_RECV), "fi_ep_bind", fabric);
  check(::fi_ep_bind(endpoint, &addresses->fid, 0), "fi_ep_bind", fabric);
  check(::fi_enable(endpoint), "fi_enable", fabric);

  const std::size_t room = (sizeof(Header) + shared_.inline_bytes + 63) / 64 * 64;
  sending_memory_ = std::make_unique<std::byte[]>(kSendings * room);
  sending_registration_ = fabric.register_local({sending_memory_.get(), kSendings * room});
  sendings_.resize(kSendings);
  free_sendings_.reserve(kSendings);
  for (std::size_t next = kSendings; next-- > 0;) {
    sendings_[next].bytes = sending_memory_.get() + next * room;
    free_sendings_.push_back(&sendings_[next]);
  }

  buffers_.grow(kForGreetings, 0);
  post_receives();

  std::vector<std::byte> address(64);
  std::size_t bytes = address.size();
  if (::fi_getname(&endpoint->fid, address.data(), &bytes) == -FI_ETOOSMALL) address.resize(bytes);
  check(::fi_getname(&endpoint->fid, address.data(), &bytes), "fi_getname", fabric);
  address.resize(bytes);
  shared_.peers.publish(index, address);
}

OfiDevice::~OfiDevice() {
  // Before the memory that transfers may still use.
  endpoint_.reset();
  completions_.reset();
  addresses_.reset();
}

bool OfiDevice::prepare_park(bool exclusive) noexcept {
  concurrent::process_barrier();
  Guard guard(*this, exclusive);
  if (!guard) return false;
  returns_all_credit_ = true;
  drive();
  return pending_.load(std::memory_order_relaxed) == 0 && !links_need_service_ &&
         !has_rejections_.load(std::memory_order_relaxed) && !credit_is_due_.load(std::memory_order_relaxed);
}

void OfiDevice::park(std::uint32_t token, std::uint32_t bits, std::chrono::nanoseconds limit) noexcept {
  fid* sources[] = {&completions_->fid};
  // Something has arrived meanwhile: poll for it.
  if (wait_descriptor_ >= 0 && ::fi_trywait(&shared_.fabric.fabric(), sources, 1) != FI_SUCCESS) return;
  parking_.park(wait_descriptor_, token, bits, limit);
}

void OfiDevice::close() noexcept {
  Guard guard(*this, false);
  if (!guard) return;
  returns_all_credit_ = true;
  drive();
}

bool OfiDevice::drained() noexcept {
  Guard guard(*this, false);
  if (!guard) return false;
  const bool taken = is_taken(true);
  const bool carried = std::none_of(sendings_.begin(), sendings_.end(), [&](const Sending& sending) {
    return sending.link != nullptr && !shared_.peers.gone(sending.link->rank);
  });
  if (taken || !carried) return taken;
  // libfabric has everything, and goes on with it when the device is closed: only the end of the network has
  // to wait longer for peers that take nothing or do not say so.
  const std::int64_t now = base::now_ns();
  if (drain_asked_ == 0) drain_asked_ = now;
  return now - drain_asked_ > kDeviceDrains;
}

bool OfiDevice::is_taken(bool by_itself_too) noexcept {
  returns_all_credit_ = true;  // peers may be draining as well
  bool all = true;
  for (Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next) {
    if (shared_.peers.gone(link->rank)) continue;
    if (link->rank == shared_.peers.rank() && !by_itself_too) continue;
    bool unasked = false;
    for (const Lane& lane : link->lanes) {
      if (lane.under_way() != 0) all = false;
      unasked |= lane.under_way() != 0 && lane.asked_at != lane.sent;
    }
    if (unasked) {
      send_ask(*link);
      drain_asked_ = 0;
    }
  }
  return all;
}

void OfiDevice::finish(std::int64_t until) noexcept {
  for (;;) {
    {
      Guard guard(*this, false);
      if (guard) {
        if (is_taken(false)) return;  // what it sent itself, nobody will take any more
        drive();
      }
    }
    if (base::now_ns() > until) break;
    ::sched_yield();
  }
  shared_.log.warn("device " + std::to_string(index_) +
                   " ends with what its peers have not taken: " + undelivered());
}

std::string OfiDevice::undelivered() {
  Guard guard(*this, false);
  if (!guard) return "messages that another thread is sending";
  std::map<int, std::uint64_t> by_rank;
  for (const Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next)
    for (const Lane& lane : link->lanes)
      if (lane.under_way() != 0 && !shared_.peers.gone(link->rank)) by_rank[link->rank] += lane.under_way();
  std::string text;
  for (const auto& [rank, count] : by_rank)
    text += (text.empty() ? "" : ", ") + std::string("up to ") + std::to_string(count) +
            " messages to rank " + std::to_string(rank);
  return text;
}

void OfiDevice::say_goodbye() noexcept {
  const base::Deadline deadline(kGoodbyeSeconds);
  std::vector<Link*> waiting;
  for (Link* link = links_.load(std::memory_order_relaxed); link != nullptr; link = link->next)
    if (link->hello_sent && link->rank != shared_.peers.rank()) waiting.push_back(link);
  while (!deadline.passed()) {
    std::erase_if(waiting, [&](Link* link) {
      return shared_.peers.gone(link->rank) ||
             transmit(*link, header(Kind::goodbye, 0, 0), {}) != Sent::later;
    });
    drive();
    const bool under_way = std::any_of(sendings_.begin(), sendings_.end(), [&](const Sending& sending) {
      return sending.link != nullptr && !shared_.peers.gone(sending.link->rank);
    });
    if (waiting.empty() && !under_way) return;
    ::sched_yield();
  }
}

}  // namespace weft::network::ofi
