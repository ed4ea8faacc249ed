#include <weft/stream/stream_group.hpp>

#include <weft/error.hpp>
#include <weft/matching/context.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <bitset>
#include <cstring>
#include <exception>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/device/call_name.hpp"
#include "stream/group_collective_port.hpp"
#include "stream/stream_registry.hpp"

namespace weft {

namespace {

using detail::StreamWords;
constexpr std::uint32_t kMostStreams = StreamWords::kStreams;

/// What a rank says of itself when a group is made.
struct Shape {
  std::uint32_t streams = 0;
  std::uint32_t has_one_twice = 0;  // other than 0: it does; without padding, as it travels
};

/// The numbers that rank 0 has taken for a group.
struct GroupNumbers {
  ContextNumbers messages;     // as StreamWords compose them
  ContextNumbers collectives;  // one
};

/// Whether a stream is in the list twice, the null stream among them: then a message's device does not tell
/// its receiver.
bool has_one_twice(std::span<const std::shared_ptr<stream::StreamState>> streams) {
  std::bitset<256> seen;
  for (const auto& stream : streams) {
    if (seen[stream->index]) return true;
    seen[stream->index] = true;
  }
  return false;
}

}  // namespace

struct StreamGroup::Table {
  Runtime* runtime = nullptr;
  stream::StreamRegistry* registry = nullptr;
  StreamGroupOptions options;
  int rank = 0;
  std::vector<std::shared_ptr<stream::StreamState>> own;
  std::vector<std::uint32_t> begins;  // where the devices of each rank begin, and the end
  std::vector<std::uint8_t> devices;  // of all streams of all ranks; 0: null
  std::optional<MatchingContext> contexts;
  StreamWords words;
  std::optional<MatchingContext> for_collective;  // until it is made
  std::optional<detail::RuntimeUser> user;
  std::atomic<Collective*> collective{nullptr};  // null until it is asked for
  std::mutex mutex;                              // guards the members below
  std::unique_ptr<Collective> owned_collective;
  std::set<std::uint32_t> null_queues;  // indices of null streams that have a queue
};

StreamGroup::StreamGroup(Runtime& runtime, std::span<Stream* const> streams,
                         const StreamGroupOptions& options)
    : StreamGroup(&runtime, streams, options) {}

StreamGroup::StreamGroup(Runtime& runtime, Stream& stream, const StreamGroupOptions& options)
    : StreamGroup(&runtime, std::array<Stream*, 1>{&stream}, options) {}

StreamGroup::StreamGroup(Runtime* runtime, std::span<Stream* const> streams,
                         const StreamGroupOptions& options)
    : table_(std::make_unique<Table>()) {
  Table& table = *table_;
  table.runtime = runtime;
  table.registry = &stream::StreamRegistry::of(runtime->state());
  table.options = options;
  table.rank = runtime->rank();
  std::shared_ptr<stream::StreamState> null;  // the registry keeps it
  for (Stream* const given : streams) {
    if (given != nullptr && given->state_ == nullptr)
      throw Error("a stream group is made of a stream that has been freed, or moved into another object");
    if (given == nullptr && null == nullptr) null = table.registry->null_stream(*runtime);
    table.own.push_back(given == nullptr ? null : given->state_->shared_from_this());
  }
  const auto ranks = static_cast<std::size_t>(runtime->size());

  const Shape mine{static_cast<std::uint32_t>(table.own.size()), has_one_twice(table.own) ? 1U : 0U};
  // Before any rank can send to it.
  runtime->state().matching_engines().allow_streams_of_peers();
  std::vector<Shape> all(ranks);
  runtime->allgather(bytes_of(mine), std::as_writable_bytes(std::span(all)));
  std::uint32_t most = 0;
  bool has_receivers = false;
  table.begins.push_back(0);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    table.begins.push_back(table.begins.back() + all[rank].streams);
    most = std::max(most, all[rank].streams);
    has_receivers = has_receivers || all[rank].has_one_twice != 0;
    if (all[rank].streams > kMostStreams)
      throw Error("a stream group has " + std::to_string(all[rank].streams) + " streams on rank " +
                  std::to_string(rank) + "; it may have up to " + std::to_string(kMostStreams));
  }
  if (most != 0) exchange_devices(most, has_receivers);
  table.user.emplace(*runtime, "StreamGroup");
}

