// What a rank exchanges with the other members on its host through shared memory, and how it waits for it.
#pragma once

#include "collective/long_wait.hpp"
#include "collective/near/host_channels.hpp"
#include "collective/near/near_guards.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::collective {

/// Of the thread that calls collectives.
class HostExchange {
 public:
  HostExchange(CollectiveContext& context, Runtime& runtime, const Team& team);
  ~HostExchange();

  /// Null: nobody on this host has memory in common with this rank.
  [[nodiscard]] HostChannels* channels() noexcept { return channels_.get(); }
  /// Null: not connected.
  [[nodiscard]] HostChannels* connected() noexcept {
    return channels_ != nullptr && channels_->are_connected() ? channels_.get() : nullptr;
  }
  /// Returns true when all members of the team are connected.
  [[nodiscard]] bool is_whole_team() noexcept {
    return connected() != nullptr && channels_->are_whole_team();
  }
  /// Counts a call that waits; returns true in the one, the same on all ranks, that connects the members of a
  /// host.
  [[nodiscard]] bool is_due_to_connect() noexcept {
    return channels_ != nullptr && calls_ < kConnectAt && ++calls_ == kConnectAt;
  }

  /// Counts a wait; returns true in every sixteenth. What members send through shared memory is there without
  /// progress, and a peer that needs this rank's would wait for ever.
  [[nodiscard]] bool is_due_to_progress() noexcept { return ++waits_ % kWaitsPerProgress == 0; }

  /// What the thread awaits; and how often it polls before it lets others run.
  [[nodiscard]] std::vector<NearReceive>& receives() noexcept { return receives_; }
  [[nodiscard]] std::uint32_t& polls() noexcept { return polls_; }
  [[nodiscard]] NearGuards& guards() noexcept { return guards_; }
  /// CollectiveContext::wait() for what threads of other processes store in memory.
  [[nodiscard]] bool wait(std::uint64_t number, std::span<const int> peers, LongWait::IsReady is_ready,
                          void* what) noexcept;

 private:
  static bool post_alarm(void* context, Completion& object, std::int64_t nanoseconds) noexcept;

  // Collectives that are used a few times only need no memory of their own.
  static constexpr std::uint32_t kConnectAt = 8;
  static constexpr std::uint32_t kWaitsPerProgress = 16;
  CollectiveContext& context_;
  std::unique_ptr<HostChannels> channels_;
  std::uint32_t calls_ = 0;
  std::uint32_t waits_ = 0;
  std::vector<NearReceive> receives_;
  std::uint32_t polls_ = 64;
  NearGuards guards_;
};

}  // namespace weft::collective
