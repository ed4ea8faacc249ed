#include "core/runtime/runtime_state.hpp"

#include "base/rank_file.hpp"
#include "core/diagnosis/counter_report.hpp"

#include <weft/error.hpp>

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
    : make_device_(std::move(make_device)),
      attributes_(std::move(attributes)),
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
      exposures_(*network_, [this] { quiesce(); }),
      regions_(*network_, rank_, static_cast<std::uint32_t>(attributes_.integer(Attribute::regions_max)),
               [this] { quiesce(); }),
      deadlines_(static_cast<std::size_t>(attributes_.integer(Attribute::devices_max))),
      matching_engines_({static_cast<std::uint32_t>(attributes_.integer(Attribute::matching_buckets)),
                         static_cast<std::uint32_t>(attributes_.integer(Attribute::matching_records)), size_},
                        matching_log_.get()),
      failures_(*bootstrap_, *network_),
      devices_(static_cast<std::size_t>(attributes_.integer(Attribute::devices_max))),
      credit_ledgers_(devices_.size()),
      send_credits_(devices_.size()) {
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
  core::Keepers::all().add(*this);
}

RuntimeState::~RuntimeState() {
  refuse_users();
  attachment_.reset();
  refuse_objects();
  is_ending_ = true;
  {
    const std::lock_guard lock(mutex_);
    publish_closing();
  }
  // Ranks that wait for this one in a collective of the bootstrap learn that it will not come.
  bootstrap_->begin_to_leave();
  default_device_.reset();
  print_counters();
  std::uint64_t receives = 0;
  std::uint64_t messages = unreceived_;
  matching_engines_.for_each([&](core::MatchingEngine& engine) {
    engine.unlink_all([&](core::MatchRecord& record) {
      const bool is_receive = record.is_receive();
      ++(is_receive ? receives : messages);
      if (is_receive)
        core::end_unmatched(engine, record, Outcome::cancelled);
      else
        engine.release(record);
    });
  });
  if (messages != 0)
    log_.warn("the runtime ends with " + std::to_string(messages) + " messages that nobody has received");
  if (receives != 0)
    log_.warn("the runtime ends with " + std::to_string(receives) + " posted receives, which were cancelled");
  // Last, because signals above may have ended other objects.
  core::Keepers::all().remove(*this);
  refuse_messages();
  if (const std::uint32_t missing = pool_->end(name()); missing != 0)
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

std::shared_ptr<OpenDevice> RuntimeState::open_device(std::int32_t index) {
  base::refuse_in_forked_copy("Device");
  const std::lock_guard lock(mutex_);
  const auto count = static_cast<std::int32_t>(devices_.size());
  if (index == DeviceOptions::kNextFree)
    for (index = 0; index < count && devices_[static_cast<std::size_t>(index)] != nullptr;) ++index;
  if (index < 0 || index >= count)
    throw Error("device index " + std::to_string(index) + " is out of range: 0 to " +
                std::to_string(count - 1) + " (attribute devices_max)");
  auto& slot = devices_[static_cast<std::size_t>(index)];
  if (slot != nullptr) throw Error("device " + std::to_string(index) + " is open already in this runtime");
  auto device = make_device_(*this, static_cast<std::uint32_t>(index));
  slot = device.get();
  publish_closing();
  const std::lock_guard counting(counting_mutex_);
  const std::lock_guard asking(core::Keepers::all().lock());
  counted_.push_back(slot);
  visited_.push_back(slot);
  log_.info([&] { return "device " + std::to_string(index) + " is open"; });
  return device;
}

bool RuntimeState::has_device(std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  return index < devices_.size() && devices_[index] != nullptr;
}

std::shared_ptr<OpenDevice> RuntimeState::default_device() {
  const std::lock_guard lock(default_device_mutex_);
  if (default_device_ == nullptr) default_device_ = open_device(0);
  return default_device_;
}

core::CreditLedgers& RuntimeState::credit_ledgers(std::uint32_t index) {
  auto& ledgers = credit_ledgers_[index];
  if (ledgers == nullptr)
    ledgers = std::make_unique<core::CreditLedgers>(
        size_, index, static_cast<std::uint32_t>(attributes_.integer(Attribute::unexpected_credits)));
  return *ledgers;
}

core::SendCredits& RuntimeState::send_credits(std::uint32_t index) {
  auto& credits = send_credits_[index];
  if (credits == nullptr)
    credits = std::make_unique<core::SendCredits>(
        size_, static_cast<std::uint32_t>(attributes_.integer(Attribute::unexpected_credits)));
  return *credits;
}

core::Deadlines& RuntimeState::deadlines(std::uint32_t index) {
  auto& deadlines = deadlines_[index];
  if (deadlines == nullptr) {
    auto made = std::make_unique<core::Deadlines>(
        static_cast<std::uint32_t>(attributes_.integer(Attribute::deadlines)));
    const std::lock_guard asking(core::Keepers::all().lock());
    made_deadlines_.push_back(made.get());
    deadlines = std::move(made);
  }
  return *deadlines;
}

void RuntimeState::close_matching_engine(std::uint32_t id) noexcept {
  core::MatchingEngine& engine = *matching_engines_.find(id);
  const std::lock_guard lock(mutex_);
  OpenDevice* device = nullptr;  // the device that tells the senders
  for (OpenDevice* open : devices_)
    if (device == nullptr) device = open;
  engine.unlink_all([&](core::MatchRecord& record) {
    if (record.is_receive())
      core::end_unmatched(engine, record, Outcome::cancelled);
    else if (device != nullptr)
      device->drop_unreceived(engine, record);
    else
      engine.release(record);
  });
  matching_engines_.close(id);
  log_.in(base::LogModule::matching).debug([&] { return "engine " + std::to_string(id) + " is closed"; });
}

void RuntimeState::find_silent_peers() noexcept {
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock()) return;
  for (std::size_t place = 0; place < failures_.left_count(); ++place) {
    const int peer = failures_.left_at(place);
    if (failures_.is_silent(peer)) continue;
    const auto has_buried = [peer](const OpenDevice* device) {
      return device == nullptr || device->has_buried(peer);
    };
    if (std::all_of(devices_.begin(), devices_.end(), has_buried)) failures_.set_silent(peer);
  }
  if (failures_.silent() != 0) matching_engines_.set_fast_path_sources(0);
}

