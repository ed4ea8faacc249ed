#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "completions.hpp"

namespace lci {

namespace {

template <class Operation>
device_impl_t& device_of(const Operation& operation) {
  if (operation.m_endpoint.p_impl != nullptr) return operation.m_endpoint.p_impl->owner;
  if (operation.m_device.p_impl != nullptr) return *operation.m_device.p_impl;
  return default_endpoint(runtime_of(operation.m_runtime)).owner;
}

std::size_t product(std::size_t a, std::size_t b, const char* operation) {
  if (b != 0 && a > SIZE_MAX / b)
    refuse(std::string(operation) + ": " + std::to_string(a) + " times " + std::to_string(b) +
           " bytes are more than a buffer can have");
  return a * b;
}
weft::Bytes source(const void* data, std::size_t size, const char* operation) {
  posts::check_buffer(operation, data, size);
  return {static_cast<const std::byte*>(data), size};
}
weft::MutableBytes target(void* data, std::size_t size, const char* operation) {
  posts::check_buffer(operation, data, size);
  return {static_cast<std::byte*>(data), size};
}

weft::AnyReduction reduction_of(reduce_op_t op, std::size_t item_size, const char* operation) {
  if (op == nullptr) refuse(std::string(operation) + ": the operator is null");
  return {.element_size = item_size,
          .apply = [](void* to, const void* from, std::size_t count,
                      void* context) { reinterpret_cast<reduce_op_t>(context)(from, to, to, count); },
          .context = reinterpret_cast<void*>(op)};
}

void check(weft::Outcome outcome, weft::Collective& all, const runtime_impl_t& runtime,
           const char* operation) {
  if (outcome == weft::Outcome::ok) return;
  int failed = -1;
  runtime.runtime.failed_peers({&failed, 1});
  throw peer_failure_error("lci: " + std::string(operation) + " of " + std::to_string(all.size()) +
                               " ranks has ended as " + weft::name_of(outcome),
                           failed);
}

/// The turn of this thread among those that wait in collectives of the device.
class Turn {
 public:
  Turn(device_impl_t& device, const char* operation) : waiting_(device.waiting_thread) {
    static thread_local const char mark = 0;  // its address is the thread's
    for (const void* found = nullptr;
         !waiting_.compare_exchange_weak(found, &mark, std::memory_order_acquire); found = nullptr) {
      if (found == &mark)
        refuse(std::string(operation) + " in a handler that runs while this thread waits in a collective of" +
               " the device: give it a completion object with .comp()");
      device.own_endpoint.endpoint.progress();
    }
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;
  ~Turn() { waiting_.store(nullptr, std::memory_order_release); }

 private:
  std::atomic<const void*>& waiting_;
};

/// This thread begins a collective, whose end may run a handler at once.
class Beginning {
 public:
  Beginning() noexcept { ++depth_; }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;
  ~Beginning() { --depth_; }
  [[nodiscard]] static bool is_under_way() noexcept { return depth_ != 0; }

