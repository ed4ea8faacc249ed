#include "core/runtime/runtime_state.hpp"
#include "core/runtime/undestroyed.hpp"

#include "base/rank_file.hpp"
#include "network/region_count.hpp"

#include <unistd.h>

#include <algorithm>
#include <string>

namespace weft::detail {

using base::Attribute;

namespace {

std::string chosen_attributes(const base::Attributes& attributes) {
  std::string text;
  for (const base::AttributeRow& row : base::kAttributeTable) {
    if (attributes.source(row.id) == base::Source::default_value) continue;
    for (const std::string_view part :
         {std::string_view(" "), row.name, std::string_view("="), attributes.text(row.id),
          std::string_view(" ("), to_string(attributes.source(row.id)), std::string_view(")")})
      text += part;
  }
  return text.empty() ? " none" : text;
}

/// Warns once in a process, and in one rank of a job, because all ranks have the same environment.
void warn_of_unknown_variables(const base::Attributes& attributes, const base::Log& log, int rank) {
  static std::atomic<bool> has_warned{false};
  if (rank != 0 || attributes.unknown_variables().empty() || has_warned.exchange(true)) return;
  for (const std::string& line : attributes.unknown_variables()) log.warn(line);
}

std::unique_ptr<core::Tracer> make_tracer(const base::Attributes& attributes,
                                          const bootstrap::Bootstrap& bootstrap) {
  const std::string_view where = attributes.text(Attribute::trace);
  if (where == "off") return nullptr;
  return std::make_unique<core::Tracer>(
      where, static_cast<std::uint32_t>(attributes.integer(Attribute::trace_events)), bootstrap.rank(),
      bootstrap.size(), bootstrap.job_id());
}

/// Null unless the attribute `matching_trace` asks for one.
std::unique_ptr<core::MatchEventLog> make_matching_log(const base::Attributes& attributes,
                                                       const bootstrap::Bootstrap& bootstrap) {
  const std::string_view where = attributes.text(Attribute::matching_trace);
  if (where == "off") return nullptr;
  return std::make_unique<core::MatchEventLog>(
      base::rank_file_name(where, "weft-matching-%r.trace", bootstrap.rank(), bootstrap.size(),
                           bootstrap.job_id()),
      bootstrap.rank(), bootstrap.size());
}

}  // namespace

RuntimeState::RuntimeState(base::Attributes attributes, std::unique_ptr<bootstrap::Bootstrap> bootstrap,
                           const NetworkFactory& make_network, DeviceFactory make_device)
    : attributes_(std::move(attributes)),
      bootstrap_(std::move(bootstrap)),
      rank_(bootstrap_->rank()),
      size_(bootstrap_->size()),
      hosts_(*bootstrap_, attributes_.text(Attribute::host_id)),
      reachable_(size_),
      log_(attributes_, rank_, base::LogModule::runtime),
      tracer_(make_tracer(attributes_, *bootstrap_)),
      matching_log_(make_matching_log(attributes_, *bootstrap_)),
      pool_(new core::PacketPool(static_cast<std::uint32_t>(attributes_.integer(Attribute::packet_magazine)),
                                 static_cast<std::uint32_t>(attributes_.integer(Attribute::bulk_packets)))),
      network_(make_network(*bootstrap_, attributes_, hosts_, *pool_)),
      exposures_(*network_, [this] { devices_.quiesce(); }),
      regions_(*network_, rank_, static_cast<std::uint32_t>(attributes_.integer(Attribute::regions_max)),
               network::kLibraryRegions, [this] { devices_.quiesce(); }),
      accounts_(attributes_, size_),
      matching_engines_({static_cast<std::uint32_t>(attributes_.integer(Attribute::matching_buckets)),
                         static_cast<std::uint32_t>(attributes_.integer(Attribute::matching_records)), size_},
                        matching_log_.get()),
      failures_(*bootstrap_, *network_),
      devices_(*this, std::move(make_device)),
      objects_(*this) {
  // A trace records every receive: then no receive takes the fast path.
  matching_engines_.set_fast_path_sources(tracer_ != nullptr ? 0 : static_cast<std::uint32_t>(size_));
  pool_->attach(*network_);
  warn_of_unknown_variables(attributes_, log_, rank_);
  log_.in(base::LogModule::bootstrap).info([&] {
    return "process " + std::to_string(::getpid()) + " is rank " + std::to_string(rank_) + " of " +
           std::to_string(size_) + " in job " + std::string(bootstrap_->job_id());
  });
  log_.info([&] {
    return "network " + std::string(network_->name()) + ", " +
           std::to_string(network_->packet_memory().count) + " packets of " +
           std::to_string(pool_->payload()) + " bytes";
  });
  log_.debug([&] { return "attributes other than by default:" + chosen_attributes(attributes_); });
  explainer_ = Explainer::make(*this);
  objects_.begin();
}

RuntimeState::~RuntimeState() {
  const Undestroyed undestroyed(*this);
  undestroyed.refuse_users();
  attachment_.reset();
  undestroyed.refuse_objects();
  is_ending_ = true;
  devices_.end();
  print_counters();
  std::uint64_t receives = 0;
  std::uint64_t messages = unreceived_;
  matching_engines_.for_each([&](core::MatchingEngine& engine) {
    engine.unlink_where([](const core::MatchRecord&) { return true; },
                        [&](core::MatchRecord& record) {
                          const bool is_receive = record.is_receive();
                          ++(is_receive ? receives : messages);
                          if (is_receive)
                            core::end_unmatched(engine, record, Outcome::cancelled);
                          else
                            engine.storage().release(record);
                        });
  });
  if (messages != 0)
    log_.warn("the runtime ends with " + std::to_string(messages) + " messages that nobody has received");
  if (receives != 0)
    log_.warn("the runtime ends with " + std::to_string(receives) + " posted receives, which were cancelled");
  // Last, because signals above may have ended other objects.
  objects_.end();
  undestroyed.refuse_messages();
  if (const std::uint32_t missing = pool_->end(undestroyed.name()); missing != 0)
    log_.warn("the runtime ends with " + std::to_string(missing) + " of its " +
              std::to_string(network_->packet_memory().count) +
              " packets missing: the program keeps them, or they are lost");
  log_.info([] { return "the runtime ends"; });
  if (tracer_ != nullptr && !tracer_->write())
    log_.error("the trace could not be written to " + tracer_->path());
  if (matching_log_ != nullptr && !matching_log_->write())
    log_.error("the matching trace could not be written to " + matching_log_->path());
}

DeviceAttributes RuntimeState::device_limits() const noexcept {
  const auto number = [this](Attribute attribute) {
    return static_cast<std::uint32_t>(attributes_.integer(attribute));
  };
  const network::Capabilities capabilities = network_->capabilities();
  return {.network = network_->name(),
          .inline_bytes = capabilities.inline_bytes,
          .packet_bytes = pool_->payload(),
          .immediate_bytes = capabilities.immediate_bytes,
          .reads_peers = attributes_.text(Attribute::rendezvous) == "read" && capabilities.can_read,
          .requests = number(Attribute::requests),
          .backlog = number(Attribute::backlog),
          .unexpected_credits = number(Attribute::unexpected_credits)};
}

/// Cancels the receives, and drops the messages, for which which(record) returns true.
template <class Which>
void RuntimeState::drop_waiting(core::MatchingEngine& engine, const Which& which) noexcept {
  core::MatchRecord* receives = nullptr;
  devices_.with_any([&](OpenDevice* device) {  // it tells the senders
    engine.unlink_where(which, [&](core::MatchRecord& record) {
      if (record.is_receive())
        record.next = std::exchange(receives, &record);
      else if (device != nullptr)
        device->drop_unreceived(engine, record);
      else
        engine.storage().release(record);
    });
  });
  // Outside of the list's lock: what is signalled may open and close devices, engines and contexts.
  while (receives != nullptr)
    core::end_unmatched(engine, *std::exchange(receives, receives->next), Outcome::cancelled);
}

void RuntimeState::close_matching_context(ContextState& context) noexcept {
  const std::uint32_t first = context.first.load(std::memory_order_relaxed);
  const std::uint32_t count = context.count.load(std::memory_order_relaxed);
  core::MatchingEngine& engine = *matching_engines_.find(context.engine);
  if (matching_engines_.contexts().begin_to_close(context)) core::await_checks(engine);
  cancel_queued({.engine = context.engine, .first_context = first, .contexts = count});
  drop_waiting(engine, [&](const core::MatchRecord& record) {
    if (!engine.waits(record)) return false;
    const std::uint64_t tag = record.key().tag;
    return core::context_of(tag) - first < count;
  });
  matching_engines_.contexts().close(context);
}

void RuntimeState::note_failures_in_contexts() noexcept {
  matching_engines_.contexts().note_failures(
      [this](int rank) { return failures_.is_silent(rank) && failures_.knows(rank); });
}

/// Cancels receives that wait in backlogs, where no engine knows of them.
void RuntimeState::cancel_queued(const QueuedReceives& which) noexcept {
  devices_.visit([&](OpenDevice& device) { device.cancel_queued(which); });
}

void RuntimeState::close_matching_engine(std::uint32_t id) noexcept {
  cancel_queued({.engine = id});
  drop_waiting(*matching_engines_.find(id), [](const core::MatchRecord&) { return true; });
  matching_engines_.close(id);
  log_.in(base::LogModule::matching).debug([&] { return "engine " + std::to_string(id) + " is closed"; });
}

void RuntimeState::find_silent_peers() noexcept {
  devices_.try_with_all([this](std::span<OpenDevice* const> devices) {
    for (std::size_t index = 0; index < failures_.left_count(); ++index) {
      const int peer = failures_.left_at(index);
      if (failures_.is_silent(peer)) continue;
      const auto has_buried = [peer](const OpenDevice* device) {
        return device == nullptr || device->has_buried(peer);
      };
      if (std::all_of(devices.begin(), devices.end(), has_buried)) failures_.set_silent(peer);
    }
    if (failures_.silent() != 0) matching_engines_.set_fast_path_sources(0);
  });
}

void RuntimeState::end_receives_from_silent_peers(std::uint32_t device) noexcept {
  const auto for_each_engine = [&](const auto& visit) {
    matching_engines_.for_each([&](core::MatchingEngine& engine) {
      if (!engine.is_serial() || engine.expectation().device() == static_cast<int>(device)) visit(engine);
    });
  };
  // One look at each engine for all of them: in a large job that ends, many have left.
  if (failures_.silent() != 0) {
    const auto is_gone = [this](int peer) { return peer < size_ && failures_.is_silent(peer); };
    const bool any_failed = failures_.silent_failed() != 0;
    if (any_failed) note_failures_in_contexts();
    for_each_engine([&](core::MatchingEngine& engine) { engine.end_peers(is_gone, any_failed); });
  }
  if (failures_.is_alone()) for_each_engine([&](core::MatchingEngine& engine) { engine.end_all_but(rank_); });
}

void RuntimeState::drop_unreceived(OpenDevice& device) noexcept {
  matching_engines_.for_each([&](core::MatchingEngine& engine) {
    engine.unlink_where(
        [](const core::MatchRecord& record) { return record.is_linked() && !record.is_receive(); },
        [&](core::MatchRecord& record) {
          ++unreceived_;
          device.drop_unreceived(engine, record);
        });
  });
}

}  // namespace weft::detail
