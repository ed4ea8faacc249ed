// One rank of the test of lanes that devices share: shared_lanes_rank --devices N.
#include "support/rank_program.hpp"

namespace {

using namespace weft;
using test::require;

}  // namespace

int main(int count, char** arguments) {
  const auto number = static_cast<std::size_t>(std::stoul(test::option(count, arguments, "devices", "2")));
  Runtime runtime;
  const auto ranks = static_cast<std::uint64_t>(runtime.size());
  Endpoint service(runtime);
  std::uint64_t sum = 0;
  std::uint64_t arrived = 0;
  Handler handler([&](Message& message) {
    std::uint64_t value = 0;
    std::memcpy(&value, message.data(), sizeof value);
    sum += value;
    ++arrived;
  });
  const RemoteCompletion remote = runtime.expose(handler, {.id = 1});
  std::vector<std::unique_ptr<Device>> devices;
  std::vector<std::unique_ptr<Endpoint>> endpoints;
  for (std::size_t device = 1; device < number; ++device) {
    devices.push_back(std::make_unique<Device>(runtime));
    endpoints.push_back(std::make_unique<Endpoint>(*devices.back()));
  }
  Collective collective(runtime, service);
  require(collective.barrier() == Outcome::ok, "a barrier failed");
  // From all devices to all ranks.
  std::uint64_t value = 0;
  const auto send = [&](Endpoint& endpoint) {
    for (int peer = 0; peer < runtime.size(); ++peer) {
      const std::uint64_t sent = value * ranks + static_cast<std::uint64_t>(runtime.rank());
      while (endpoint.post_am(peer, remote, bytes_of(sent)).is_retry()) {
        endpoint.progress();
        service.progress();
      }
    }
    ++value;
  };
  send(service);
  for (auto& endpoint : endpoints) send(*endpoint);
  const std::uint64_t all = number * ranks;
  service.wait_until([&] { return arrived == all; });
  require(sum == all * (all - 1) / 2, "other values");
  std::vector<std::uint64_t> ones(100, 1);
  std::vector<std::uint64_t> sums(100);
  require(collective.allreduce(ones, sums, operators::Sum{}) == Outcome::ok && sums[99] == ranks,
          "a wrong sum");
  std::printf("all arrived\n");
  // Devices whose messages have not been read wait for their receivers as they close.
  require(collective.barrier() == Outcome::ok, "a barrier failed");
}
