// Queue pairs of verbs as the transport of a session device: one completion queue and one shared receive
// queue for all peers, and a reliable connection to each, made when it is first needed.
// Sources: ibv_endpoint.cpp, message_posts.cpp, large_payloads.cpp, work_completions.cpp.
#pragma once

#include "base/descriptor.hpp"
#include "network/ibv/connection/connections.hpp"
#include "network/ibv/connection/introductions.hpp"
#include "network/ibv/connection/rank_resources.hpp"
#include "network/ibv/memory/arrival_buffers.hpp"
#include "network/ibv/memory/rooms.hpp"
#include "network/ibv/region_accesses.hpp"
#include "network/session/link/transport.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>

namespace weft::network::ibv {

/// Of a landing's name, or a put's signal, which a write brings as its immediate.
inline constexpr std::size_t kImmediateBytes = sizeof(ibv_wc::imm_data);

class IbvEndpoint final : public session::Transport {
 public:
  /// Opens the endpoint of a device index and publishes its address. Throws weft::Error.
  IbvEndpoint(const RankResources& context, std::uint32_t index);
  ~IbvEndpoint() override;

  // ibv_endpoint.cpp
  bool connect(session::Link& link, std::span<const std::byte> address) noexcept override;
  [[nodiscard]] session::ReceiveBuffers& buffers() noexcept override { return buffers_; }
  [[nodiscard]] bool is_reaching(const session::Link& link) const noexcept override {
    return !connections_.of(link).is_open;
  }
  [[nodiscard]] bool is_carrying() const noexcept override;
  void end_connections_with(int rank, session::SessionDevice& device) noexcept override;
  void stop() noexcept override;
  [[nodiscard]] int wait_descriptor() const noexcept override { return epoll_.get(); }
  [[nodiscard]] std::chrono::nanoseconds longest_sleep() const noexcept override;
  void prepare_sleep() noexcept override;
  /// What comes after prepare_sleep() makes the descriptor readable; what came before has been taken.
  [[nodiscard]] bool may_sleep() noexcept override { return has_found_none_.load(std::memory_order_relaxed); }
  // message_posts.cpp
  session::Sent transmit(session::Link& link, const session::Header& header, Bytes payload) noexcept override;
  session::Sent transmit_packet(session::Link& link, const session::Header& header, std::uint32_t packet,
                                std::size_t size) noexcept override;
  [[nodiscard]] std::byte* take_frame() noexcept override { return frames_.take(); }
  [[nodiscard]] std::size_t frame_bytes() const noexcept override { return frames_.bytes(); }
  session::Sent transmit_frame(session::Link& link, std::byte* frame, std::size_t begin,
                               std::size_t size) noexcept override;
  [[nodiscard]] bool has_room_for_bulk() const noexcept override;
  // large_payloads.cpp
  [[nodiscard]] bool can_fetch() const noexcept override { return context_.fetches; }
  [[nodiscard]] Offer offer(Bytes memory, RegionName region) noexcept override;
  void end_offer(const Offer& offer) noexcept override;
  AccessResult fetch(session::Link& link, const OfferedMemory& from, std::span<std::byte> to,
                     std::uint64_t token) noexcept override;
  [[nodiscard]] std::size_t landing_bytes() const noexcept override { return kImmediateBytes; }
  [[nodiscard]] Landing open_landing(std::span<std::byte> memory) noexcept override;
  void close_landing(const Landing& landing) noexcept override;
  AccessResult land(session::Link& link, const RemoteLanding& to, Bytes from, const Offer& offer,
                    std::uint64_t token) noexcept override;
  [[nodiscard]] bool can_access(std::size_t size) const noexcept override;
  AccessResult put(session::Link& link, const RemoteMemory& to, Bytes from, const std::uint64_t* immediate,
                   std::uint64_t token) noexcept override;
  AccessResult get(session::Link& link, const RemoteMemory& from, std::span<std::byte> to,
                   std::uint64_t token) noexcept override;
  AccessResult atomic(session::Link& link, const RemoteMemory& where, const NativeAtomic& change,
                      std::byte* old, std::uint64_t token) noexcept override;
  // work_completions.cpp
  void drive(session::SessionDevice& device) noexcept override;

 private:
  static constexpr std::uint32_t kReceives = 4096;  // posted at a time, where the device can
  static constexpr std::uint32_t kSends = 8192;  // posted and not completed, over all connections; as above
  static constexpr int kAtATime = 16;            // completions

  [[nodiscard]] ibv_srq* make_receive_queue();
  [[nodiscard]] ibv_cq* make_completion_queue();
  [[nodiscard]] session::Sent post_send(Connection& connection, std::span<ibv_sge> pieces, unsigned flags,
                                        Work work) noexcept;
  [[nodiscard]] session::Sent send_copy(Connection& connection, const session::Header& header,
                                        Bytes payload) noexcept;
  void end(Work& work) noexcept;
  /// Takes the next completions; returns how many, fewer than kAtATime when there were no more.
  int take_completions(session::SessionDevice& device) noexcept;
  void on_completion(const ibv_wc& completion, session::SessionDevice& device) noexcept;
  void on_received(const ibv_wc& completion, session::SessionDevice& device) noexcept;
  void on_sent(const ibv_wc& completion, session::SessionDevice& device) noexcept;

  const RankResources& context_;
  IbvReceiveBuffers buffers_;
  Rooms rooms_;
  Rooms frames_;
  const CompletionChannel channel_;
  const base::Descriptor epoll_;
  std::uint32_t most_receives_ = 0;  // that the receive queue takes
  const SharedReceiveQueue receives_;
  const CompletionQueue completions_;
  const ThreadDomain thread_domain_;  // that all queue pairs share
  Posting posting_;
  const QueuePairPlan plan_;
  Connections connections_;
  Introductions introductions_;
  RegionAccesses region_accesses_;
  std::uint32_t drives_ = 0;
  std::atomic<bool> has_found_none_{true};  // the last poll of the completion queue, if there was one
  std::uint32_t unposted_ = 0;              // messages received since buffers were last posted
};

}  // namespace weft::network::ibv
