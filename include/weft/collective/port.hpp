// The interface that collectives use of an endpoint of either kind.
#pragma once

#include <weft/detail/wait_condition.hpp>
#include <weft/options.hpp>
#include <weft/status.hpp>
#include <weft/types.hpp>

#include <cstdint>
#include <span>

namespace weft::detail {

class CollectivePort {
 public:
  virtual ~CollectivePort() = default;
  virtual Status post_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options) = 0;
  virtual Status post_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                              const ReceiveOptions& options) = 0;
  virtual Status post_am(int peer, RemoteCompletion remote, Bytes bytes,
                         const ActiveMessageOptions& options) = 0;
  virtual bool cancel(const ReceiveHandle& handle) noexcept = 0;
  virtual bool cancel(const SendHandle& handle) noexcept = 0;
  virtual std::size_t progress() noexcept = 0;
  /// Progresses until the condition holds.
  virtual void wait(const WaitCondition& condition) noexcept = 0;
  /// Returns the number of empty polls that the calling thread should make before it waits.
  [[nodiscard]] static std::uint32_t spin_budget() noexcept { return detail::spin_budget(); }
};

template <class EndpointType>
class CollectivePortOf final : public CollectivePort {
 public:
  explicit CollectivePortOf(EndpointType& endpoint) noexcept : endpoint_(endpoint) {}
  Status post_send(int peer, std::uint64_t tag, Bytes bytes, const SendOptions& options) override {
    return endpoint_.post_send(peer, tag, bytes, options);
  }
  Status post_receive(int source, std::uint64_t tag, std::span<std::byte> buffer,
                      const ReceiveOptions& options) override {
    return endpoint_.post_receive(source, tag, buffer, options);
  }
  Status post_am(int peer, RemoteCompletion remote, Bytes bytes,
                 const ActiveMessageOptions& options) override {
    return endpoint_.post_am(peer, remote, bytes, options);
  }
  bool cancel(const ReceiveHandle& handle) noexcept override { return endpoint_.cancel(handle); }
  bool cancel(const SendHandle& handle) noexcept override { return endpoint_.cancel(handle); }
  std::size_t progress() noexcept override { return endpoint_.progress(); }
  void wait(const WaitCondition& condition) noexcept override {
    static_cast<void>(endpoint_.wait_condition(condition));
  }

 private:
  EndpointType& endpoint_;
};

}  // namespace weft::detail
