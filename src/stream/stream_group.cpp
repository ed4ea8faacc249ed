#include <weft/stream/stream_group.hpp>

#include <weft/error.hpp>
#include <weft/matching/context.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <array>
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
#include "stream/group_contexts.hpp"
#include "stream/stream_registry.hpp"

namespace weft {

namespace {

using detail::StreamWords;
using stream::ContextProposal;
constexpr std::uint32_t kMostStreams = StreamWords::kStreams;

/// Marks the contexts whose collectives could not expose their object: the program has the id.
void leave_out_exposed(ContextProposal& proposal, detail::Exposures& exposures) {
  constexpr std::size_t kAll = 1 << 16;
  for (const std::uint16_t id : exposures.ids(kAll))
    if (id >= stream_group_ids && id < collective_ids) proposal.used[id - stream_group_ids] = true;
}

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
  std::uint32_t context = StreamWords::kContexts;  // of the collectives
  std::unique_ptr<Collective> collective;
  std::optional<detail::RuntimeUser> user;
  std::mutex mutex;                     // guards null_queues
  std::set<std::uint32_t> null_queues;  // indices of null streams that have a queue

  ~Table() {
    collective.reset();
    if (context != StreamWords::kContexts) registry->contexts().release(context);
  }
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

  ContextProposal mine;
  mine.streams = static_cast<std::uint32_t>(table.own.size());
  mine.has_one_twice = has_one_twice(table.own);
  table.registry->contexts().propose(mine);
  leave_out_exposed(mine, runtime->state().exposures());
  // Before any rank can send to it.
  runtime->state().matching_engines().open_beyond();
  std::vector<ContextProposal> all(ranks);
  runtime->allgather(bytes_of(mine), std::as_writable_bytes(std::span(all)));
  std::uint32_t most = 0;
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    mine.join(all[rank]);
    table.begins.push_back(
        static_cast<std::uint32_t>(table.begins.empty() ? 0 : table.begins.back() + all[rank - 1].streams));
    most = std::max(most, all[rank].streams);
    if (all[rank].streams > kMostStreams)
      throw Error("a stream group has " + std::to_string(all[rank].streams) + " streams on rank " +
                  std::to_string(rank) + "; it may have up to " + std::to_string(kMostStreams));
  }
  table.begins.push_back(table.begins.back() + all.back().streams);
  table.context = table.registry->contexts().take(mine);
  if (table.context == StreamWords::kContexts)
    throw Error("there are " + std::to_string(StreamWords::kContexts) +
                " stream groups already: destroy some first");
  if (most != 0) exchange_devices(most, mine.has_one_twice);
  make_collective();
  table.user.emplace(*runtime, "StreamGroup");
}

/// All ranks tell the devices of their streams, and rank 0 the numbers of the group's contexts.
void StreamGroup::exchange_devices(std::uint32_t most, bool has_receivers) {
  Table& table = *table_;
  Runtime& runtime = *table.runtime;
  const auto ranks = static_cast<std::size_t>(runtime.size());
  ContextNumbers numbers{0, StreamWords::contexts_for(most, has_receivers)};
  std::string refusal;
  if (table.rank == 0) {
    try {
      numbers = MatchingContext::reserve(runtime, numbers.count);
    } catch (const std::exception& error) {  // thrown when the other ranks know of it
      refusal = error.what();
      numbers.count = 0;
    }
  }
  const std::size_t each = sizeof numbers + most;
  std::vector<std::byte> own(each);
  std::memcpy(own.data(), &numbers, sizeof numbers);
  for (std::size_t place = 0; place < table.own.size(); ++place)
    own[sizeof numbers + place] = static_cast<std::byte>(table.own[place]->index);
  std::vector<std::byte> all(ranks * each);
  runtime.allgather(own, all);
  std::memcpy(&numbers, all.data(), sizeof numbers);
  if (numbers.count == 0)
    throw Error(refusal.empty() ? "StreamGroup: rank 0 has no numbers left for the contexts of the group"
                                : refusal);
  table.contexts.emplace(MatchingContext::of(runtime, numbers, {.order = MatchOrder::ordered}));
  table.words = StreamWords(numbers.first, most, has_receivers);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::byte* const devices = all.data() + rank * each + sizeof numbers;
    for (std::uint32_t place = 0; place < streams_of(static_cast<int>(rank)); ++place)
      table.devices.push_back(static_cast<std::uint8_t>(devices[place]));
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
  const auto place = static_cast<std::size_t>(rank);
  return table_->begins[place + 1] - table_->begins[place];
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
  if (table_->collective) {
    // Here, and not in the middle of the collective, which other ranks then would wait for.
    stream::StreamState& own = *table_->own[table_->options.collective_index];
    if (own.turn.is_owned() && !own.gate.is_taken_by(detail::ProcessThreads::mark()))
      static_cast<void>(own.view.enter());
    return *table_->collective;
  }
  const std::uint32_t index = table_->options.collective_index;
  int rank = 0;
  while (index < streams_of(rank)) ++rank;
  throw Error("the stream group has no collectives: they need stream " + std::to_string(index) +
              " of every rank (collective_index), and rank " + std::to_string(rank) + " has " +
              std::to_string(streams_of(rank)));
}

/// By all ranks or none, so that the handles of the objects are the same.
void StreamGroup::make_collective() {
  Table& table = *table_;
  const std::uint32_t index = table.options.collective_index;
  std::vector<std::uint8_t> devices;
  for (int rank = 0; rank < size(); ++rank) {
    if (index >= streams_of(rank)) return;
    devices.push_back(view().device_of({rank, index}));
  }
  const std::uint8_t device = devices[static_cast<std::size_t>(table.rank)];
  auto port = std::make_unique<stream::GroupCollectivePort>(*table.own[index], std::move(devices));
  table.collective.reset(new Collective(*table.runtime, std::move(port), Team::world(*table.runtime), device,
                                        detail::CollectivePlace{.engine = detail::kGroupEngine,
                                                                .handle = stream_group_ids + table.context,
                                                                .context = table.context}));
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
