// A trace of a runtime's actions and their times, for chrome://tracing and Perfetto. Exists only when the
// attribute `trace` asks for it.
//
// Each thread writes into a bounded buffer of its own; the file is written at the end, or on request.
#pragma once

#include "base/clock.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

namespace weft::core {

struct TraceEvent {
  enum class Phase : std::uint8_t {
    slice,    // lasts from begin_ns for duration_ns, on its thread
    instant,  // at begin_ns; `times` of the same kind until duration_ns later
    begin,    // of an operation that does not occupy a thread; ends with the same `id`
    end,
  };
  static constexpr std::int32_t kNobody = -1;

  Phase phase = Phase::instant;
  bool has_tag = false;
  bool has_size = false;
  bool is_flow_end = false;  // `flow` ends here
  std::uint8_t device = 0;   // of this rank
  std::int32_t peer = kNobody;
  std::uint32_t times = 1;    // of an instant
  std::uint32_t line = 0;     // line number, when `detail` is a file
  const char* category = "";  // static text, like the next two
  const char* name = "";
  const char* detail = nullptr;  // its result, or the file of its call; null: none
  std::int64_t begin_ns = 0;
  std::int64_t duration_ns = 0;
  std::uint64_t tag = 0;
  std::uint64_t size = 0;  // bytes, or a count
  std::uint64_t id = 0;    // of an operation, unique among those of its name that are in progress
  std::uint64_t flow = 0;  // links an event of the sender with one of the receiver; 0: none
};

class Tracer {
 public:
  /// `where`: the attribute's value: "on", a file, or an existing folder. In it %r stands for the rank, %p
  /// for the process, %j for the job. The file is created here. Throws weft::Error when that is impossible.
  Tracer(std::string_view where, std::uint32_t events_per_thread, int rank, int size, std::string_view job);
  ~Tracer();
  Tracer(const Tracer&) = delete;
  Tracer& operator=(const Tracer&) = delete;

  /// Adds an event. Any thread. When the thread's buffer is full the event is dropped and counted.
  void add(const TraceEvent& event) noexcept;
  /// Adds an instant that may repeat: counts it in the thread's last event when that is the same but for its
  /// time.
  void add_repeating(const TraceEvent& event) noexcept;

  /// Writes the events so far; rewrites the whole file. Any thread. Returns false when the file could not be
  /// written.
  bool write() noexcept;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }

  /// The numbers of messages for `flow` are known only while one device sends: another rank sees in which
  /// order the messages of a device arrive, but not from which device they come.
  void device_opened() noexcept { devices_.fetch_add(1, std::memory_order_relaxed); }
  [[nodiscard]] bool has_one_device() const noexcept { return devices_.load(std::memory_order_relaxed) == 1; }

 private:
  static constexpr std::uint32_t kThreads = 1024;

  struct Buffer {
    explicit Buffer(std::uint32_t capacity) : events(new TraceEvent[capacity]) {}
    std::unique_ptr<TraceEvent[]> events;
    std::atomic<std::uint32_t> count{0};  // published with release by the thread that owns the buffer
    std::atomic<std::uint64_t> dropped{0};
  };

  Buffer* own_buffer() noexcept;
  [[nodiscard]] std::string text() const;

  const std::uint32_t capacity_;
  const int rank_;
  const int size_;
  const std::string path_;
  std::array<std::atomic<Buffer*>, kThreads> buffers_{};  // by thread number
  std::atomic<std::uint64_t> dropped_{0};                 // events of threads without a buffer
  std::atomic<std::uint32_t> devices_{0};
  std::mutex writing_;
};

void trace_operation(Tracer& tracer, std::uint32_t device, TraceEvent::Phase phase, const char* name,
                     int peer, std::uint64_t size, std::uint64_t id, const char* detail) noexcept;

}  // namespace weft::core
