#include "core/diagnosis/trace.hpp"

#include "base/rank_file.hpp"
#include "base/text/json_writer.hpp"
#include "base/uninterrupted.hpp"
#include "concurrent/thread_number.hpp"

#include <weft/error.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <new>

namespace weft::core {

namespace {

constexpr std::string_view kFileInFolder = "weft-trace-%r.json";

int open_to_write(const std::string& path) noexcept {
  return base::uninterrupted(
      [&path] { return ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644); });
}

/// Formats microseconds, Chrome's unit, without the rounding of a double.
std::string microseconds(std::int64_t nanoseconds) {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%lld.%03d", static_cast<long long>(nanoseconds / 1000),
                static_cast<int>(nanoseconds % 1000));
  return digits;
}

std::string hexadecimal(std::uint64_t value) {
  char digits[24];
  std::snprintf(digits, sizeof digits, "0x%llx", static_cast<unsigned long long>(value));
  return digits;
}

/// Writes the events of one rank, one per line, so that files can be merged line by line.
class Writer {
 public:
  Writer(std::string& text, int rank) : text_(text), rank_(rank) {}

  void name(const char* kind, std::uint32_t thread, std::string_view value) {
    line([&](base::JsonWriter& json) {
      json.name("ph").text("M");
      json.name("name").text(kind);
      process_and_thread(json, thread);
      json.name("args").begin_object();
      json.name("name").text(value);
      json.end_object();
    });
  }

  void event(const TraceEvent& event, std::uint32_t thread) {
    line([&](base::JsonWriter& json) {
      head(json, event, thread);
      switch (event.phase) {
        case TraceEvent::Phase::slice:
          json.name("ph").text("X");
          json.name("dur").literal(microseconds(event.duration_ns));
          break;
        case TraceEvent::Phase::instant:
          json.name("ph").text("i");
          json.name("s").text("t");
          break;
        case TraceEvent::Phase::begin:
        case TraceEvent::Phase::end:
          json.name("ph").text(event.phase == TraceEvent::Phase::begin ? "b" : "e");
          json.name("id2").begin_object();
          json.name("local").text(hexadecimal(event.id));
          json.end_object();
          break;
      }
      arguments(json, event);
    });
    if (event.flow != 0) flow(event, thread);
  }

 private:
  template <class Write>
  void line(const Write& write) {
    if (!is_first_) text_ += ",\n";
    is_first_ = false;
    base::JsonWriter json(text_);
    json.begin_object();
    write(json);
    json.end_object();
  }
  void process_and_thread(base::JsonWriter& json, std::uint32_t thread) const {
    json.name("pid").number(std::int64_t{rank_});
    json.name("tid").number(std::uint64_t{thread});
  }
  void head(base::JsonWriter& json, const TraceEvent& event, std::uint32_t thread) const {
    json.name("name").text(event.name);
    json.name("cat").text(event.category);
    process_and_thread(json, thread);
    json.name("ts").literal(microseconds(event.begin_ns));
  }
  /// Writes an arrow from the sender's slice to the receiver's; its times bind it to both.
  void flow(const TraceEvent& event, std::uint32_t thread) {
    line([&](base::JsonWriter& json) {
      json.name("name").text("message");
      json.name("cat").text("message");
      process_and_thread(json, thread);
      json.name("ts").literal(microseconds(event.begin_ns));
      json.name("ph").text(event.is_flow_end ? "f" : "s");
      if (event.is_flow_end) json.name("bp").text("e");
      json.name("id").text(hexadecimal(event.flow));
    });
  }
  static void arguments(base::JsonWriter& json, const TraceEvent& event) {
    json.name("args").begin_object();
    json.name("device").number(std::uint64_t{event.device});
    if (event.peer != TraceEvent::kNobody) json.name("peer").number(std::int64_t{event.peer});
    if (event.has_tag) json.name("tag").number(event.tag);
    if (event.has_size) json.name("size").number(event.size);
    if (event.detail != nullptr)
      json.name("detail").text(event.line == 0
                                   ? std::string(event.detail)
                                   : std::string(event.detail) + ":" + std::to_string(event.line));
    if (event.times != 1) {
      json.name("times").number(std::uint64_t{event.times});
      json.name("until").literal(microseconds(event.begin_ns + event.duration_ns));
    }
    json.end_object();
  }

  std::string& text_;
  const int rank_;
  bool is_first_ = true;
};

}  // namespace

Tracer::Tracer(std::string_view where, std::uint32_t events_per_thread, int rank, int size,
               std::string_view job)
    : capacity_(events_per_thread),
      rank_(rank),
      size_(size),
      path_(base::rank_file_name(where, kFileInFolder, rank, size, job)) {
  const int file = open_to_write(path_);
  if (file < 0)
    throw Error(ErrorClass::attribute,
                "WEFT_TRACE=" + std::string(where) + " is not valid: \"" + path_ +
                    "\" cannot be written: " + std::strerror(errno) +
                    "; it must be off, on, or a file (%r: rank) or folder that can be written");
  ::close(file);
}

