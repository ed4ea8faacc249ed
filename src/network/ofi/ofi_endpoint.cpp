#include "network/ofi/ofi_endpoint.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <new>

namespace weft::network::ofi {

namespace {

constexpr std::size_t kSendings = 512;
constexpr std::size_t kFrames = 32;
constexpr std::size_t kFrameBytes = 8192;
constexpr std::uint32_t kForGreetings = 8;  // receive buffers before the first contact
constexpr int kMostDrivesAtTheEnd = 256;    // of the connections with a rank

void check(long result, const char* call, const Fabric& fabric) {
  if (result >= 0) return;
  throw Error(ErrorClass::network, "ofi: " + std::string(call) + " of the provider \"" +
                                       std::string(fabric.provider()) + "\" failed: " + error_text(result));
}

}  // namespace

OfiEndpoint::OfiEndpoint(const EndpointContext& context, std::uint32_t index)
    : context_(context),
      buffers_(context.fabric,
               sizeof(session::Header) + std::max(context.packets.layout().payload, context.inline_bytes),
               context.copier) {
  Fabric& fabric = context_.fabric;
  fi_info& info = fabric.info();
  inject_bytes_ = info.tx_attr->inject_size;
  has_two_pieces_ = info.tx_attr->iov_limit >= 2;
  // Packets without room for a header are copied when they cannot be sent as a second piece.
  sending_bytes_ = std::max(context.packets.is_foreign() && !has_two_pieces_
                                ? std::max(context.inline_bytes, context.packets.layout().payload)
                                : context.inline_bytes,
                            session::kLongestHello - sizeof(session::Header));

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
    // Some providers have no object to sleep on.
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

  const auto rounded = [](std::size_t size) { return (size + 63) / 64 * 64; };
  const std::size_t room = rounded(sizeof(session::Header) + sending_bytes_);
  // A frame must fit into a receive buffer of the peer, which is as large as those of this rank.
  frame_bytes_ = std::min(kFrameBytes, buffers_.size());
  const std::size_t rooms = kSendings * room + kFrames * rounded(frame_bytes_);
  sending_memory_ = std::make_unique<std::byte[]>(rooms);
  sending_registration_ = fabric.register_local({sending_memory_.get(), rooms});
  const auto make = [](std::vector<Sending>& all, std::vector<Sending*>& free, std::size_t count,
                       std::byte* memory, std::size_t stride) {
    all.resize(count);
    free.reserve(count);
    for (std::size_t next = count; next-- > 0;) {
      all[next].bytes = memory + next * stride;
      free.push_back(&all[next]);
    }
  };
  make(sendings_, free_sendings_, kSendings, sending_memory_.get(), room);
  make(frames_, free_frames_, kFrames, sending_memory_.get() + kSendings * room, rounded(frame_bytes_));

  buffers_.grow(kForGreetings, 0);
  post_receives();

  std::vector<std::byte> address(64);
  std::size_t bytes = address.size();
  if (::fi_getname(&endpoint->fid, address.data(), &bytes) == -FI_ETOOSMALL) address.resize(bytes);
  check(::fi_getname(&endpoint->fid, address.data(), &bytes), "fi_getname", fabric);
  address.resize(bytes);
  context_.peers.publish(index, address);
}

OfiEndpoint::~OfiEndpoint() {
  // Closed before the memory that transfers may still use.
  endpoint_.reset();
  completions_.reset();
  addresses_.reset();
}

bool OfiEndpoint::connect(session::Link& link, std::span<const std::byte> address) noexcept try {
  links_.reserve(links_.size() + 1);
  fi_addr_t made = FI_ADDR_UNSPEC;
  if (::fi_av_insert(addresses_.get(), address.data(), 1, &made, 0, nullptr) != 1) return false;
  link.address = made;
  links_.push_back(&link);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void OfiEndpoint::end_connections_with(int rank, session::SessionDevice& device) noexcept {
  if (!has_landings_.load(std::memory_order_relaxed)) return;
  // What the rank has put before it left has come by now.
  int drives = 0;
  do drive(device);
  while (fruitful_reads_ != 0 && ++drives < kMostDrivesAtTheEnd);
  // What has come in part would be written by later drives, though its landing has been closed.
  for (session::Link* const link : links_)
    if (link->rank == rank && !is_closed(*link)) {
      ::fi_av_remove(addresses_.get(), &link->address, 1, 0);
      link->address = FI_ADDR_UNSPEC;
    }
}

bool OfiEndpoint::may_sleep() noexcept {
  fid* sources[] = {&completions_->fid};
  return wait_descriptor_ < 0 || ::fi_trywait(&context_.fabric.fabric(), sources, 1) == FI_SUCCESS;
}

bool OfiEndpoint::is_carrying() const noexcept {
  const auto is_under_way = [&](const Sending& sending) {
    return sending.link != nullptr && !context_.peers.has_left(sending.link->rank);
  };
  return std::any_of(sendings_.begin(), sendings_.end(), is_under_way) ||
         std::any_of(frames_.begin(), frames_.end(), is_under_way);
}

}  // namespace weft::network::ofi
