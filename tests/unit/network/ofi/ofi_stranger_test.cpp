// What strangers send to a rank over libfabric is never trusted: it is refused and counted, and nothing
// breaks. Also: what the constructor refuses.
#include <weft/testing/in_process_job.hpp>

#include "bootstrap/in_process/hub.hpp"
#include "network/ofi/libfabric/fabric.hpp"
#include "network/session/link/message_format.hpp"
#include "support/ranks.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

namespace weft::network::ofi {

using namespace session;
namespace {

/// Rank 2 of the job, which speaks to rank 1 with a bare endpoint.
class Stranger {
 public:
  explicit Stranger(InProcessJob& job) : bootstrap_(job.hub().join(2)), fabric_("auto", "127.0.0.1") {
    fi_av_attr av{};
    fid_av* addresses = nullptr;
    EXPECT_EQ(::fi_av_open(&fabric_.domain(), &av, &addresses, nullptr), 0);
    addresses_.reset(addresses);
    fi_cq_attr cq{};
    cq.format = FI_CQ_FORMAT_DATA;
    fid_cq* completions = nullptr;
    EXPECT_EQ(::fi_cq_open(&fabric_.domain(), &cq, &completions, nullptr), 0);
    completions_.reset(completions);
    fid_ep* endpoint = nullptr;
    EXPECT_EQ(::fi_endpoint(&fabric_.domain(), &fabric_.info(), &endpoint, nullptr), 0);
    endpoint_.reset(endpoint);
    EXPECT_EQ(::fi_ep_bind(endpoint, &completions->fid, FI_SEND | FI_RECV), 0);
    EXPECT_EQ(::fi_ep_bind(endpoint, &addresses->fid, 0), 0);
    EXPECT_EQ(::fi_enable(endpoint), 0);
    const auto record = bootstrap_->try_get(1, "ofi.device.0");
    EXPECT_TRUE(record.has_value());
    if (record.has_value()) {
      EXPECT_EQ(::fi_av_insert(addresses, record->data() + sizeof(DeviceRecord), 1, &victim_, 0, nullptr), 1);
    }
  }

  /// Sends the bytes; `progress` keeps the victim going.
  template <class Progress>
  void send(Bytes message, const Progress& progress) {
    ssize_t result = -FI_EAGAIN;
    fi_context2 context{};
    ASSERT_TRUE(test::until(
        [&] {
          result = ::fi_send(endpoint_.get(), message.data(), message.size(), nullptr, victim_, &context);
          return result != -FI_EAGAIN;
        },
        [&] {
          read();
          progress();
        }));
    ASSERT_EQ(result, 0);
    ASSERT_TRUE(test::until([&] { return read(); }, progress));
  }

 private:
  bool read() {
    fi_cq_data_entry entry{};
    return ::fi_cq_read(completions_.get(), &entry, 1) == 1;
  }

  std::unique_ptr<bootstrap::Bootstrap> bootstrap_;
  Fabric fabric_;
  Owned<fid_av> addresses_;
  Owned<fid_cq> completions_;
  Owned<fid_ep> endpoint_;
  fi_addr_t victim_ = FI_ADDR_UNSPEC;
};

std::vector<std::byte> message(const Header& header, Bytes payload) {
  std::vector<std::byte> bytes(sizeof header + payload.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  if (!payload.empty()) std::memcpy(bytes.data() + sizeof header, payload.data(), payload.size());
  return bytes;
}

TEST(Strangers, are_refused_and_counted) {
  InProcessJob job(3);
  const AttributeSetting attributes[] = {{"network", "ofi"}, {"log", "error"}, {"drain_timeout", "0.05"}};
  Runtime zero(job, 0, {.attributes = attributes});
  Runtime one(job, 1, {.attributes = attributes});
  Endpoint sender(zero);
  Endpoint victim(one);
  Counter arrived;
  const RemoteCompletion remote = one.expose(arrived, {.id = 1});
  const auto progress = [&] {
    sender.progress();
    victim.progress();
  };
  Stranger stranger(job);
  const auto from = [](std::uint32_t rank, std::uint8_t device, Kind kind) {
    return Header{0, rank, device, 1, kind, 0};
  };
  Hello hello{kMagic, kWireVersion, 64, 0, {}};
  Hello other_version = hello;
  other_version.version = kWireVersion + 1;
  Hello other_job = hello;
  std::strcpy(other_job.job_id.data(), "somebody else's");
  const std::vector<std::vector<std::byte>> refused = {
      std::vector<std::byte>(3),
      message(from(3, 0, Kind::data), {}),
      message(from(0xffffffff, 0, Kind::hello), bytes_of(hello)),
      message(from(2, 0, Kind::data), {}),
      message(from(2, 255, Kind::goodbye), {}),
      message(from(2, 0, Kind::credit), bytes_of(Credit{{1, 1}, 1, {}})),
      message(from(2, 0, Kind::hello), {}),
      message(from(2, 0, Kind::hello), bytes_of(other_version)),
      message(from(2, 0, Kind::hello), bytes_of(other_job)),
      message(from(2, 0, static_cast<Kind>(77)), {}),
  };
  for (std::size_t next = 0; next < refused.size(); ++next) {
    const std::uint64_t before = one.counters().refused_messages;
    stranger.send(refused[next], progress);
    EXPECT_TRUE(test::until([&] { return one.counters().refused_messages == before + 1; }, progress)) << next;
  }
  ASSERT_TRUE(test::until([&] { return sender.post_am(1, remote, {}).is_accepted(); }, progress));
  ASSERT_TRUE(test::until([&] { return arrived.value() == 1; }, progress));
}

TEST(Providers, that_do_not_exist_are_named_with_those_that_do) {
  const auto error_of = [](const char* name, const char* value) {
    InProcessJob job(1);
    const AttributeSetting attributes[] = {{"network", "ofi"}, {name, value}};
    try {
      Runtime runtime(job, 0, {.attributes = attributes});
    } catch (const Error& error) {
      return std::string(error.what());
    }
    return std::string("no error");
  };
  const std::string provider = error_of("ofi_provider", "carrier pigeons");
  EXPECT_NE(provider.find("\"carrier pigeons\""), std::string::npos) << provider;
  EXPECT_NE(provider.find(usable_providers("127.0.0.1").front()), std::string::npos) << provider;
  const std::string address = error_of("ofi_address", "localhost");
  EXPECT_NE(address.find("ofi_address is \"localhost\""), std::string::npos) << address;
}

}  // namespace
}  // namespace weft::network::ofi
