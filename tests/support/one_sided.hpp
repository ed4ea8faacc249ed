// Regions of every kind, reached in every way.
#pragma once

#include "support/ranks.hpp"

#include <atomic>
#include <string>

namespace weft::test {

/// How a test reaches memory of a peer.
struct AccessSetting {
  const char* name;
  bool allocated;  // by weft, else the user's own
  bool mapped;     // through map(), else by the key
  std::vector<AttributeSetting> attributes;
};

[[nodiscard]] inline const std::vector<AccessSetting>& access_settings() {
  static const std::vector<AttributeSetting> messages = {{"one_sided", "message"}};
  static const std::vector<AttributeSetting> few = {
      {"one_sided", "message"}, {"packets", "16"},        {"packet_size", "1K"}, {"packet_magazine", "1"},
      {"lane_slots", "64"},     {"lane_slots_max", "64"}, {"requests", "16"},    {"held_packets", "1"}};
  static const std::vector<AccessSetting> settings = {
      {"allocated_and_mapped", true, true, {}},
      {"allocated_by_key", true, false, {}},
      {"registered_by_key", false, false, {}},
      {"allocated_by_messages", true, true, messages},
      {"registered_by_messages", false, false, messages},
      {"registered_by_few_messages", false, false, few},
  };
  return settings;
}

/// Memory of one rank, of either kind.
class Target {
 public:
  Target(Runtime& owner, const AccessSetting& setting, std::size_t size) {
    if (setting.allocated) {
      region_ = MemoryRegion::allocate(owner, size);
    } else {
      memory_.resize(size);
      region_ = MemoryRegion(owner, memory_);
    }
  }
  [[nodiscard]] std::span<std::byte> bytes() const { return region_.bytes(); }
  [[nodiscard]] const RemoteRegion& remote() const { return region_.remote(); }
  /// What an initiator gives to its posts.
  [[nodiscard]] MappedRegion seen_by(Runtime& initiator, const AccessSetting& setting) const {
    return setting.mapped ? map(initiator, region_.remote()) : MappedRegion(region_.remote(), nullptr);
  }
  void release() { region_ = MemoryRegion(); }

 private:
  std::vector<std::byte> memory_;
  MemoryRegion region_;
};

/// Progresses some ranks on a thread of its own, so that another one may block.
class Helpers {
 public:
  template <class EndpointType>
  Helpers(Ranks<EndpointType>& ranks, int first, int last) {
    thread_ = std::thread([this, &ranks, first, last] {
      while (!stop_) {
        for (int rank = first; rank <= last; ++rank) ranks.endpoint(rank).progress();
        std::this_thread::yield();
      }
    });
  }
  ~Helpers() {
    stop_ = true;
    thread_.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

 private:
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// Posts until the answer is not retry; `step` lets things move.
template <class Post, class Step>
[[nodiscard]] Status post_until(const Post& post, const Step& step) {
  Status status = Status::retry(Reason::none);
  static_cast<void>(until(
      [&] {
        status = post();
        return status.is_accepted();
      },
      step));
  return status;
}

}  // namespace weft::test