void RuntimeState::end_receives_from_silent_peers(std::uint32_t device) noexcept {
  const auto for_each_engine = [&](const auto& visit) {
    matching_engines_.for_each([&](core::MatchingEngine& engine) {
      if (!engine.is_serial() || engine.device() == static_cast<int>(device)) visit(engine);
    });
  };
  // One look at each engine for all of them: in a large job that ends, many have left.
  if (failures_.silent() != 0) {
    const auto is_gone = [this](int peer) { return peer < size_ && failures_.is_silent(peer); };
    const bool any_failed = failures_.silent_failed() != 0;
    for_each_engine([&](core::MatchingEngine& engine) { engine.end_peers(is_gone, any_failed); });
  }
  if (failures_.is_alone()) for_each_engine([&](core::MatchingEngine& engine) { engine.end_all_but(rank_); });
}

void RuntimeState::forget_device(std::uint32_t index) noexcept {
  const std::lock_guard lock(mutex_);
  const std::lock_guard counting(counting_mutex_);
  RuntimeCounters last = devices_[index]->counters();
  last.lanes = last.backlog_now = last.unexpected_now = 0;
  core::add(of_closed_devices_, last);
  {
    const std::lock_guard asking(core::Keepers::all().lock());
    std::erase(counted_, devices_[index]);
  }
  devices_[index] = nullptr;
  --closing_devices_;
  publish_closing();
}

void RuntimeState::device_closes() noexcept {
  const std::lock_guard lock(mutex_);
  ++closing_devices_;
  publish_closing();
}

/// Called under mutex_.
void RuntimeState::publish_closing() noexcept {
  using enum network::Network::Closing;
  const auto open = std::count_if(devices_.begin(), devices_.end(),
                                  [](const OpenDevice* device) { return device != nullptr; });
  network_->publish_closing(is_ending_                                                          ? runtime
                            : closing_devices_ != 0 && open == std::ptrdiff_t{closing_devices_} ? devices
                                                                                                : no);
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

void RuntimeState::quiesce() noexcept {
  const std::lock_guard lock(mutex_);
  for (OpenDevice* device : devices_)
    if (device != nullptr) device->quiesce();
}

void RuntimeState::destroy_at_end(std::unique_ptr<Completion> completion) noexcept {
  const std::lock_guard lock(mutex_);
  kept_completions_.push_back(std::move(completion));
}

}  // namespace weft::detail
