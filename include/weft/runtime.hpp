// A process's membership of a job.
#pragma once

#include <weft/attributes.hpp>
#include <weft/completion/completion.hpp>
#include <weft/counters.hpp>
#include <weft/detail/abi.hpp>
#include <weft/options.hpp>
#include <weft/types.hpp>

#include <memory>
#include <source_location>
#include <span>

namespace weft {

class InProcessJob;
namespace detail {
class RuntimeState;
}
namespace sim {
class Simulation;
}

/// Options of a Runtime.
struct RuntimeOptions {
  /// Attributes set by the program; they take precedence over WEFT_* variables.
  std::span<const AttributeSetting> attributes{};
};

/// Joins the job on construction; several may live in one process. Construction is not collective and does
/// not wait for the other ranks. Throws weft::Error when the job cannot be joined (bad attribute, launcher
/// gone or of a kind that this build does not support).
///
/// The destructor waits until peers have consumed what this rank sent and its operations have ended, for at
/// most the attribute drain_timeout, and names what it dropped. It is not collective. Devices, endpoints
/// and packets of a runtime must be destroyed before it.
class WEFT_API Runtime {
 public:
  explicit Runtime(const RuntimeOptions& options = {}) : Runtime(options, detail::kAbiVersion) {}
  /// Joins as `rank` of an in-process job (several ranks in one process; see in_process.hpp).
  Runtime(InProcessJob& job, int rank, const RuntimeOptions& options = {})
      : Runtime(job, rank, options, detail::kAbiVersion) {}
  /// Joins as `rank` of a simulated job (see sim.hpp), whose attributes network and sim_* count.
  Runtime(sim::Simulation& simulation, int rank, const RuntimeOptions& options = {})
      : Runtime(simulation, rank, options, detail::kAbiVersion) {}
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// The network in use: "shm", "sim", "ofi".
  [[nodiscard]] const char* network() const noexcept;

  /// Makes `completion` reachable for peers under the explicit id in `options` and returns its handle. Any
  /// thread. Throws weft::Error when the id is out of range or already in use.
  RemoteCompletion expose(Completion& completion, const ExposeOptions& options);

  /// Blocks until every rank has called it. Collective; one thread per rank; no device progresses meanwhile
  /// unless another thread does so.
  void barrier(const std::source_location& where = std::source_location::current());
  /// Concatenates `mine` of all ranks, in rank order, into `all` (size() * mine.size() bytes). Collective;
  /// all ranks pass the same length.
  void allgather(Bytes mine, std::span<std::byte> all,
                 const std::source_location& where = std::source_location::current());
  /// Ends the job on all ranks with `exit_code` (1 to 255); the launcher prints `reason`. Does not return.
  [[noreturn]] void abort(int exit_code, const char* reason);

  /// The ranks that have failed, as far as progress calls of this rank have noticed: whose process ended, by
  /// exit or signal, or closed its connection to the launcher, without destroying its Runtime. A rank that
  /// leaves in order has not failed. Writes the first ranks.size() of them, in the order in which they were
  /// noticed, and returns how many there are. Any thread; never blocks.
  ///
  /// Failures are noticed without traffic: under `weft run` by the launcher, on the simulated network when
  /// the death shows. Ranks of one process (InProcessJob) only fail together. Progress on a device, waits
  /// included, then ends every operation towards the rank as peer_failed: posts in the backlog, messages and
  /// accesses under way, and, once every open device has delivered what had arrived, receives that only the
  /// rank could match (MatchingPolicy::rank_only and rank_and_tag). Later posts end at once. What it had sent
  /// before is delivered, and stays to be received; operations among the others go on.
  std::size_t failed_peers(std::span<int> ranks = {}) const noexcept;
  /// Whether the rank, 0 to size() - 1, has failed; also before progress has noticed it. Any thread.
  [[nodiscard]] bool has_failed(int rank) const noexcept;
  /// Signals `completion` once for each rank that fails, with a message of Operation::peer_failure whose
  /// peer() it is: from inside a progress call, or, for ranks that have failed already, before this returns.
  /// The object must live until forget_peer_failures(), or longer than the runtime. Any thread.
  void on_peer_failure(Completion& completion);
  /// Ends that; waits for a signal that is under way in another thread. Any thread, also inside the signal.
  void forget_peer_failures(Completion& completion) noexcept;

  /// The effective value of an attribute as text in its shortest form, e.g. "16K" for packet_size; throws
  /// weft::Error for unknown names. The text lives as long as the runtime.
  [[nodiscard]] const char* attribute(const char* name) const;
  /// What all devices of this runtime have counted, those that are closed included. Any thread; takes locks
  /// that no post waits for.
  [[nodiscard]] RuntimeCounters counters() const noexcept;

  [[nodiscard]] detail::RuntimeState& state() noexcept { return *state_; }

 private:
  Runtime(const RuntimeOptions& options, std::uint32_t abi_version);
  Runtime(InProcessJob& job, int rank, const RuntimeOptions& options, std::uint32_t abi_version);
  Runtime(sim::Simulation& simulation, int rank, const RuntimeOptions& options, std::uint32_t abi_version);
  std::unique_ptr<detail::RuntimeState> state_;
};

}  // namespace weft