Tracer::~Tracer() {
  for (auto& buffer : buffers_) delete buffer.load(std::memory_order_acquire);
}

Tracer::Buffer* Tracer::own_buffer() noexcept {
  const std::uint32_t thread = concurrent::thread_number();
  if (thread >= kThreads) return nullptr;
  static_assert(kThreads <= concurrent::kReusedNumbers, "buffers have one owner at a time");
  // Only the thread with this number makes it; an earlier thread with the number has ended.
  Buffer* buffer = buffers_[thread].load(std::memory_order_acquire);
  if (buffer == nullptr) try {
      buffer = new Buffer(capacity_);
      buffers_[thread].store(buffer, std::memory_order_release);
    } catch (const std::bad_alloc&) {
    }
  return buffer;
}

void Tracer::add(const TraceEvent& event) noexcept {
  Buffer* buffer = own_buffer();
  if (buffer == nullptr) {
    dropped_.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  const std::uint32_t count = buffer->count.load(std::memory_order_relaxed);
  if (count == capacity_) {
    buffer->dropped.fetch_add(1, std::memory_order_relaxed);
    return;
  }
  buffer->events[count] = event;
  buffer->count.store(count + 1, std::memory_order_release);
}

void Tracer::add_repeating(const TraceEvent& event) noexcept {
  Buffer* buffer = own_buffer();
  const std::uint32_t count = buffer != nullptr ? buffer->count.load(std::memory_order_relaxed) : 0;
  if (count == 0 || count == capacity_) return add(event);
  TraceEvent& last = buffer->events[count - 1];
  if (last.phase != event.phase || last.name != event.name || last.detail != event.detail ||
      last.peer != event.peer || last.device != event.device || last.tag != event.tag)
    return add(event);
  // The lock keeps write() from reading the event while it changes.
  const std::lock_guard lock(writing_);
  ++last.times;
  last.duration_ns = event.begin_ns - last.begin_ns;
}

std::string Tracer::text() const {
  std::string text = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";
  Writer writer(text, rank_);
  writer.name("process_name", 0, "rank " + std::to_string(rank_));
  std::uint64_t dropped = dropped_.load(std::memory_order_relaxed);
  std::uint64_t kept = 0;
  for (std::uint32_t thread = 0; thread < kThreads; ++thread) {
    const Buffer* buffer = buffers_[thread].load(std::memory_order_acquire);
    if (buffer == nullptr) continue;
    writer.name("thread_name", thread, "thread " + std::to_string(thread));
    const std::uint32_t count = buffer->count.load(std::memory_order_acquire);
    for (std::uint32_t index = 0; index < count; ++index) writer.event(buffer->events[index], thread);
    kept += count;
    dropped += buffer->dropped.load(std::memory_order_relaxed);
  }
  text += "\n],\n\"otherData\":";
  base::JsonWriter json(text);
  json.begin_object();
  json.name("rank").number(std::int64_t{rank_});
  json.name("size").number(std::int64_t{size_});
  json.name("events").number(kept);
  json.name("dropped_events").number(dropped);
  json.name("clock").text("CLOCK_MONOTONIC");
  json.end_object();
  return text + "}\n";
}

void trace_operation(Tracer& tracer, std::uint32_t device, TraceEvent::Phase phase, const char* name,
                     int peer, std::uint64_t size, std::uint64_t id, const char* detail) noexcept {
  TraceEvent event;
  event.phase = phase;
  event.device = static_cast<std::uint8_t>(device);
  event.peer = peer;
  event.category = phase == TraceEvent::Phase::instant ? "completion" : "operation";
  event.name = name;
  event.detail = detail;
  event.begin_ns = base::now_ns();
  event.has_size = true;
  event.size = size;
  // Each device numbers its operations separately.
  event.id = std::uint64_t{device} << 56 | (id & 0xffffffffffffff);
  tracer.add(event);
}

bool Tracer::write() noexcept try {
  const std::lock_guard lock(writing_);
  const std::string content = text();
  const int file = open_to_write(path_);
  if (file < 0) return false;
  std::size_t written = 0;
  while (written < content.size()) {
    const ssize_t count = ::write(file, content.data() + written, content.size() - written);
    if (count < 0 && errno != EINTR) break;
    if (count > 0) written += static_cast<std::size_t>(count);
  }
  return ::close(file) == 0 && written == content.size();
} catch (const std::bad_alloc&) {
  return false;
}

}  // namespace weft::core
