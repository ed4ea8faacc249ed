// Endpoints carry the post operations.
#pragma once

#include <weft/completion/counter.hpp>
#include <weft/completion/graph.hpp>
#include <weft/completion/handler.hpp>
#include <weft/completion/queue.hpp>
#include <weft/completion/synchronizer.hpp>
#include <weft/detail/device_path.hpp>
#include <weft/detail/endpoint_entry.hpp>
#include <weft/detail/immediate_completion.hpp>
#include <weft/detail/wait_condition.hpp>
#include <weft/device.hpp>
#include <weft/endpoint/atomic.hpp>
#include <weft/endpoint/generic.hpp>
#include <weft/endpoint/matched.hpp>
#include <weft/endpoint/one_sided.hpp>
#include <weft/endpoint/persistent.hpp>
#include <weft/endpoint/vectored.hpp>
#include <weft/options.hpp>
#include <weft/packet.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <concepts>
#include <cstdint>
#include <memory>
#include <source_location>

namespace weft {

namespace detail {

/// The library's side of an endpoint's calls, by lock policy.
template <class Locking>
struct EndpointCalls {
  WEFT_API static void open(DeviceState& device);
  WEFT_API static void close(DeviceState& device) noexcept;
  WEFT_API static Status post_am(DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                                 const ActiveMessageOptions& options);
  /// Fast path of post_am() for a payload of more than a slot and up to a packet, of the class normal:
  /// arguments in registers, options never in memory. Returns false, without effect, when the message cannot
  /// be sent at once; the caller then falls back to post_am().
  WEFT_API static bool post_multi_slot_am(DeviceState& device, int peer, RemoteCompletion remote,
                                          const std::byte* data, std::size_t size,
                                          std::uint32_t tag) noexcept;
  WEFT_API static Status post_packet(DeviceState& device, int peer, RemoteCompletion remote, Packet& packet,
                                     std::size_t size, const ActiveMessageOptions& options);
  WEFT_API static Outcome send_am(DeviceState& device, int peer, RemoteCompletion remote, Bytes bytes,
                                  const ActiveMessageOptions& options, const std::source_location& where);
  WEFT_API static std::size_t progress(DeviceState& device) noexcept;
  WEFT_API static bool wait(DeviceState& device, const WaitCondition& condition) noexcept;
  /// wait() for at most `timeout`. Returns true when the condition holds.
  WEFT_API static bool wait_for(DeviceState& device, const WaitCondition& condition,
                                Timeout timeout) noexcept;
};

extern template struct EndpointCalls<TryLock>;
extern template struct EndpointCalls<NoLock>;

[[nodiscard]] WEFT_API DevicePath& path_of(DeviceState& device) noexcept;
[[nodiscard]] WEFT_API DeviceAttributes attributes_of(const DeviceState& device) noexcept;
[[nodiscard]] WEFT_API bool drained(DeviceState& device) noexcept;

}  // namespace detail

/// A light object that binds a device. Post operations never block; see Status for their answers.
///
/// `Endpoint` may be used by any number of threads; `SerialEndpoint` has its device for itself, is used by
/// one thread at a time, and executes no locked instruction of its own. A second thread that calls it
/// meanwhile is named with the first one, and the program ends, where the caller is compiled with assertions
/// (without NDEBUG). A device has either one SerialEndpoint or any number of Endpoints: the constructor
/// throws weft::Error otherwise.
template <class Locking>
class BasicEndpoint : public MatchedOperations<BasicEndpoint<Locking>, Locking>,
                      public OneSidedOperations<BasicEndpoint<Locking>, Locking>,
                      public AtomicOperations<BasicEndpoint<Locking>, Locking>,
                      public PreparingOperations<BasicEndpoint<Locking>, Locking>,
                      public VectoredOperations<BasicEndpoint<Locking>, Locking>,
                      public GenericOperation<BasicEndpoint<Locking>> {
 public:
  /// Binds the runtime's default device: index 0, opened by the first endpoint that uses it. Throws
  /// weft::Error as described above.
  explicit BasicEndpoint(Runtime& runtime) : BasicEndpoint(default_device(runtime)) {}
  explicit BasicEndpoint(Device& device) : BasicEndpoint(shared_state(device)) {}
  ~BasicEndpoint() {
    if (device_ != nullptr) Calls::close(*device_);
  }
  BasicEndpoint(BasicEndpoint&& other) noexcept = default;
  BasicEndpoint& operator=(BasicEndpoint&&) = delete;

  using OneSidedOperations<BasicEndpoint, Locking>::post_get;
  using OneSidedOperations<BasicEndpoint, Locking>::post_put;
  using VectoredOperations<BasicEndpoint, Locking>::post_am;
  using VectoredOperations<BasicEndpoint, Locking>::post_get;
  using VectoredOperations<BasicEndpoint, Locking>::post_put;
  using MatchedOperations<BasicEndpoint, Locking>::post_receive;
  using MatchedOperations<BasicEndpoint, Locking>::post_send;
  using MatchedOperations<BasicEndpoint, Locking>::receive;
  using MatchedOperations<BasicEndpoint, Locking>::send;
  using VectoredOperations<BasicEndpoint, Locking>::post_receive;
  using VectoredOperations<BasicEndpoint, Locking>::post_send;
  using VectoredOperations<BasicEndpoint, Locking>::receive;
  using VectoredOperations<BasicEndpoint, Locking>::send;

  /// Posts an active message: `remote`, a completion object of `peer`, is signalled with the payload.
  ///
  /// peer: a rank, 0 to size - 1, oneself included (weft::Error otherwise). bytes: 0 to 2^62 bytes; borrowed
  /// until done or completion. Up to 48 bytes travel in one slot, up to inline_max in several, up to
  /// packet_size through a packet, more by a handshake and one transfer into a buffer of the target's
  /// allocator. Delivery is not ordered. To a peer on another host small messages that follow one another may
  /// leave together, at the next progress() at the latest (docs/guide/hosts.md, "When messages leave").
  [[gnu::always_inline]] Status post_am(int peer, RemoteCompletion remote, Bytes bytes,
                                        const ActiveMessageOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(*device_, "post_am");
    if (try_post_am(peer, remote, bytes, options)) [[likely]]
      return detail::complete_immediately(*device_, Operation::active_message_sent, peer, options.tag, bytes,
                                          options);
    const ActiveMessageOptions given = options;  // as in post_send()
    return Calls::post_am(*device_, peer, remote, bytes, given);
  }

  /// Posts an active message whose payload is the first `size` bytes of `packet`, where the program has
  /// assembled it. The packet is taken over unless the answer is retry. Arguments, answers and errors are
  /// those of post_am() with bytes.
  Status post_am(int peer, RemoteCompletion remote, Packet&& packet, std::size_t size,
                 const ActiveMessageOptions& options = {}) {
    const detail::EndpointEntry<Locking> entry(*device_, "post_am");
    return Calls::post_packet(*device_, peer, remote, packet, size, options);
  }

  /// post_am that progresses until the post is accepted and, without a completion object, until the payload
  /// may be reused. Waits for as long as the peer does not consume messages, at most options.timeout. Returns
  /// the outcome of the operation, or ok when options.completion is to be signalled with it. Not inside
  /// handlers: use post_am there.
  [[gnu::always_inline]] Outcome send_am(
      int peer, RemoteCompletion remote, Bytes bytes, const ActiveMessageOptions& options = {},
      const std::source_location& where = std::source_location::current()) {
    const detail::EndpointEntry<Locking> entry(*device_, "send_am");
    if (try_post_am(peer, remote, bytes, options)) [[likely]] {
      static_cast<void>(detail::complete_immediately(*device_, Operation::active_message_sent, peer,
                                                     options.tag, bytes, options));
      return Outcome::ok;
    }
    const ActiveMessageOptions given = options;
    return Calls::send_am(*device_, peer, remote, bytes, given, where);
  }

  /// Moves communication of the device forward: delivers messages that have arrived and continues operations
  /// that are under way. Never blocks. Returns how much it did; 0: nothing to do, and nothing was written,
  /// except by the first such call.
  std::size_t progress() noexcept {
    const detail::EndpointEntry<Locking> entry(*device_, "progress");
    return Calls::progress(*device_);
  }

  // `where` is the place of the call that explanations of waits report (docs/guide/diagnosis.md).

  /// Progresses until the queue has a message: spins, yields, then parks.
  template <class Producers, class Consumers>
  [[nodiscard]] Message wait(BasicCompletionQueue<Producers, Consumers>& queue,
                             const std::source_location& where = std::source_location::current()) noexcept {
    Message message;
    while (!queue.pop(message)) wait_ready(queue, {"a message in a queue", where});
    return message;
  }
  /// Progresses until the counter has reached `target` signals. The target belongs to the call: any number of
  /// threads wait for one counter, each for a target of its own, and what Counter::set_target() has set
  /// stays.
  void wait(Counter& counter, std::uint64_t target,
            const std::source_location& where = std::source_location::current()) noexcept {
    if (counter.value() < target) {
      const CounterTarget context{counter, target};
      wait_for_condition(condition_of(context, where));
    }
  }
  /// Progresses until the synchronizer's round is complete. Returns its messages in order of arrival.
  std::span<Message> wait(Synchronizer& synchronizer,
                          const std::source_location& where = std::source_location::current()) noexcept {
    wait_ready(synchronizer, {"a synchronizer", where});
    return synchronizer.messages();
  }
  /// Progresses until the graph has ended, and posts again the operations that had been refused. Returns the
  /// graph's outcome.
  Outcome wait(Graph& graph, const std::source_location& where = std::source_location::current()) noexcept {
    wait_ready(graph, where);
    return graph.outcome();
  }
  /// Progresses until the graph has ended, as wait(graph) does, without returning its outcome.
  void wait_ready(Graph& graph,
                  const std::source_location& where = std::source_location::current()) noexcept {
    wait_for_condition(condition_of(graph, where));
  }
  /// Progresses until completion.ready().
  void wait_ready(Completion& completion,
                  const std::source_location& where = std::source_location::current()) noexcept {
    wait_ready(completion, {"a completion object", where});
  }
  /// Progresses until `condition()` holds. Arrivals on this device end a park at once; a condition that
  /// another event makes true is seen within the attribute park_timeout. The condition may take what it
  /// finds, as `queue.pop(message)` does: once it has held it is not evaluated again. The same is true of
  /// wait_for().
  template <class Condition>
  void wait_until(const Condition& condition,
                  const std::source_location& where = std::source_location::current()) noexcept {
    if (!condition()) wait_for_condition(condition_of_call(condition, {"a condition", where}));
  }

  /// Progresses until completion.ready(), for at most `timeout`. Returns true when it is ready. Operations
  /// that were posted go on after a timeout; use the timeout in their options to end them in time.
  [[nodiscard]] bool wait_for(Completion& completion, Timeout timeout,
                              const std::source_location& where = std::source_location::current()) noexcept {
    return wait_for_condition(condition_of(completion, {"a completion object", where}), timeout);
  }
  /// Progresses until the counter has reached `target` signals, for at most `timeout`. Returns true when it
  /// has.
  [[nodiscard]] bool wait_for(Counter& counter, std::uint64_t target, Timeout timeout,
                              const std::source_location& where = std::source_location::current()) noexcept {
    const CounterTarget context{counter, target};
    return wait_for_condition(condition_of(context, where), timeout);
  }
  /// Progresses until the graph has ended, for at most `timeout`. Returns true when it has.
  [[nodiscard]] bool wait_for(Graph& graph, Timeout timeout,
                              const std::source_location& where = std::source_location::current()) noexcept {
    return wait_for_condition(condition_of(graph, where), timeout);
  }
  /// Progresses until `condition()` holds, for at most `timeout`. Returns true when it does.
  template <std::predicate Condition>
  [[nodiscard]] bool wait_for(const Condition& condition, Timeout timeout,
                              const std::source_location& where = std::source_location::current()) noexcept {
    return wait_for_condition(condition_of_call(condition, {"a condition", where}), timeout);
  }

  /// Progresses until `condition` holds; with a timeout other than 0 at most so long, and no longer than its
  /// patience. Returns whether it has held. For layers that describe their waits (detail::WaitDescription).
  bool wait_condition(const detail::WaitCondition& condition, Timeout timeout = {}) noexcept {
    return timeout.count() != 0 ? wait_for_condition(condition, timeout) : wait_for_condition(condition);
  }

  /// Device::drained() of the device that the endpoint is bound to.
  [[nodiscard]] bool drained() const noexcept { return detail::drained(*device_); }
  /// Progresses until drained() holds: "are my messages out?". Waits for as long as a peer consumes no
  /// messages, or a large send has no receive. Not inside handlers.
  void wait_drained(const std::source_location& where = std::source_location::current()) noexcept {
    const auto condition = [this] { return drained(); };
    wait_for_condition(condition_of_call(condition, {"messages to be taken", where}));
  }
  /// Progresses until drained() holds, for at most `timeout`. Returns true when it holds. Not inside
  /// handlers.
  [[nodiscard]] bool wait_drained(
      Timeout timeout, const std::source_location& where = std::source_location::current()) noexcept {
    const auto condition = [this] { return drained(); };
    return wait_for_condition(condition_of_call(condition, {"messages to be taken", where}), timeout);
  }

  /// The effective attributes of the device that the endpoint is bound to.
  [[nodiscard]] DeviceAttributes attributes() const noexcept { return detail::attributes_of(*device_); }

  [[nodiscard]] detail::DeviceState& state() const noexcept { return *device_; }
  [[nodiscard]] const detail::DevicePath& path() const noexcept { return *path_; }

 private:
  using Calls = detail::EndpointCalls<Locking>;
  explicit BasicEndpoint(std::shared_ptr<detail::DeviceState> device)
      : path_(&detail::path_of(*device)), device_(std::move(device)) {
    Calls::open(*device_);
  }
  bool wait_for_condition(const detail::WaitCondition& condition) noexcept {
    const detail::EndpointEntry<Locking> entry(*device_, "wait");
    return Calls::wait(*device_, condition);
  }
  bool wait_for_condition(const detail::WaitCondition& condition, Timeout timeout) noexcept {
    const detail::EndpointEntry<Locking> entry(*device_, "wait_for");
    return Calls::wait_for(*device_, condition, timeout);
  }
  template <std::derived_from<Completion> Object>
  void wait_ready(Object& completion, const detail::WaitDescription& description) noexcept {
    wait_for_condition(condition_of(completion, description));
  }
  /// The condition that an object is ready. It uses the object's own type, which often is final, so that
  /// polls can call ready() without a virtual call.
  template <std::derived_from<Completion> Object>
  [[nodiscard]] static detail::WaitCondition condition_of(
      Object& completion, const detail::WaitDescription& description) noexcept {
    return {[](const void* context) noexcept { return static_cast<const Object*>(context)->ready(); },
            &completion, &completion, description};
  }
  /// The counter and target of one call of wait(). It lies on the call's stack, so that calls do not disturb
  /// each other.
  struct CounterTarget {
    Counter& counter;
    std::uint64_t target;
  };
  [[nodiscard]] static detail::WaitCondition condition_of(const CounterTarget& wanted,
                                                          const std::source_location& where) noexcept {
    return {[](const void* context) noexcept {
              const auto& call = *static_cast<const CounterTarget*>(context);
              return call.counter.value() >= call.target;
            },
            &wanted,
            &wanted.counter,
            {"a counter", where}};
  }
  [[nodiscard]] static detail::WaitCondition condition_of(Graph& graph,
                                                          const std::source_location& where) noexcept {
    return {
        [](const void* context) noexcept { return static_cast<Graph*>(const_cast<void*>(context))->test(); },
        &graph,
        static_cast<Completion*>(&graph),
        {"a graph", where}};
  }
  template <class Condition>
  [[nodiscard]] static detail::WaitCondition condition_of_call(
      const Condition& condition, const detail::WaitDescription& description) noexcept {
    return {[](const void* context) noexcept -> bool { return (*static_cast<const Condition*>(context))(); },
            &condition, nullptr, description};
  }
  [[nodiscard, gnu::always_inline]] bool try_post_am(int peer, RemoteCompletion remote, Bytes bytes,
                                                     const ActiveMessageOptions& options) noexcept {
    if (options.message_class != MessageClass::normal || !options.region.is_empty()) return false;
    if (bytes.size() > detail::kSlotPayload)
      return Calls::post_multi_slot_am(*device_, peer, remote, bytes.data(), bytes.size(), options.tag);
    detail::SendLane* lane = path_->lane(peer, remote.device(), detail::column_of_post<Locking>());
    return lane != nullptr &&
           detail::try_post_slot<Locking>(*lane, remote, options.tag, bytes, detail::kActiveMessageChannel);
  }
  WEFT_API static std::shared_ptr<detail::DeviceState> default_device(Runtime& runtime);
  WEFT_API static std::shared_ptr<detail::DeviceState> shared_state(Device& device);

  detail::DevicePath* path_;
  std::shared_ptr<detail::DeviceState> device_;
};

/// The endpoint that any number of threads may use: BasicEndpoint has its operations.
using Endpoint = BasicEndpoint<detail::TryLock>;
/// The endpoint that has its device for itself and is used by one thread at a time, without a locked
/// instruction: BasicEndpoint has its operations.
using SerialEndpoint = BasicEndpoint<detail::NoLock>;

}  // namespace weft
