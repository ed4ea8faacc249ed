// What the kernel says of another thread of this process.
#pragma once

#include <cstdint>

#include <pthread.h>
#include <sys/types.h>

namespace weft::parcel {

/// Nanoseconds that the thread has run; -1: unknown.
[[nodiscard]] std::int64_t processor_time_of(pthread_t thread) noexcept;
/// Whether it sleeps in the kernel, rather than runs, waits for a processor, or is stopped. Where that cannot
/// be known it is taken to.
[[nodiscard]] bool is_asleep(pid_t kernel_id) noexcept;

}  // namespace weft::parcel
