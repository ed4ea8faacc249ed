// Threads that are no workers and sleep until something is there, for explanations.
#pragma once

#include <weft/parcel/waiter.hpp>

#include <cstdint>

namespace weft::parcel {

/// One of them, while it sleeps.
class ForeignWait {
 public:
  explicit ForeignWait(const WaitReason& why) noexcept;
  ~ForeignWait();
  ForeignWait(const ForeignWait&) = delete;
  ForeignWait& operator=(const ForeignWait&) = delete;
  /// Those of the process.
  static void for_each(void (*visit)(void* context, const ForeignWait& wait), void* context);

  const WaitReason reason;
  const std::int64_t since;  // as deadlines

 private:
  ForeignWait* next_ = nullptr;
  ForeignWait** before_ = nullptr;
};

}  // namespace weft::parcel
