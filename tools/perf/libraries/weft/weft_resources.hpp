// The resources of weft that threads share, measured one at a time, as in the LCI paper.
#pragma once

#include <weft/testing/in_process_job.hpp>
#include <weft/weft.hpp>

#include <cstdint>

#include "core/matching/matching_engine.hpp"
#include "perf/measure/task.hpp"

namespace weft::tools::perf {

// A resource is shared by all threads. Its User belongs to one thread; round() makes kOperations operations
// and returns the number of errors, as far as it checks.

/// Push and pop of a message of 8 bytes on one queue; both together are one operation. Every thread pops as
/// many as it pushes.
template <class Queue>
class QueueResource {
 public:
  static constexpr std::uint64_t kOperations = 64;

  class User {
   public:
    User(QueueResource& resource, std::uint32_t thread)
        : queue_(resource.queue_), number_(std::uint64_t{thread} << 24) {}
    std::uint64_t round(bool verify);

   private:
    Queue& queue_;
    std::uint64_t number_;
    Message pushed_;
    Message popped_;
  };

 private:
  Queue queue_;
};

/// Receives, and the arrivals that match them, in the table of one matching engine; a receive with its
/// arrival is one operation. Every thread has tags of its own.
template <bool kIsSerial>
class MatchingResource {
 public:
  static constexpr std::uint64_t kOperations = 64;

  class User {
   public:
    User(MatchingResource& resource, std::uint32_t thread)
        : engine_(resource.engine_), first_tag_(std::uint64_t{thread} << 32) {}
    std::uint64_t round(bool verify);

   private:
    core::MatchingEngine& engine_;
    const std::uint64_t first_tag_;
  };

 private:
  core::MatchingEngine engine_{0, {16384, 1U << 20}, kIsSerial};
};

/// Packets of one runtime's pool, acquired and released; both together are one operation.
class PacketResource {
 public:
  static constexpr std::uint64_t kOperations = 64;

  class User {
   public:
    User(PacketResource& resource, std::uint32_t) : device_(resource.device_) {}
    std::uint64_t round(bool verify);

   private:
    Device& device_;
  };

 private:
  InProcessJob job_{1};
  Runtime runtime_{job_, 0};
  Device device_{runtime_, {.index = 0}};
};

}  // namespace weft::tools::perf
