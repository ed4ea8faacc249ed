// A process's membership of a job.
#pragma once

#include <weft/attributes.hpp>
#include <weft/completion/completion.hpp>
#include <weft/counters.hpp>
#include <weft/detail/abi.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/types.hpp>

#include <memory>
#include <source_location>
#include <span>
#include <string_view>

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
  /// The name that distinguishes the runtimes of one process, up to 64 bytes: a runtime is connected to those
  /// of the same name in the other ranks. Libraries use their own name. Runtimes without a name are connected
  /// in the order in which each rank opens them.
  std::string_view name{};
};

/// Joins the job on construction; several runtimes may live in one process. Construction is not collective
/// and does not wait for the other ranks. Throws weft::Error when the job cannot be joined (bad attribute, or
/// a launcher that has ended or is of a kind that this build does not support).
///
/// A process may have one runtime of a name at a time. It may have several without a name, as long as one
/// thread opens them all; construction in a second thread throws weft::Error while another one is open, since
/// chance would decide which of them is connected to which runtime of the other ranks. Jobs of one rank have
/// no such limits.
///
/// The destructor waits until its peers have received the messages that were accepted for them, for as long
/// as their processes live, even if they are slow or stopped, and logs this now and then. It is not
/// collective. A peer that leaves in order ends the wait: a warning names what it has not received. Messages
/// that are dropped because a peer has failed are named by an error, and `weft run` then ends with a code
/// other than 0. The attribute drain_timeout applies only to peers that cannot receive anything: peers whose
/// process has ended unnoticed, peers that end as well and receive nothing more, and ranks of this process
/// when it has no other thread.
///
/// What uses a runtime must be destroyed before it: devices, endpoints, regions, matching engines,
/// collectives, streams, packets, and messages whose payload lies in a packet. The destructor names what
/// still exists, and aborts. Completion objects may be destroyed before or after it.
///
/// A process with a runtime may make children by any call. A child of fork() is not the rank: until it
/// executes a program, it sends nothing, writes nothing that other processes see, and may end in any way;
/// destructors of this library's objects do nothing there. It can read messages that were kept and the
/// contents of its regions, of which it has a copy. Any other call of the library, another Runtime included,
/// throws weft::Error, or, if the call cannot throw, ends the child with a line that says so.
class WEFT_API Runtime {
 public:
  explicit Runtime(const RuntimeOptions& options = {}) : Runtime(options, detail::kAbiVersion) {}
  /// Joins as `rank` of an in-process job (several ranks in one process; see testing/in_process_job.hpp).
  Runtime(InProcessJob& job, int rank, const RuntimeOptions& options = {})
      : Runtime(job, rank, options, detail::kAbiVersion) {}
  /// Joins as `rank` of a simulated job (see testing/simulation.hpp), whose attributes network and sim_*
  /// apply.
  Runtime(sim::Simulation& simulation, int rank, const RuntimeOptions& options = {})
      : Runtime(simulation, rank, options, detail::kAbiVersion) {}
  ~Runtime();
  Runtime(Runtime&&) noexcept;
  Runtime& operator=(Runtime&&) = delete;

  [[nodiscard]] int rank() const noexcept;
  [[nodiscard]] int size() const noexcept;
  /// The number of hosts on which the job runs, at least 1. Ranks of one host share memory unless the
  /// attribute network says otherwise. Any thread.
  [[nodiscard]] int hosts() const noexcept;
  /// The host of a rank, 0 to hosts() - 1: hosts are counted in the order of their first ranks. Throws
  /// weft::Error when the rank is out of range. Any thread.
  [[nodiscard]] int host_of(int rank) const;
  /// The ranks on the host of this rank, itself among them, in ascending order. Valid as long as the runtime.
  /// Any thread.
  [[nodiscard]] std::span<const int> local_ranks() const noexcept;
  /// The network in use: "shm", "mixed", "tcp", "ofi", "ibv", "sim".
  [[nodiscard]] const char* network() const noexcept;

  /// The attributes that every device of this runtime will have, before one is open: those of
  /// Device::attributes(), with index 0 and is_serial false. Any thread.
  [[nodiscard]] DeviceAttributes device_limits() const noexcept;

  /// Makes `completion` reachable for peers under the explicit id in `options` and returns its handle. Any
  /// thread. Throws weft::Error when the id is out of range or already in use.
  RemoteCompletion expose(Completion& completion, const ExposeOptions& options);

  /// Takes a packet from the runtime's pool, from which every device of the runtime posts; returns an empty
  /// Packet when the pool is empty. Any thread.
  [[nodiscard]] Packet get_packet() noexcept;
  /// Returns the packet that begins at `address`, for programs that keep packets as plain pointers: a packet
  /// with that data(), after its Packet::release(), or a payload that Message::release() returned and that
  /// lies in a packet of this runtime. The returned Packet owns it: it is posted, or released to the pool,
  /// with that. Returns an empty Packet for every other address, also for one inside a packet (a payload that
  /// does not begin at its start cannot be posted), for memory of peers and of other runtimes. Any thread.
  ///
  /// The caller must own the packet: a request for one that is in the pool, or belongs to another Packet,
  /// cannot be detected.
  [[nodiscard]] Packet packet_of(const void* address) noexcept;