/// All ranks tell the devices of their streams, and rank 0 the numbers of the group's contexts.
void StreamGroup::exchange_devices(std::uint32_t most, bool has_receivers) {
  Table& table = *table_;
  Runtime& runtime = *table.runtime;
  const auto ranks = static_cast<std::size_t>(runtime.size());
  GroupNumbers numbers;
  std::string refusal;
  if (table.rank == 0) {
    try {
      numbers.collectives = MatchingContext::reserve(runtime);
      numbers.messages = MatchingContext::reserve(runtime, StreamWords::contexts_for(most, has_receivers));
    } catch (const std::exception& error) {  // thrown when the other ranks know of it
      refusal = error.what();
      MatchingContext::give_back(runtime, numbers.collectives);
    }
  }
  const std::size_t each = sizeof numbers + most;
  std::vector<std::byte> own(each);
  std::memcpy(own.data(), &numbers, sizeof numbers);
  for (std::size_t index = 0; index < table.own.size(); ++index)
    own[sizeof numbers + index] = static_cast<std::byte>(table.own[index]->index);
  std::vector<std::byte> all(ranks * each);
  runtime.allgather(own, all);
  std::memcpy(&numbers, all.data(), sizeof numbers);
  if (numbers.messages.count == 0)
    throw Error(refusal.empty() ? "StreamGroup: rank 0 has no numbers left for the contexts of the group"
                                : refusal);
  table.contexts.emplace(MatchingContext::of(runtime, numbers.messages, {.order = MatchOrder::ordered}));
  table.for_collective.emplace(
      MatchingContext::of(runtime, numbers.collectives, {.needs_all_members = true}));
  table.words = StreamWords(numbers.messages.first, most, has_receivers);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::byte* const devices = all.data() + rank * each + sizeof numbers;
    for (std::uint32_t index = 0; index < streams_of(static_cast<int>(rank)); ++index)
      table.devices.push_back(static_cast<std::uint8_t>(devices[index]));
  }
}

StreamGroup::~StreamGroup() = default;

StreamGroup::StreamGroup(StreamGroup&&) noexcept = default;

StreamGroup StreamGroup::duplicate() const {
  std::vector<Stream*> streams;
  for (const auto& stream : table_->own) streams.push_back(&stream->view);
  return StreamGroup(table_->runtime, streams, table_->options);
}

Runtime& StreamGroup::runtime() const noexcept { return *table_->runtime; }
int StreamGroup::rank() const noexcept { return table_->rank; }
int StreamGroup::size() const noexcept { return static_cast<int>(table_->begins.size()) - 1; }

std::uint32_t StreamGroup::streams_of(int rank) const {
  if (rank < 0 || rank >= size())
    throw Error("rank " + std::to_string(rank) + " is not in the stream group: ranks are 0 to " +
                std::to_string(size() - 1));
  const auto index = static_cast<std::size_t>(rank);
  return table_->begins[index + 1] - table_->begins[index];
}

GroupStream StreamGroup::member(std::uint32_t index) const {
  if (index >= table_->own.size())
    throw Error("this rank has no stream " + std::to_string(index) + " in the stream group: it has " +
                std::to_string(table_->own.size()));
  return {view(), table_->own[index]->view, index};
}

GroupStream StreamGroup::member_of_queue(std::uint32_t index) const {
  return {view(), table_->own.at(index)->view_of_owner, index};
}

bool StreamGroup::claim_null(std::uint32_t index) const {
  const std::lock_guard lock(table_->mutex);
  return table_->null_queues.insert(index).second;
}

void StreamGroup::release_null(std::uint32_t index) const noexcept {
  const std::lock_guard lock(table_->mutex);
  table_->null_queues.erase(index);
}

std::uint32_t StreamGroup::collective_index() const noexcept { return table_->options.collective_index; }

Collective& StreamGroup::collective() {
  // Pairs with the release in make_collective().
  Collective* const made = table_->collective.load(std::memory_order_acquire);
  if (made == nullptr) return make_collective();
  // Here, and not in the middle of the collective, which other ranks then would wait for.
  stream::StreamState& own = *table_->own[table_->options.collective_index];
  if (own.turn.is_owned() && !own.gate.is_taken_by(detail::ProcessThreads::mark()))
    static_cast<void>(own.view.enter());
  return *made;
}