 private:
  static inline thread_local int depth_ = 0;
};

/// Begins what `make` returns, which has its number at once and waits for nobody's turn: a handler may do so,
/// in the progress of a thread that waits in another one.
template <class Make>
void begin(device_impl_t& device, const comp_t& completion, const Make& make) {
  weft::Collective& all = device.posted_collective();
  const std::lock_guard lock(device.posting);
  const Beginning beginning;
  all.post(make(all), {.completion = completion_of(completion)});
}

/// Waits for the collective that `wait` is, or begins the one that `make` returns.
template <class Operation, class Wait, class Make>
void perform(const Operation& operation, const char* name, const Wait& wait, const Make& make) {
  device_impl_t& device = device_of(operation);
  if (!operation.m_comp.is_empty()) return begin(device, operation.m_comp, make);
  if (Beginning::is_under_way())
    refuse(std::string(name) + " in a handler that runs while this thread begins a collective: give it a" +
           " completion object with .comp()");
  weft::Collective& all = device.collective();
  const Turn turn(device, name);
  check(wait(all), all, device.runtime, name);
}

}  // namespace

void barrier_x::call() const {
  perform(
      *this, "barrier", [](weft::Collective& all) { return all.barrier(); },
      [](weft::Collective& all) { return all.make_barrier(); });
}

void broadcast_x::call() const {
  const weft::MutableBytes bytes = target(m_buffer, m_size, "broadcast");
  perform(
      *this, "broadcast", [&](weft::Collective& all) { return all.broadcast(bytes, m_root); },
      [&](weft::Collective& all) { return all.make_broadcast(bytes, m_root); });
}

void reduce_x::call() const {
  const weft::AnyReduction reduction = reduction_of(m_op, m_item_size, "reduce");
  const std::size_t size = product(m_count, m_item_size, "reduce");
  const weft::Bytes from = source(m_sendbuf, size, "reduce");
  const auto to = [&](const weft::Collective& all) {
    return all.rank() == m_root ? target(m_recvbuf, size, "reduce") : weft::MutableBytes();
  };
  perform(
      *this, "reduce", [&](weft::Collective& all) { return all.reduce(from, to(all), reduction, m_root); },
      [&](weft::Collective& all) { return all.make_reduce(from, to(all), reduction, m_root); });
}

void allreduce_x::call() const {
  const weft::AnyReduction reduction = reduction_of(m_op, m_item_size, "allreduce");
  const std::size_t size = product(m_count, m_item_size, "allreduce");
  const weft::Bytes from = source(m_sendbuf, size, "allreduce");
  const weft::MutableBytes to = target(m_recvbuf, size, "allreduce");
  perform(
      *this, "allreduce", [&](weft::Collective& all) { return all.allreduce(from, to, reduction); },
      [&](weft::Collective& all) { return all.make_allreduce(from, to, reduction); });
}

void reduce_scatter_x::call() const {
  const weft::AnyReduction reduction = reduction_of(m_op, m_item_size, "reduce_scatter");
  const std::size_t size = product(m_recvcount, m_item_size, "reduce_scatter");
  const auto from = [&](const weft::Collective& all) {
    return source(m_sendbuf, product(size, static_cast<std::size_t>(all.size()), "reduce_scatter"),
                  "reduce_scatter");
  };
  const weft::MutableBytes to = target(m_recvbuf, size, "reduce_scatter");
  perform(
      *this, "reduce_scatter",
      [&](weft::Collective& all) { return all.reduce_scatter(from(all), to, reduction); },
      [&](weft::Collective& all) { return all.make_reduce_scatter(from(all), to, reduction); });
}

void allgather_x::call() const {
  weft::Bytes from = source(m_sendbuf, m_size, "allgather");
  const auto to = [&](const weft::Collective& all) {
    return target(m_recvbuf, product(m_size, static_cast<std::size_t>(all.size()), "allgather"), "allgather");
  };
  std::vector<std::byte> apart;  // what a program sends out of the buffer that it receives into
  perform(
      *this, "allgather",
      [&](weft::Collective& all) {
        const weft::MutableBytes received = to(all);
        if (from.data() < received.data() + received.size() && received.data() < from.data() + from.size()) {
          apart.assign(from.begin(), from.end());
          from = apart;
        }
        return all.allgather(from, received);
      },
      [&](weft::Collective& all) { return all.make_allgather(from, to(all)); });
}

void alltoall_x::call() const {
  const auto length = [&](const weft::Collective& all) {
    return product(m_size, static_cast<std::size_t>(all.size()), "alltoall");
  };
  perform(
      *this, "alltoall",
      [&](weft::Collective& all) {
        return all.alltoall(source(m_sendbuf, length(all), "alltoall"),
                            target(m_recvbuf, length(all), "alltoall"));
      },
      [&](weft::Collective& all) {
        return all.make_alltoall(source(m_sendbuf, length(all), "alltoall"),
                                 target(m_recvbuf, length(all), "alltoall"));
      });
}

}  // namespace lci