  /// Blocks until every rank has called barrier(). Collective; one thread per rank; no device progresses
  /// meanwhile unless another thread progresses it. Messages that have been accepted leave before and
  /// meanwhile, but it does not wait until they have arrived.
  void barrier(const std::source_location& where = std::source_location::current());
  /// Concatenates `mine` of all ranks, in rank order, into `all` (size() * mine.size() bytes). Collective;
  /// all ranks pass the same length.
  void allgather(Bytes mine, std::span<std::byte> all,
                 const std::source_location& where = std::source_location::current());
  /// Ends the job on all ranks with `exit_code` (1 to 255); the launcher prints `reason`. Does not return.
  [[noreturn]] void abort(int exit_code, const char* reason);

  /// The ranks that have failed, as far as progress calls of this rank have noticed. A rank has failed when
  /// its process ended, by exit or signal, or closed its connection to the launcher, without destroying its
  /// Runtime. A rank that leaves in order has not failed, but operations that only it could have ended also
  /// end as peer_failed, receives of any source included when no other rank is left (but not those of
  /// MatchingPolicy::user, of which only the key function knows whether this rank itself could match them).
  /// Writes the first ranks.size() of them, in the order in which they were noticed, and returns how many
  /// there are. Any thread; never blocks.
  ///
  /// Failures are noticed without traffic: under `weft run` by the launcher, on the simulated network when
  /// peers see that the rank was killed. Ranks of one process (InProcessJob) only fail together. Progress on
  /// a device, waits included, then ends every operation towards the rank as peer_failed: posts in the
  /// backlog, messages and accesses under way, and, once every open device has delivered what had arrived,
  /// receives that only the rank could match (MatchingPolicy::rank_only and rank_and_tag). Later posts end at
  /// once. Messages that the rank had sent before are delivered, and can still be received; operations among
  /// the other ranks go on.
  std::size_t failed_peers(std::span<int> ranks = {}) const noexcept;
  /// Returns true when the rank, 0 to size() - 1, has failed; also before progress has noticed it. Any
  /// thread.
  [[nodiscard]] bool has_failed(int rank) const noexcept;
  /// Signals `completion` once for each rank that fails, with a message of Operation::peer_failure whose
  /// peer() is that rank: from inside a progress call, or, for ranks that have failed already, before this
  /// call returns (if it is made inside such a signal: when that signal has returned). The object must live
  /// until forget_peer_failures(), or longer than the runtime. Any thread.
  void on_peer_failure(Completion& completion);
  /// Ends the signals of on_peer_failure(); waits for a signal that is under way in another thread. Any
  /// thread, also inside the signal.
  void forget_peer_failures(Completion& completion) noexcept;

  /// The effective value of an attribute as text in its shortest form, e.g. "16K" for packet_size; throws
  /// weft::Error for unknown names. The text lives as long as the runtime.
  [[nodiscard]] const char* attribute(const char* name) const;
  /// The counters of all devices of this runtime, closed devices included. Any thread; acquires locks that no
  /// post waits for.
  [[nodiscard]] RuntimeCounters counters() const noexcept;

  [[nodiscard]] detail::RuntimeState& state() noexcept { return *state_; }

 private:
  Runtime(const RuntimeOptions& options, std::uint32_t abi_version);
  Runtime(InProcessJob& job, int rank, const RuntimeOptions& options, std::uint32_t abi_version);
  Runtime(sim::Simulation& simulation, int rank, const RuntimeOptions& options, std::uint32_t abi_version);
  std::unique_ptr<detail::RuntimeState> state_;
};

namespace detail {

/// A member of an object of a layer above that must be destroyed before its runtime: when the runtime is
/// destroyed first, it names the object and ends the program, instead of leaving it with memory that is gone.
class WEFT_API RuntimeUser {
 public:
  static constexpr int kNoDevice = -1;
  /// `object`: "Collective (engine 255)". `device`: the device whose endpoint, or stream, the object uses and
  /// must not outlive. Any thread.
  explicit RuntimeUser(Runtime& runtime, std::string_view object, int device = kNoDevice);
  RuntimeUser(RuntimeState& runtime, std::string_view object, int device = kNoDevice);
  ~RuntimeUser();
  RuntimeUser(const RuntimeUser&) = delete;
  RuntimeUser& operator=(const RuntimeUser&) = delete;

  /// Ends the program with one line: the object is destroyed while `user` still uses it.
  [[noreturn]] void refuse_early_end(const char* user) const noexcept;

 private:
  RuntimeState& runtime_;
  std::uint64_t number_;
};

}  // namespace detail

}  // namespace weft