Collective& StreamGroup::make_collective() {
  Table& table = *table_;
  const std::uint32_t index = table.options.collective_index;
  std::vector<std::uint8_t> devices;
  for (int rank = 0; rank < size(); ++rank) {
    if (index >= streams_of(rank))
      throw Error("the stream group has no collectives: they need stream " + std::to_string(index) +
                  " of every rank (collective_index), and rank " + std::to_string(rank) + " has " +
                  std::to_string(streams_of(rank)));
    devices.push_back(view().device_of({rank, index}));
  }
  const std::uint8_t device = devices[static_cast<std::size_t>(table.rank)];
  stream::StreamState& own = *table.own[index];
  // Throws where another thread is inside, before anything has begun.
  if (own.serial) static_cast<void>(own.view.enter());
  const std::lock_guard lock(table.mutex);
  if (table.owned_collective == nullptr) {
    auto port = std::make_unique<stream::GroupCollectivePort>(own, std::move(devices));
    table.owned_collective.reset(new Collective(*table.runtime, std::move(port), Team::world(*table.runtime),
                                                device, std::move(*table.for_collective)));
    // Pairs with the acquire in collective().
    table.collective.store(table.owned_collective.get(), std::memory_order_release);
  }
  return *table.owned_collective;
}

detail::GroupView StreamGroup::view() const noexcept {
  return {table_->begins.data(), table_->devices.data(), static_cast<std::uint32_t>(size()), table_->words};
}

void detail::GroupView::refuse(StreamAddress address) const {
  const auto rank = static_cast<std::uint32_t>(address.rank);
  throw Error("stream " + std::to_string(address.index) + " of rank " + std::to_string(address.rank) +
              " is not in the stream group: " +
              (rank < ranks ? "rank " + std::to_string(address.rank) + " has " +
                                  std::to_string(begins[rank + 1] - begins[rank]) + " streams there"
                            : "ranks are 0 to " + std::to_string(ranks - 1)));
}

std::uint64_t GroupStream::address(StreamAddress from, std::uint32_t tag, std::uint64_t mask,
                                   ReceiveOptions& options) const {
  options.policy = MatchingPolicy::rank_and_tag;
  options.engine = engine_;
  options.tag_mask = mask;
  std::uint32_t index = from.index;
  if (index == any_index) {
    options.tag_mask &= ~(view_.words.sender_bits << 32);
    index = 0;
    if (from.rank != any_source && static_cast<std::uint32_t>(from.rank) >= view_.ranks) view_.refuse(from);
  } else if (from.rank != any_source) {
    static_cast<void>(view_.device_of(from));
  } else if (index > view_.words.sender_bits) {
    throw Error("stream " + std::to_string(index) + " of any rank is out of range: 0 to " +
                std::to_string(view_.words.sender_bits));
  }
  return as_receiver_ | std::uint64_t{index} << 32 | tag;
}

Status GroupStream::post_receive_masked(StreamAddress from, std::uint32_t tag, std::uint64_t mask,
                                        std::span<std::byte> buffer, const ReceiveOptions& options) {
  ReceiveOptions given = options;
  const std::uint64_t word = address(from, tag, mask, given);
  return stream_->with([&](auto& endpoint) { return endpoint.post_receive(from.rank, word, buffer, given); });
}

Outcome GroupStream::send(StreamAddress to, std::uint32_t tag, Bytes bytes, const SendOptions& options,
                          const std::source_location& where) {
  Synchronizer sent;
  SendOptions given = options;
  const bool is_own = options.completion == nullptr;
  if (is_own) given.completion = &sent;
  Status status = core::named("send", "post_send", [&] { return post_send(to, tag, bytes, given); });
  if (status.is_retry())
    stream_->wait_until(
        [&] {
          if (status.is_retry()) status = post_send(to, tag, bytes, given);
          return !status.is_retry();
        },
        where);
  if (!is_own || status.is_done()) return Outcome::ok;
  return stream_->wait(sent, where).front().outcome();
}

Message GroupStream::receive_masked(StreamAddress from, std::uint32_t tag, std::uint64_t mask,
                                    std::span<std::byte> buffer, const ReceiveOptions& options,
                                    const std::source_location& where) {
  Synchronizer received;
  Message message;
  ReceiveOptions given = options;
  given.completion = &received;
  given.may_complete_now = true;
  given.arrived = &message;
  Status status = core::named("receive", "post_receive",
                              [&] { return post_receive_masked(from, tag, mask, buffer, given); });
  if (status.is_retry())
    stream_->wait_until(
        [&] {
          if (status.is_retry()) status = post_receive_masked(from, tag, mask, buffer, given);
          return !status.is_retry();
        },
        where);
  if (status.is_done()) return message;
  return std::move(stream_->wait(received, where).front());
}

bool GroupStream::probe_masked(StreamAddress from, std::uint32_t tag, std::uint64_t mask,
                               ProbedMessage& found) {
  ReceiveOptions options;
  const std::uint64_t word = address(from, tag, mask, options);
  return stream_->with([&](auto& endpoint) { return endpoint.probe(from.rank, word, found, options); });
}

}  // namespace weft
