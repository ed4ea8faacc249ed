#include "unit/clock/session/scripted_peer.hpp"

namespace weft::network::session::test {

namespace {

constexpr NetworkIdentity kIdentity{"double", "hand", "nothing"};
constexpr std::size_t kMessageBytes = 4096;
constexpr std::array<std::byte, 3> kAddress{};

/// No message of a program or protocol: word and channel say nothing.
bool is_of_the_network(Kind kind) {
  return kind == Kind::hello || kind == Kind::credit || kind == Kind::ask || kind == Kind::handles ||
         kind == Kind::goodbye;
}

class NothingToCarry final : public Laden {
 public:
  [[nodiscard]] bool is_laden() const noexcept override { return false; }
  [[nodiscard]] std::uint64_t round() const noexcept override { return 0; }
  void carry() noexcept override {}
};
NothingToCarry nothing_to_carry;

}  // namespace

ScriptedPeer::ScriptedPeer(const How& how)
    : bootstraps_{hub_.join(0), hub_.join(1), hub_.join(2)},
      peers_(*bootstraps_[kOwn], kIdentity, kMessageBytes, log_),
      shared_{peers_, board_, log_, how.credits, how.first, how.adapts, how.held, how.stages, courier_},
      device_(std::make_unique<SessionDevice>(shared_, 0, std::move(owned_))) {
  // A courier that was stopped starts again for nobody.
  courier_.add(detail::DevicePath::kMaxDevices - 1, nothing_to_carry);
  courier_.stop();
  publish(kPeer);
}

ScriptedPeer::~ScriptedPeer() { courier_.stop(); }

void ScriptedPeer::publish(int rank, std::uint32_t device) {
  const auto index = static_cast<std::size_t>(rank);
  if (rank == kOwn) return peers_.publish(device, kAddress);
  if (others_[index] == nullptr)
    others_[index] = std::make_unique<Peers>(*bootstraps_[index], kIdentity, kMessageBytes, log_);
  others_[index]->publish(device, kAddress);
}

Hello ScriptedPeer::hello(std::uint32_t credits) const {
  Hello hello{kMagic, kWireVersion, credits, 0, {}};
  peers_.job_id().copy(hello.job_id.data(), hello.job_id.size() - 1);
  return hello;
}

std::vector<std::byte> ScriptedPeer::bytes_of_all(std::initializer_list<Bytes> parts) {
  std::vector<std::byte> all;
  for (const Bytes& each : parts) all.insert(all.end(), each.begin(), each.end());
  return all;
}

void ScriptedPeer::arrive_credit(std::uint32_t taken, std::uint32_t handles) {
  const Credit credit{{taken}, handles, {taken}};
  arrive(Kind::credit, bytes_of_one(credit));
}

SendResult ScriptedPeer::send(std::uint64_t word, TrafficClass traffic, std::size_t size, bool to_handle) {
  const std::vector<std::byte> payload(size, static_cast<std::byte>(word));
  return device_->send(
      {.peer = kPeer, .device = 0, .traffic = traffic, .channel = 7, .to_handle = to_handle, .word = word},
      payload);
}

Transmitted ScriptedPeer::greet(std::uint32_t credits) {
  arrive(Kind::hello, bytes_of_one(hello(credits)));
  poll();
  const auto said = take_sent(Kind::hello);
  EXPECT_EQ(said.size(), 1U);
  EXPECT_TRUE(take_rejected().empty());
  return said.empty() ? Transmitted{} : said.front();
}

std::vector<Transmitted> ScriptedPeer::take_sent(Kind kind) {
  std::vector<Transmitted> taken;
  std::erase_if(transport_.sent, [&](const Transmitted& each) {
    if (each.header.kind != kind) return false;
    if (is_of_the_network(kind)) {
      EXPECT_EQ(each.header.word, 0U);
      EXPECT_EQ(each.header.channel, 0);
      EXPECT_EQ(each.header.flags, 0);
      EXPECT_EQ(each.header.rank, static_cast<std::uint32_t>(kOwn));
    }
    taken.push_back(each);
    return true;
  });
  return taken;
}

}  // namespace weft::network::session::test
