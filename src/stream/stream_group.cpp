#include <weft/stream/stream_group.hpp>

#include <weft/error.hpp>
#include <weft/runtime.hpp>

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/wait/call_name.hpp"
#include "stream/group_collective_port.hpp"
#include "stream/group_contexts.hpp"
#include "stream/stream_registry.hpp"

namespace weft {

namespace {

using stream::ContextProposal;
constexpr std::uint32_t kMostStreams = detail::StreamTag::kStreams;

/// The unordered engine of the group's collectives: the highest that no rank uses; 0: there is none.
std::uint8_t collective_engine(const ContextProposal& joined) noexcept {
  for (std::uint32_t engine = ContextProposal::kEngines - 1; engine > 0; --engine)
    if (!joined.engines_used[engine]) return static_cast<std::uint8_t>(engine);
  return 0;
}

}  // namespace

struct StreamGroup::Table {
  Runtime* runtime = nullptr;
  stream::StreamRegistry* registry = nullptr;
  StreamGroupOptions options;
  int rank = 0;
  std::vector<Stream*> own;
  std::optional<Stream> null;         // for the places that were given as nullptr
  std::vector<std::uint32_t> begins;  // where the devices of each rank begin, and the end
  std::vector<std::uint8_t> devices;  // of all streams of all ranks; 0: null
  std::uint32_t context = 0;
  std::uint8_t engine = 0;  // of the collectives
  std::unique_ptr<Collective> collective;
  std::optional<detail::RuntimeUser> user;
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
  for (Stream* given : streams) {
    if (given == nullptr) {
      if (!table.null) table.null.emplace(Stream::null(*runtime));
      given = &*table.null;
    }
    table.own.push_back(given);
  }
  const auto ranks = static_cast<std::size_t>(runtime->size());

  ContextProposal mine;
  mine.streams = static_cast<std::uint32_t>(table.own.size());
  table.registry->contexts().propose(mine);
  for (std::uint32_t engine = 1; engine < ContextProposal::kEngines; ++engine)
    mine.engines_used[engine] = runtime->state().matching_engines().is_open(engine);
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
  if (table.context == detail::StreamTag::kContexts)
    throw Error("there are " + std::to_string(detail::StreamTag::kContexts) +
                " stream groups already: destroy some first");

  std::vector<std::uint8_t> own(most);
  for (std::size_t place = 0; place < table.own.size(); ++place)
    own[place] = static_cast<std::uint8_t>(table.own[place]->index());
  std::vector<std::uint8_t> devices(ranks * most);
  if (most != 0)
    runtime->allgather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(devices)));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    table.devices.insert(table.devices.end(), devices.begin() + static_cast<std::ptrdiff_t>(rank * most),
                         devices.begin() + static_cast<std::ptrdiff_t>(rank * most + all[rank].streams));
  table.engine = collective_engine(mine);
  table.user.emplace(*runtime, "StreamGroup");
}

StreamGroup::~StreamGroup() {
  if (table_ != nullptr) table_->registry->contexts().release(table_->context);
}

StreamGroup::StreamGroup(StreamGroup&&) noexcept = default;

StreamGroup StreamGroup::duplicate() const {
  return StreamGroup(table_->runtime, table_->own, table_->options);
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
  return {view(), *table_->own[index], index};
}

std::uint32_t StreamGroup::collective_index() const noexcept { return table_->options.collective_index; }

Collective& StreamGroup::collective() {
  Table& table = *table_;
  if (table.collective) return *table.collective;
  const std::uint32_t index = table.options.collective_index;
  std::vector<std::uint8_t> devices;
  for (int rank = 0; rank < size(); ++rank) {
    if (index >= streams_of(rank))
      throw Error("the stream group has no collectives: they need stream " + std::to_string(index) +
                  " of every rank (collective_index), and rank " + std::to_string(rank) + " has " +
                  std::to_string(streams_of(rank)));
    devices.push_back(view().device_of({rank, index}));
  }
  if (table.engine == 0)
    throw Error("the stream group has no collectives: all matching engines from 1 to " +
                std::to_string(ContextProposal::kEngines - 1) + " were in use when it was made");
  Stream& own = *table.own[index];
  const std::uint8_t device = devices[static_cast<std::size_t>(table.rank)];
  table.collective.reset(
      new Collective(*table.runtime, std::make_unique<stream::GroupCollectivePort>(own, std::move(devices)),
                     device, CollectiveOptions{.engine = table.engine}));
  return *table.collective;
}

detail::GroupView StreamGroup::view() const noexcept {
  return {table_->begins.data(), table_->devices.data(), static_cast<std::uint32_t>(size()),
          detail::StreamTag::of(table_->context, 0, 0, 0)};
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
    options.tag_mask &= ~detail::StreamTag::kSender;
    index = 0;
    if (from.rank != any_source && static_cast<std::uint32_t>(from.rank) >= view_.ranks) view_.refuse(from);
  } else if (from.rank != any_source) {
    static_cast<void>(view_.device_of(from));
  } else if (index >= kMostStreams) {
    throw Error("stream " + std::to_string(index) + " of any rank is out of range: 0 to " +
                std::to_string(kMostStreams - 1));
  }
  return view_.context | detail::StreamTag::of(0, index, index_, tag);
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

bool GroupStream::probe(StreamAddress from, std::uint32_t tag, ProbedMessage& found) {
  ReceiveOptions options;
  const std::uint64_t word = address(from, tag, ~std::uint64_t{0}, options);
  return stream_->with([&](auto& endpoint) { return endpoint.probe(from.rank, word, found, options); });
}

}  // namespace weft
