// Messages between streams of a group, each of which one thread has for itself.
#include "instructions.hpp"

#include <weft/stream/stream_group.hpp>
#include <weft/testing/in_process_job.hpp>

#include <optional>
#include <thread>
#include <vector>

namespace weft::budget {
namespace {

/// Two ranks of this process with a stream each, in one group.
struct Streams {
  InProcessJob job{2};
  Runtime runtimes[2]{{job, 0}, {job, 1}};
  Stream streams[2]{Stream(runtimes[0]), Stream(runtimes[1])};
  std::optional<StreamGroup> groups[2];
  Streams() {
    std::thread other([&] { groups[1].emplace(runtimes[1], streams[1]); });
    groups[0].emplace(runtimes[0], streams[0]);
    other.join();
  }
};

// The loops that post have functions of their own, as those of matched_instructions.cpp.

/// `kIndex`: that the receives name.
template <std::size_t kSize, std::uint32_t kIndex>
[[gnu::noinline]] void post_receives(GroupStream receiver, std::byte* buffer, Completion& arrived) {
  for (std::uint64_t i = 0; i < kBurst; ++i, buffer += kSize)
    while (
        receiver.post_receive({0, kIndex}, 5, std::span(buffer, kSize), {.completion = &arrived}).is_retry())
      receiver.progress();
}
template <std::size_t kSize>
[[gnu::noinline]] void post_sends(GroupStream sender, GroupStream receiver, const std::byte* payload) {
  for (std::uint64_t i = 0; i < kBurst; ++i)
    while (sender.post_send({1, 0}, 5, std::span(payload, kSize)).is_retry()) {
      receiver.progress();
      sender.progress();
    }
}

template <std::size_t kSize, std::uint32_t kIndex>
void between_streams(std::uint64_t messages) {
  Streams both;
  GroupStream sender = both.groups[0]->member();
  GroupStream receiver = both.groups[1]->member();
  std::uint64_t count = 0;
  Handler handler([&](Message&) noexcept { ++count; });
  const std::vector<std::byte> payload(kSize);
  std::vector<std::byte> buffers(kBurst * kSize);
  for (std::uint64_t next = 0; next < messages; next += kBurst) {
    post_receives<kSize, kIndex>(receiver, buffers.data(), handler);
    post_sends<kSize>(sender, receiver, payload.data());
    while (count < kBurst) receiver.progress();
    count -= kBurst;
    sender.progress();
  }
}

constexpr Path kPaths[] = {
    {"streams", between_streams<8, 0>},
    {"streams_any_index", between_streams<8, any_index>},
    {"streams_64", between_streams<64, 0>},
};

}  // namespace
}  // namespace weft::budget

int main(int count, char** arguments) {
  return weft::budget::run_path(count, arguments, weft::budget::kPaths);
}
