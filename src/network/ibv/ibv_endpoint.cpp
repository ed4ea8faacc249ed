#include "network/ibv/ibv_endpoint.hpp"

#include "network/readable_when_either.hpp"

#include <weft/error.hpp>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

namespace weft::network::ibv {

namespace {

constexpr std::size_t kRooms = 512;
constexpr std::size_t kFrames = 32;
constexpr std::size_t kFrameBytes = 8192;
constexpr std::uint32_t kForGreetings = 8;  // receive buffers before the first contact
constexpr std::uint32_t kForIntroductions = 2 * Introductions::kSlots;  // places in the completion queue

template <class Object>
Object* made(Object* object, const char* what, const Device& device) {
  if (object == nullptr)
    throw Error(ErrorClass::network, "ibv: " + device.describe() + " has no " + what +
                                         " left for a device (" + error_text(errno) + ")");
  return object;
}

/// A channel whose events are asked for without waiting.
ibv_comp_channel* make_channel(const Device& device) {
  CompletionChannel channel(
      made(verbs().create_comp_channel(&device.context()), "completion channel", device));
  set_not_waiting(channel->fd, "completions");
  return channel.release();
}

/// A descriptor that is readable when one of the two is.
int make_epoll(int first, int second) {
  base::Descriptor made = readable_when_either(first, second);
  if (!made) throw Error(ErrorClass::network, "ibv: completions cannot be waited for: " + error_text(errno));
  return made.release();
}

}  // namespace

IbvEndpoint::IbvEndpoint(const RankResources& context, std::uint32_t index)
    : context_(context),
      buffers_(context.device, context.message_bytes, context.copier),
      rooms_(context.device, kRooms,
             std::max(sizeof(session::Header) + context.inline_bytes, session::kLongestHello)),
      // A frame must fit into a receive buffer of the peer, which is as large as those of this rank.
      frames_(context.device, kFrames, std::min(kFrameBytes, context.message_bytes)),
      channel_(make_channel(context.device)),
      epoll_(make_epoll(channel_->fd, context.events.descriptor())),
      receives_(make_receive_queue()),
      completions_(make_completion_queue()),
      thread_domain_(context.thread_domains == ThreadDomains::all_qp ? ThreadDomain(context.device)
                                                                     : ThreadDomain()),
      posting_(context, std::min(kSends, static_cast<std::uint32_t>(completions_->cqe) - most_receives_ -
                                             kForIntroductions)),
      plan_{context.device,      *completions_,  *receives_,
            context.ack_timeout, thread_domain_, context.thread_domains == ThreadDomains::per_qp},
      introductions_(context, plan_, index, connections_, buffers_),
      region_accesses_(context, posting_, introductions_, rooms_) {
  buffers_.grow(kForGreetings, 0);
  buffers_.post_to(*receives_);
  const Address address = introductions_.address();
  context_.peers.publish(index, std::as_bytes(std::span(&address, 1)));
}

IbvEndpoint::~IbvEndpoint() { stop(); }

ibv_srq* IbvEndpoint::make_receive_queue() {
  ibv_srq_init_attr wanted{};
  wanted.attr.max_wr =
      std::min(kReceives, static_cast<std::uint32_t>(std::max(context_.device.limits().max_srq_wr, 1)));
  wanted.attr.max_sge = 1;
  SharedReceiveQueue queue(
      made(verbs().create_srq(&context_.device.domain(), &wanted), "shared receive queue", context_.device));
  most_receives_ = wanted.attr.max_wr;  // perhaps more than wanted
  return queue.release();
}

/// Everything that is posted must have a place in it: a queue that overflows is lost.
ibv_cq* IbvEndpoint::make_completion_queue() {
  const std::uint32_t others = most_receives_ + kForIntroductions;
  const auto most = static_cast<std::uint32_t>(std::max(context_.device.limits().max_cqe, 0));
  if (most < others + SendQueue::kDepth)
    throw Error(ErrorClass::network, "ibv: completion queues of " + context_.device.describe() + " have " +
                                         std::to_string(most) + " entries at most, and " +
                                         std::to_string(others + SendQueue::kDepth) + " are needed");
  const auto entries = static_cast<int>(std::min(others + kSends, most));
  return made(verbs().create_cq(&context_.device.context(), entries, nullptr, channel_.get(), 0),
              "completion queue", context_.device);
}

bool IbvEndpoint::connect(session::Link& link, std::span<const std::byte> address) noexcept try {
  Address there{};
  if (address.size() != sizeof there) return false;
  std::memcpy(&there, address.data(), sizeof there);
  if (there.mtu < IBV_MTU_256 || there.mtu > IBV_MTU_4096 || there.queue_pair == 0) return false;
  Connection& connection = connections_.add(link);
  connection.address = there;
  try {
    introductions_.begin(connection);
  } catch (...) {
    connections_.remove_last();
    throw;
  }
  // The peer may fill each class with all that the buffers have grown for before this rank polls again.
  buffers_.post_to(*receives_);
  return true;
} catch (const std::exception& error) {
  context_.log.error(error.what());
  return false;
}

bool IbvEndpoint::is_carrying() const noexcept {
  return region_accesses_.are_waiting() ||
         std::any_of(connections_.begin(), connections_.end(), [&](const auto& connection) {
           return connection->sends.awaits_completion() && !context_.peers.has_left(connection->rank);
         });
}

void IbvEndpoint::end_connections_with(int rank, session::SessionDevice& device) noexcept {
  bool has_ended = false;
  for (const auto& connection : connections_) {
    if (connection->rank != rank || connection->is_flushed) continue;
    close_queue_pair(*connection);
    has_ended = true;
  }
  // What has come by now. Requests that are flushed may follow, which drive() takes; others may go on adding.
  if (has_ended)
    for (int left = completions_->cqe, count = 1; left > 0 && count != 0; left -= count)
      count = take_completions(device);
}

void IbvEndpoint::stop() noexcept {
  introductions_.end();
  region_accesses_.end_waiting();
  for (const auto& connection : connections_) {
    connection->is_closed = connection->is_flushed = true;
    connection->queue_pair.reset();
    connection->route.reset();
    // Their completions are not read any more.
    connection->sends.complete_all([&](Work& work) {
      posting_.ended();
      end(work);
    });
  }
}

std::chrono::nanoseconds IbvEndpoint::longest_sleep() const noexcept {
  return introductions_.are_under_way() ? std::chrono::nanoseconds(Introductions::kRepeatAfter)
                                        : std::chrono::nanoseconds::max();
}

void IbvEndpoint::prepare_sleep() noexcept {
  context_.events.look();
  ibv_cq* queue = nullptr;
  void* unused = nullptr;
  unsigned events = 0;
  while (verbs().get_cq_event(channel_.get(), &queue, &unused) == 0) ++events;
  if (events != 0) verbs().ack_cq_events(completions_.get(), events);
  static_cast<void>(::ibv_req_notify_cq(completions_.get(), 0));
}

}  // namespace weft::network::ibv
