// Parcels: every rank sends its neighbour a header with three arrays, which travel without a copy into memory
// that the neighbour chooses once it has read the header.
#include <weft/weft.hpp>

#include <array>
#include <cstdio>
#include <memory>
#include <numeric>
#include <vector>

namespace {

constexpr std::uint64_t kParcels = 100;

struct Header {
  std::uint64_t number;
  std::uint64_t sum;  // of all elements
};

/// What a parcel becomes at its receiver.
struct Received {
  std::array<std::vector<std::uint64_t>, 3> arrays;
};

}  // namespace

int main() try {
  weft::Runtime runtime;
  weft::Endpoint endpoint{runtime};

  std::uint64_t taken = 0;
  std::uint64_t wrong = 0;
  // The parts have arrived; the message still has the header.
  weft::Handler whole([&](weft::Message& message) {
    const std::unique_ptr<Received> received(static_cast<Received*>(message.user_data()));
    std::uint64_t sum = 0;
    for (const auto& array : received->arrays) sum = std::accumulate(array.begin(), array.end(), sum);
    if (message.outcome() != weft::Outcome::ok || message.as<Header>().sum != sum) ++wrong;
    ++taken;
  });
  // The header has arrived, and how long the parts are.
  weft::Handler parcels([&](weft::Message& message) {
    auto received = std::make_unique<Received>();
    std::array<weft::MutableBytes, 3> buffers;
    for (std::size_t index = 0; index < buffers.size(); ++index) {
      received->arrays[index].resize(message.part_sizes()[index] / sizeof(std::uint64_t));
      buffers[index] = std::as_writable_bytes(std::span(received->arrays[index]));
    }
    endpoint.receive_parts(std::move(message), buffers, whole, received.release());
  });
  const weft::RemoteCompletion remote = runtime.expose(parcels, {.id = 1});

  const int neighbour = (runtime.rank() + 1) % runtime.size();
  for (std::uint64_t number = 0; number < kParcels; ++number) {
    // A short one, a long one, and one that is empty at times.
    const std::array<std::vector<std::uint64_t>, 3> arrays = {std::vector<std::uint64_t>(3, number),
                                                              std::vector<std::uint64_t>(50'000, number + 1),
                                                              std::vector<std::uint64_t>(number % 4, 7)};
    Header header{number, 0};
    std::array<weft::Bytes, 3> parts;
    for (std::size_t index = 0; index < parts.size(); ++index) {
      header.sum = std::accumulate(arrays[index].begin(), arrays[index].end(), header.sum);
      parts[index] = weft::bytes_of(arrays[index]);
    }
    weft::Counter sent;
    while (
        endpoint.post_am(neighbour, remote, weft::bytes_of(header), parts, {.completion = &sent}).is_retry())
      endpoint.progress();
    endpoint.wait(sent, 1);  // from here on the arrays may be changed
  }
  endpoint.wait_until([&] { return taken == kParcels; });
  std::printf("rank %d: %d parcels, %d wrong\n", runtime.rank(), static_cast<int>(taken),
              static_cast<int>(wrong));
  runtime.barrier();
  return wrong == 0 ? 0 : 1;
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
