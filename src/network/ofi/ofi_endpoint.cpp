#include "network/ofi/ofi_endpoint.hpp"

#include "network/readable_when_either.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cerrno>
#include <new>

namespace weft::network::ofi {

namespace {

constexpr std::size_t kSendings = 512;
constexpr std::size_t kFrames = 32;
constexpr std::size_t kFrameBytes = 8192;
constexpr std::uint32_t kForGreetings = 8;  // receive buffers before the first contact
constexpr int kMostDrivesAtTheEnd = 256;    // of the connections with a rank

std::unique_ptr<ProviderAccesses> make_accesses(const EndpointContext& context, std::uint32_t index) {
  return context.accesses != nullptr ? std::make_unique<ProviderAccesses>(*context.accesses, context, index)
                                     : nullptr;
}

/// What is readable when messages or accesses have something to do; empty where they cannot both tell.
base::Descriptor make_sleeping(int messages, const ProviderAccesses* accesses) {
  if (messages < 0 || accesses == nullptr || accesses->wait_descriptor() < 0) return base::Descriptor();
  base::Descriptor made = readable_when_either(messages, accesses->wait_descriptor());
  if (!made) throw Error(ErrorClass::network, "ofi: completions cannot be waited for: " + error_text(errno));
  return made;
}

}  // namespace

OfiEndpoint::OfiEndpoint(const EndpointContext& context, std::uint32_t index)
    : context_(context),
      buffers_(context.fabric,
               sizeof(session::Header) + std::max(context.packets.layout().payload, context.inline_bytes),
               context.copier),
      addresses_(open_addresses(context.fabric)),
      completions_(open_completions(context.fabric)),
      endpoint_(open_endpoint(context.fabric, *completions_.queue, *addresses_)),
      accesses_(make_accesses(context, index)),
      sleeping_(make_sleeping(completions_.wait_descriptor, accesses_.get())) {
  Fabric& fabric = context_.fabric;
  const fi_info& info = fabric.info();
  inject_bytes_ = info.tx_attr->inject_size;
  has_two_pieces_ = info.tx_attr->iov_limit >= 2;
  // Packets without room for a header are copied when they cannot be sent as a second piece.
  sending_bytes_ = std::max(context.packets.is_foreign() && !has_two_pieces_
                                ? std::max(context.inline_bytes, context.packets.layout().payload)
                                : context.inline_bytes,
                            session::kLongestHello - sizeof(session::Header));

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

  std::vector<std::byte> address = address_of(fabric, *endpoint_);
  address_bytes_ = address.size();
  if (accesses_ != nullptr) {
    const std::vector<std::byte> of_accesses = accesses_->address();
    address.insert(address.end(), of_accesses.begin(), of_accesses.end());
  }
  context_.peers.publish(index, address);
}

OfiEndpoint::~OfiEndpoint() {
  // Closed before the memory that transfers may still use.
  stop();
  completions_.queue.reset();
  addresses_.reset();
}

int OfiEndpoint::wait_descriptor() const noexcept {
  if (accesses_ == nullptr) return completions_.wait_descriptor;
  return sleeping_ ? sleeping_.get() : -1;
}

bool OfiEndpoint::connect(session::Link& link, std::span<const std::byte> address) noexcept try {
  links_.reserve(links_.size() + 1);
  fi_addr_t made = FI_ADDR_UNSPEC;
  if (address.size() < address_bytes_ ||
      ::fi_av_insert(addresses_.get(), address.data(), 1, &made, 0, nullptr) != 1)
    return false;
  link.address = made;
  if (accesses_ != nullptr) accesses_->connect(link, address.subspan(address_bytes_));
  links_.push_back(&link);
  return true;
} catch (const std::bad_alloc&) {
  return false;
}

void OfiEndpoint::end_connections_with(int rank, session::SessionDevice& device) noexcept {
  if (accesses_ != nullptr) accesses_->end_with(rank, device);
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
  if (wait_descriptor() < 0) return true;
  fid* sources[] = {&completions_.queue->fid};
  return ::fi_trywait(&context_.fabric.fabric(), sources, 1) == FI_SUCCESS &&
         (accesses_ == nullptr || accesses_->may_sleep());
}

bool OfiEndpoint::is_carrying() const noexcept {
  const auto is_under_way = [&](const Sending& sending) {
    return sending.link != nullptr && !context_.peers.has_left(sending.link->rank);
  };
  return (accesses_ != nullptr && accesses_->are_under_way()) ||
         std::any_of(sendings_.begin(), sendings_.end(), is_under_way) ||
         std::any_of(frames_.begin(), frames_.end(), is_under_way);
}

}  // namespace weft::network::ofi
