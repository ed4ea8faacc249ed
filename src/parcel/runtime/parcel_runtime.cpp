#include <weft/parcel/exceptions.hpp>
#include <weft/parcel/runtime.hpp>
#include <weft/testing/in_process_job.hpp>
#include <weft/testing/simulation.hpp>

#include <sched.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <utility>

#include "parcel/action_registry.hpp"
#include "parcel/runtime/core.hpp"
#include "parcel/runtime/ended_cores.hpp"
#include "parcel/selection/open_port.hpp"
#include "parcel/selection/option_text.hpp"

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

template <class Job>
Transport transport_in(Job& job, int rank) {
  return {[&job, rank](const weft::RuntimeOptions& options) {
            return std::make_unique<weft::Runtime>(job, rank, options);
          },
          true};
}

}  // namespace

RemoteError::RemoteError(int rank, const std::string& what)
    : Error("rank " + std::to_string(rank) + ": " + what), rank_(rank) {}
PeerFailed::PeerFailed(int rank)
    : Error("rank " + std::to_string(rank) + " has failed before it had answered"), rank_(rank) {}

Runtime::Runtime(const RuntimeOptions& given) {
  const CompleteOptions options = complete(given);
  start(open_port(options,
                  {[](const weft::RuntimeOptions& below) { return std::make_unique<weft::Runtime>(below); }}),
        options.options);
}
Runtime::Runtime(InProcessJob& job, int rank, const RuntimeOptions& given) {
  const CompleteOptions options = complete(given);
  start(open_port(options, transport_in(job, rank)), options.options);
}
Runtime::Runtime(sim::Simulation& simulation, int rank, const RuntimeOptions& given) {
  const CompleteOptions options = complete(given);
  start(open_port(options, transport_in(simulation, rank)), options.options);
}
Runtime::Runtime(std::unique_ptr<Parcelport> port, const RuntimeOptions& given) {
  start(std::move(port), complete_without_port(given));
}
void Runtime::start(std::unique_ptr<Parcelport> port, RuntimeOptions options) {
  if (options.workers == 0) options.workers = default_workers(*port);
  auto core = std::make_unique<detail::Core>(*this, std::move(port), options);
  rank_ = core->rank();
  size_ = core->size();
  core_ = core.get();
  core->start();
  static_cast<void>(core.release());
}

Runtime::~Runtime() {
  core_->finish();
  detail::EndedCores::keep(core_);
}

unsigned Runtime::workers() const noexcept { return core_->options().workers; }
Runtime* Runtime::current() noexcept {
  auto* const owner = static_cast<Runtime*>(WorkerPool::current_owner());
  return owner != nullptr ? owner : detail::decoding_runtime();
}
Scheduler& Runtime::scheduler() noexcept { return core_->lasting_scheduler(); }
std::shared_ptr<detail::RuntimeLink> Runtime::link() const noexcept { return core_->link(); }
Parcelport& Runtime::port() noexcept { return core_->port(); }
bool Runtime::has_failed(int rank) const noexcept {
  return !core_->is_closed() && core_->port().has_failed(rank);
}
ParcelCounters Runtime::counters() const noexcept { return core_->counters(); }
std::string Runtime::description() const { return text_of(core_->options(), core_->port().description()); }
void Runtime::barrier(const std::source_location& where) {
  core_->check_is_open("barrier()");
  core_->barrier().wait(JobBarrier::Kind::plain, where);
}
void Runtime::wait_quiet(const std::source_location& where) {
  core_->check_is_open("wait_quiet()");
  core_->barrier().wait(JobBarrier::Kind::quiet, where);
}

namespace detail {

std::size_t zero_copy_threshold(const Core& core) noexcept { return core.options().zero_copy; }
Scheduler& scheduler_of(Core& core) noexcept { return core.scheduler(); }

std::uint64_t begin_call(Core& core, int rank, FutureStateBase& state, const AnswerOperations& operations) {
  state.retain();
  return core.awaited().calls.add(rank, {&state, &operations});
}

void withdraw_call(Core& core, int rank, std::uint64_t call) noexcept {
  if (const PendingCall withdrawn = core.awaited().calls.take(call, rank); withdrawn.state != nullptr)
    withdrawn.state->release();
}

void send_parcel(Core& core, int rank, Writer& writer, std::unique_ptr<HeldValues> held) {
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
                 core.rank(), name_of(entry).c_str(), rank, text.c_str());
    return;
  }
  Writer writer(zero_copy_threshold(core));
  write_header(writer, kAnswer, call, false);
  try {
    write_exception(writer, text);
    send_parcel(core, rank, writer, nullptr);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "weft: rank %d: parcel: rank %d was not told that a call has thrown: %s\n",
                 core.rank(), rank, error.what());
  }
}

void check_rank(const Core& core, int rank) {
  if (rank < 0 || rank >= core.size())
    throw Error("rank " + std::to_string(rank) + " was called; the job has ranks 0 to " +
                std::to_string(core.size() - 1));
}

void check_call(const Core& core, int rank, const ActionEntry& entry) {
  check_rank(core, rank);
  if (core.is_closed()) [[unlikely]]
    core.check_is_open("action " + name_of(entry));
  if (core.actions().number_at(entry.index()) == 0) [[unlikely]]
    throw Error(
        "action " + name_of(entry) + " was called on rank " + std::to_string(rank) +
        ", which does not know it: its library was loaded after the parcel runtime had started; load it "
        "on all ranks before that");
}

bool rank_has_failed(const Core& core, int rank) noexcept { return core.port().has_failed(rank); }

std::shared_ptr<ChannelBase> find_channel(Core& core, std::uint64_t id,
                                          std::shared_ptr<ChannelBase> (*make)()) {
  const std::lock_guard lock(core.awaited().mutex);
  auto& channel = core.awaited().channels[id];
  if (!channel) channel = make();
  return channel;
}
void forget_channel(Core& core, std::uint64_t id) noexcept {
  const std::lock_guard lock(core.awaited().mutex);
  core.awaited().channels.erase(id);
}

}  // namespace detail
}  // namespace weft::parcel
