#include <weft/in_process.hpp>
#include <weft/parcel/exceptions.hpp>
#include <weft/parcel/runtime.hpp>
#include <weft/sim.hpp>

#include <sched.h>

#include <algorithm>
#include <string>

#include "parcel/action_registry.hpp"
#include "parcel/connections/connection_port.hpp"
#include "parcel/core.hpp"
#include "parcel/option_text.hpp"
#include "parcel/ports/mpi/mpi_two_sided.hpp"
#include "parcel/ports/tcp/tcp_port.hpp"
#include "parcel/ports/weft/weft_port.hpp"
#include "parcel/ports/weft/weft_two_sided.hpp"

namespace weft::parcel {

namespace {

/// The processors of this process, shared by the ranks of its host.
unsigned default_workers(Parcelport& port) {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  int processors = sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? CPU_COUNT(&allowed) : 1;
  processors /= std::max(1, port.ranks_of_host());
  return static_cast<unsigned>(std::clamp(processors, 1, 256));
}

std::unique_ptr<detail::Core> make_core(Runtime& runtime, std::unique_ptr<Parcelport> port,
                                        RuntimeOptions options) {
  if (options.workers == 0) options.workers = default_workers(*port);
  return std::make_unique<detail::Core>(runtime, std::move(port), options);
}

/// The program's own runtime of weft has another name.
constexpr weft::RuntimeOptions kTransport{.name = "weft-parcel"};

std::unique_ptr<Parcelport> make_port(std::unique_ptr<weft::Runtime> runtime, const RuntimeOptions& given) {
  const RuntimeOptions options = parsed(given);
  if (options.port == PortKind::mpi)
    throw Error("parcel option port=mpi: its ranks are those of MPI, not ranks of one process");
  if (options.port == PortKind::tcp) return make_tcp_port(std::move(runtime), options);
  if (options.protocol == Protocol::one_post) return make_weft_port(std::move(runtime), options);
  return make_connection_port(make_weft_two_sided(std::move(runtime), options));
}
std::unique_ptr<Parcelport> make_port(const RuntimeOptions& given) {
  if (const RuntimeOptions options = parsed(given); options.port == PortKind::mpi)
    return make_connection_port(make_mpi_two_sided(options));
  return make_port(std::make_unique<weft::Runtime>(kTransport), given);
}

}  // namespace

RemoteError::RemoteError(int rank, const std::string& what)
    : Error("rank " + std::to_string(rank) + ": " + what), rank_(rank) {}
PeerFailed::PeerFailed(int rank)
    : Error("rank " + std::to_string(rank) + " has failed before it had answered"), rank_(rank) {}

Runtime::Runtime(const RuntimeOptions& options) : Runtime(make_port(options), options) {}
Runtime::Runtime(InProcessJob& job, int rank, const RuntimeOptions& options)
    : Runtime(make_port(std::make_unique<weft::Runtime>(job, rank, kTransport), options), options) {}
Runtime::Runtime(sim::Simulation& simulation, int rank, const RuntimeOptions& options)
    : Runtime(make_port(std::make_unique<weft::Runtime>(simulation, rank, kTransport), options), options) {}
Runtime::Runtime(std::unique_ptr<Parcelport> port, const RuntimeOptions& options)
    : core_(make_core(*this, std::move(port), parsed(options))),
      rank_(core_->port().rank()),
      size_(core_->port().size()) {
  core_->start();
}

Runtime::~Runtime() { core_->finish(); }

unsigned Runtime::workers() const noexcept { return core_->options().workers; }
Runtime* Runtime::current() noexcept { return static_cast<Runtime*>(WorkerPool::current_owner()); }
Scheduler& Runtime::scheduler() noexcept { return core_->scheduler(); }
Parcelport& Runtime::port() noexcept { return core_->port(); }
bool Runtime::has_failed(int rank) const noexcept { return core_->port().has_failed(rank); }
ParcelCounters Runtime::counters() const noexcept { return core_->counters(); }
std::string Runtime::description() const { return text_of(core_->options()); }
void Runtime::barrier(const std::source_location& where) {
  core_->barrier().wait(JobBarrier::Kind::plain, where);
}
void Runtime::wait_quiet(const std::source_location& where) {
  if (Runtime::current() != nullptr)
    throw Error("wait_quiet() was called by a task, which keeps the job from being quiet");
  core_->barrier().wait(JobBarrier::Kind::quiet, where);
}

namespace detail {

std::size_t zero_copy_threshold(const Core& core) noexcept { return core.options().zero_copy; }
Scheduler& scheduler_of(Core& core) noexcept { return core.scheduler(); }

std::uint64_t begin_call(Core& core, int rank, FutureStateBase& state, const AnswerOperations& operations) {
  state.retain();
  return core.calls().add(rank, {&state, &operations});
}

void send_parcel(Core& core, int rank, Writer& writer, std::unique_ptr<HeldValues> held) {
  if (core.port().has_failed(rank)) [[unlikely]] {
    // Whoever waits for an answer is told; the failure may have been reported before the call began.
    core.failed(rank);
    return;
  }
  core.send(rank, writer, std::move(held));
}

void answer_exception(Core& core, int rank, std::uint64_t call, const ActionEntry& entry) noexcept {
  std::string text = "an exception that is no std::exception";
  try {
    throw;
  } catch (const std::exception& error) {
    text = error.what();
  } catch (...) {
  }
  if (call == 0) {
    std::fprintf(stderr, "weft: rank %d: parcel: action %s, which rank %d has called, has thrown: %s\n",
                 core.port().rank(), name_of(entry).c_str(), rank, text.c_str());
    return;
  }
  Writer writer(zero_copy_threshold(core));
  write_header(writer, kAnswer, call, false);
  write_exception(writer, text);
  send_parcel(core, rank, writer, nullptr);
}

void check_rank(const Core& core, int rank) {
  if (rank < 0 || rank >= core.port().size())
    throw Error("rank " + std::to_string(rank) + " was called; the job has ranks 0 to " +
                std::to_string(core.port().size() - 1));
}

bool rank_has_failed(const Core& core, int rank) noexcept { return core.port().has_failed(rank); }

std::shared_ptr<ChannelBase> find_channel(Core& core, std::uint64_t id,
                                          std::shared_ptr<ChannelBase> (*make)()) {
  const std::lock_guard lock(core.table_mutex());
  auto& channel = core.channels[id];
  if (!channel) channel = make();
  return channel;
}
void forget_channel(Core& core, std::uint64_t id) noexcept {
  const std::lock_guard lock(core.table_mutex());
  core.channels.erase(id);
}

std::uint64_t keep_object(Core& core, std::shared_ptr<void> object, std::uint64_t credit) {
  const std::lock_guard lock(core.table_mutex());
  core.objects[++core.last_object] = {std::move(object), static_cast<std::int64_t>(credit)};
  return core.last_object;
}
std::shared_ptr<void> find_object(Core& core, std::uint64_t id) {
  const std::lock_guard lock(core.table_mutex());
  const auto found = core.objects.find(id);
  if (found == core.objects.end())
    throw Error("object " + std::to_string(id) + " was called, which rank " +
                std::to_string(core.port().rank()) + " does not have (any more)");
  return found->second.object;
}
void change_credit(Core& core, std::uint64_t id, std::int64_t change) {
  std::shared_ptr<void> ended;  // destroyed without the lock
  const std::lock_guard lock(core.table_mutex());
  const auto found = core.objects.find(id);
  if (found == core.objects.end()) return;
  found->second.credit += change;
  if (found->second.credit > 0) return;
  ended = std::move(found->second.object);
  core.objects.erase(found);
}

}  // namespace detail
}  // namespace weft::parcel
