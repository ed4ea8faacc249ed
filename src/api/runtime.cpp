// Runtime: joins its job, and has its network made.
#include <weft/error.hpp>
#include <weft/runtime.hpp>
#include <weft/testing/in_process_job.hpp>

#include "api/own_statement.hpp"
#include "api/simulation.hpp"
#include "base/attributes.hpp"
#include "base/fork_watch.hpp"
#include "base/refuse.hpp"
#include "bootstrap/agreement.hpp"
#include "bootstrap/in_process/hub.hpp"
#include "bootstrap/selection/select.hpp"
#include "core/device/device_state.hpp"
#include "core/runtime/runtime_state.hpp"
#include "core/wait/home_processor.hpp"
#include "network/registry/registry.hpp"
#include "network/sim/sim_network.hpp"

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

namespace weft {

namespace {

std::unique_ptr<network::Network> make_network(bootstrap::Bootstrap& bootstrap,
                                               const base::Attributes& attributes,
                                               const core::HostTable& hosts, detail::PayloadLender& copier) {
  bootstrap::agree(bootstrap, statement_of(attributes, bootstrap, hosts));
  return network::make_network(chosen_network(attributes, hosts), bootstrap, attributes, copier);
}

std::shared_ptr<detail::OpenDevice> make_device(detail::RuntimeState& runtime, std::uint32_t index) {
  return std::make_shared<detail::DeviceState>(runtime, index);
}

void check_process(std::uint32_t abi_version) {
  base::refuse_in_forked_copy("Runtime");
  if (abi_version != detail::kAbiVersion)
    throw Error(ErrorClass::job, "this program was compiled with headers of weft ABI version " +
                                     std::to_string(abi_version) + " and runs with a library of version " +
                                     std::to_string(detail::kAbiVersion) + ": compile it again");
}

}  // namespace

Runtime::Runtime(const RuntimeOptions& options, std::uint32_t abi_version) {
  check_process(abi_version);
  auto attributes = base::Attributes::load(options.attributes);
  auto bootstrap = bootstrap::select_bootstrap(attributes, options.name);
  state_ = std::make_unique<detail::RuntimeState>(std::move(attributes), std::move(bootstrap), make_network,
                                                  make_device);
  const std::span<const int> local = local_ranks();
  core::HomeProcessor::choose(static_cast<std::size_t>(std::ranges::find(local, rank()) - local.begin()),
                              local.size());
}

Runtime::Runtime(InProcessJob& job, int rank, const RuntimeOptions& options, std::uint32_t abi_version) {
  check_process(abi_version);
  auto attributes = base::Attributes::load(options.attributes);
  state_ = std::make_unique<detail::RuntimeState>(std::move(attributes), job.hub().join(rank, options.name),
                                                  make_network, make_device);
}

Runtime::Runtime(sim::Simulation& simulation, int rank, const RuntimeOptions& options,
                 std::uint32_t abi_version) {
  check_process(abi_version);
  sim::Simulation::State& simulated = simulation.state();
  auto attributes = base::Attributes::load(simulated.settings(options.attributes));
  const auto join_fabric = [&](bootstrap::Bootstrap& bootstrap, const base::Attributes& effective,
                               const core::HostTable& hosts, detail::PayloadLender& copier) {
    bootstrap::agree(bootstrap, statement_of(effective, bootstrap, hosts));
    return std::make_unique<network::sim::SimNetwork>(bootstrap, effective, copier, simulated.fabric);
  };
  state_ = std::make_unique<detail::RuntimeState>(
      std::move(attributes), simulated.job.hub().join(rank, options.name), join_fabric, make_device);
}

Runtime::~Runtime() {
  // In a forked child the membership belongs to the parent: no process is notified, and the state is not
  // freed.
  if (base::is_forked_copy()) static_cast<void>(state_.release());
}
Runtime::Runtime(Runtime&&) noexcept = default;

int Runtime::rank() const noexcept { return state_->rank(); }
int Runtime::size() const noexcept { return state_->size(); }
int Runtime::hosts() const noexcept { return state_->hosts().hosts(); }
int Runtime::host_of(int rank) const {
  if (rank < 0 || rank >= size())
    base::refuse(ErrorClass::peer, "host_of",
                 "rank " + std::to_string(rank) + " is out of range: 0 to " + std::to_string(size() - 1));
  return state_->hosts().host_of(rank);
}
std::span<const int> Runtime::local_ranks() const noexcept { return state_->hosts().local_ranks(); }
const char* Runtime::network() const noexcept { return state_->network().name(); }

DeviceAttributes Runtime::device_limits() const noexcept { return state_->device_limits(); }

Packet Runtime::get_packet() noexcept { return state_->pool().get(); }
Packet Runtime::packet_of(const void* address) noexcept { return state_->pool().packet_of(address); }

RemoteCompletion Runtime::expose(Completion& completion, const ExposeOptions& options) {
  base::refuse_in_forked_copy("expose");
  const auto devices = static_cast<std::uint32_t>(state_->attributes().integer(base::Attribute::devices_max));
  if (options.id > 65535)
    base::refuse(ErrorClass::target, "expose",
                 "id " + std::to_string(options.id) + " is out of range: 0 to 65535");
  if (options.device >= devices)
    base::refuse(ErrorClass::device, "expose",
                 "home device " + std::to_string(options.device) + " of id " + std::to_string(options.id) +
                     " is out of range: 0 to " + std::to_string(devices - 1) + " (attribute devices_max)");
  return state_->exposures().expose(completion, static_cast<std::uint16_t>(options.id),
                                    static_cast<std::uint8_t>(options.device), options.drops_late);
}

void Runtime::barrier(const std::source_location& where) {
  base::refuse_in_forked_copy("barrier");
  const detail::WaitDescription description{detail::kBarrierWait, where};
  core::WaitScope explained(state_->waits(), description, nullptr, core::WaitingThread::kNoDevice);
  explained.enter(core::SignalScope::is_inside());
  state_->devices().carry_during([&] { state_->bootstrap().barrier(); });
}

void Runtime::allgather(Bytes mine, std::span<std::byte> all, const std::source_location& where) {
  if (all.size() != mine.size() * static_cast<std::size_t>(size()))
    base::refuse(ErrorClass::length, "allgather",
                 std::to_string(all.size()) + " bytes of room for " + std::to_string(size()) +
                     " ranks with " + std::to_string(mine.size()) + " bytes each: " +
                     std::to_string(mine.size() * static_cast<std::size_t>(size())) + " are needed");
  base::refuse_in_forked_copy("allgather");
  const detail::WaitDescription description{detail::kAllgatherWait, where};
  core::WaitScope explained(state_->waits(), description, nullptr, core::WaitingThread::kNoDevice);
  explained.enter(core::SignalScope::is_inside());
  state_->devices().carry_during([&] { state_->bootstrap().allgather(mine, all); });
}

void Runtime::abort(int exit_code, const char* reason) {
  // A forked child cannot abort the job; only the child ends.
  if (base::is_forked_copy())
    state_->log().error("abort in a child made by fork(): " + std::string(reason));
  else
    state_->bootstrap().abort(exit_code, reason);
  std::_Exit(exit_code != 0 ? exit_code : 1);
}

std::size_t Runtime::failed_peers(std::span<int> ranks) const noexcept {
  const core::PeerFailures& failures = state_->failures();
  const std::size_t count = failures.count();
  for (std::size_t index = 0; index < count && index < ranks.size(); ++index)
    ranks[index] = failures.at(index);
  return count;
}

bool Runtime::has_failed(int rank) const noexcept {
  return rank >= 0 && rank < size() && state_->failures().knows(rank);
}

void Runtime::on_peer_failure(Completion& completion) { state_->failures().watch(completion); }

void Runtime::forget_peer_failures(Completion& completion) noexcept {
  state_->failures().unwatch(completion);
}

const char* Runtime::attribute(const char* name) const {
  for (const base::AttributeRow& row : base::kAttributeTable)
    if (row.name == name) return state_->attributes().text(row.id).data();
  throw Error(ErrorClass::attribute,
              "attribute \"" + std::string(name) + "\" does not exist; `weft info` lists the names");
}

RuntimeCounters Runtime::counters() const noexcept { return state_->all_counters(); }

namespace detail {

RuntimeUser::RuntimeUser(Runtime& runtime, std::string_view object, int device)
    : RuntimeUser(runtime.state(), object, device) {}
RuntimeUser::RuntimeUser(RuntimeState& runtime, std::string_view object, int device)
    : runtime_(runtime), number_(runtime.users().add(std::string(object), device)) {}
RuntimeUser::~RuntimeUser() {
  // In a forked child the runtime belongs to the parent.
  if (!base::is_forked_copy()) runtime_.users().remove(number_);
}
void RuntimeUser::refuse_early_end(const char* user) const noexcept {
  detail::refuse_early_end(runtime_.users().name(number_), user);
}

}  // namespace detail

InProcessJob::InProcessJob(int ranks) : ranks_(ranks), hub_(std::make_unique<bootstrap::Hub>(ranks)) {}
InProcessJob::~InProcessJob() = default;

}  // namespace weft
