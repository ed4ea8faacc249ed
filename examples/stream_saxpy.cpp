// The third example of the paper on MPIX streams: x travels round the ranks in the order of an accelerator's
// stream, between a kernel that fills it and one that adds a x to y. The program enqueues everything and
// waits once, at the end.
//
// The accelerator is imitated by a thread, so that the program runs everywhere.
#include <weft/stream/stream_queue.hpp>
#include <weft/testing/fake_stream.hpp>
#include <weft/weft.hpp>

#include <cstdio>
#include <vector>

int main() try {
  constexpr std::size_t kCount = 100'000;
  constexpr float kFactor = 2.0F;
  weft::Runtime runtime;
  const int rank = runtime.rank();
  const int size = runtime.size();

  weft::Stream stream{runtime};
  weft::StreamGroup group{runtime, stream};
  weft::FakeStream gpu;
  weft::StreamQueue queue{group, 0, gpu};
  const auto allocate = [] {
    return static_cast<float*>(weft::FakeStream::allocate_device(kCount * sizeof(float)));
  };
  float* const x = allocate();
  float* const received = allocate();
  float* const y = allocate();
  // Kernels find device memory by view(); the host cannot touch it.
  const auto view = [](float* memory) { return static_cast<float*>(weft::FakeStream::view(memory)); };
  std::vector<float> result(kCount);

  gpu.launch([=] {
    for (std::size_t index = 0; index < kCount; ++index) {
      view(x)[index] = static_cast<float>(rank) + static_cast<float>(index % 10);
      view(y)[index] = 1.0F;
    }
  });
  const weft::StreamRequest sent = queue.start_send({(rank + 1) % size, 0}, 1, x, kCount * sizeof(float));
  queue.post_receive({(rank + size - 1) % size, 0}, 1, received, kCount * sizeof(float));
  gpu.launch([=] {
    for (std::size_t index = 0; index < kCount; ++index) view(y)[index] += kFactor * view(received)[index];
  });
  queue.wait(sent);
  gpu.copy(result.data(), y, kCount * sizeof(float));

  const weft::Outcome outcome = queue.wait_ended();
  if (outcome != weft::Outcome::ok) {
    std::fprintf(stderr, "%s\n", queue.error().c_str());
    return 1;
  }
  const auto before = static_cast<float>((rank + size - 1) % size);
  for (std::size_t index = 0; index < kCount; ++index)
    if (result[index] != 1.0F + kFactor * (before + static_cast<float>(index % 10))) {
      std::fprintf(stderr, "element %zu is %g\n", index, static_cast<double>(result[index]));
      return 1;
    }
  for (float* const memory : {x, received, y}) weft::FakeStream::free_device(memory);
  std::printf("rank %d: y is right\n", rank);
} catch (const weft::Error& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 1;
}
