// A process number that a peer has published is looked at only where it means the same: on this host, and in
// the same namespace of process numbers. Elsewhere it names nobody, or a process that has nothing to do with
// the job.
#include <weft/testing/in_process_job.hpp>

#include "bootstrap/in_process/hub.hpp"
#include "network/session/link/message_format.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <arpa/inet.h>

#include <cstring>
#include <memory>
#include <vector>

namespace weft::network::tcp {
namespace {

using session::DeviceRecord;

constexpr std::int32_t kNoProcess = 0x3ffffff;  // more than the kernel gives

/// Ranks 2 and further are played by the test: they have published where rank 1 is, as their own.
class OtherNamespaces : public testing::Test {
 protected:
  OtherNamespaces() : job_(5), runtime_(job_, 1, {.attributes = kTcp}), endpoint_(runtime_) {}

  template <class Change>
  void publish_for(int rank, const Change& change) {
    played_.push_back(job_.hub().join(rank));
    std::vector<std::byte> bytes = *played_.back()->try_get(1, "tcp.device.0");
    DeviceRecord record{};
    std::memcpy(&record, bytes.data(), sizeof record);
    record.process = kNoProcess;
    change(record);
    std::memcpy(bytes.data(), &record, sizeof record);
    played_.back()->put("tcp.device.0", bytes);
  }
  /// A send to a rank that has ended ends; to one that is being reached it has to wait.
  bool is_taken_for_ended(int rank) {
    return endpoint_.post_send(rank, 7, bytes_of(word_), {.completion = &ended_}).is_accepted();
  }

  inline static const std::vector<AttributeSetting> kTcp = {
      {"network", "tcp"}, {"tcp_authenticate", "no"}, {"log", "error"}, {"drain_timeout", "0.05"}};

  InProcessJob job_;
  Runtime runtime_;
  Counter ended_;
  std::uint64_t word_ = 0;
  Endpoint endpoint_;
  std::vector<std::unique_ptr<bootstrap::Bootstrap>> played_;
};

TEST_F(OtherNamespaces, have_process_numbers_of_their_own) {
  publish_for(2, [](DeviceRecord& record) { ++record.pid_namespace; });
  publish_for(3, [](DeviceRecord& record) { ++record.boot_id; });
  publish_for(4, [](DeviceRecord&) {});
  EXPECT_FALSE(is_taken_for_ended(2));
  EXPECT_FALSE(is_taken_for_ended(3));
  EXPECT_TRUE(is_taken_for_ended(4)) << "of the same namespace: there is no such process";
}

}  // namespace
}  // namespace weft::network::tcp
