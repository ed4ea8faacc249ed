// Copies of CUDA beside the streams of the program.
#pragma once

#include <weft/accelerator/accelerator_stream.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "accelerator/cuda/driver.hpp"

namespace weft::accelerator::cuda {

/// A stream of its own, which does not wait for the default stream, with an event after each copy.
class CudaCopies final : public AcceleratorCopies {
 public:
  CudaCopies(const Driver& driver, Context context);
  /// Waits for the copies.
  ~CudaCopies() override;
  CudaCopies(const CudaCopies&) = delete;
  CudaCopies& operator=(const CudaCopies&) = delete;
  std::uint64_t begin(void* to, const void* from, std::size_t size) override;
  [[nodiscard]] bool has_ended(std::uint64_t number) override;

 private:
  const Driver& driver_;
  const Context context_;
  Stream stream_ = nullptr;
  std::deque<Event> under_way_;  // of the copies after the first ended_
  std::vector<Event> free_;
  std::uint64_t ended_ = 0;
};

}  // namespace weft::accelerator::cuda
