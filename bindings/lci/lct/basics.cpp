// Time, text and threads.
#include <lct.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>

extern "C" {

LCT_time_t LCT_now() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
double LCT_time_to_ns(LCT_time_t time) { return static_cast<double>(time); }
double LCT_time_to_us(LCT_time_t time) { return static_cast<double>(time) / 1e3; }
double LCT_time_to_ms(LCT_time_t time) { return static_cast<double>(time) / 1e6; }
double LCT_time_to_s(LCT_time_t time) { return static_cast<double>(time) / 1e9; }

static const char* replace(const char* in, const char* from, const char* to, bool all) {
  std::string text(in);
  const std::size_t length = std::strlen(from);
  for (std::size_t at = 0; length != 0 && (at = text.find(from, at)) != std::string::npos;) {
    text.replace(at, length, to);
    at += std::strlen(to);
    if (!all) break;
  }
  return strdup(text.c_str());
}
const char* LCT_str_replace_one(const char* in, const char* from, const char* to) {
  return replace(in, from, to, false);
}
const char* LCT_str_replace_all(const char* in, const char* from, const char* to) {
  return replace(in, from, to, true);
}

int LCT_str_int_search(LCT_dict_str_int_t dict[], int count, const char* key, int default_val, int* val) {
  for (int index = 0; index < count; ++index) {
    const char* const known = dict[index].key;
    if (known == key || (known != nullptr && key != nullptr && std::strcmp(known, key) == 0)) {
      *val = dict[index].val;
      return 1;
    }
  }
  *val = default_val;
  return 0;
}

uint64_t LCT_parse_arg(LCT_dict_str_int_t dict[], int count, const char* key, const char* delimiter) {
  std::uint64_t values = 0;
  std::string_view rest(key);
  while (!rest.empty()) {
    const std::string word(rest.substr(0, rest.find(delimiter)));
    rest.remove_prefix(std::min(rest.size(), word.size() + std::strlen(delimiter)));
    int value = 0;
    if (LCT_str_int_search(dict, count, word.c_str(), 0, &value) == 0)
      LCT_Warn(LCT_log_ctx_default, "'%s' is not known, and is ignored\n", word.c_str());
    values |= static_cast<std::uint64_t>(value);
  }
  return values;
}

ssize_t LCT_read_file(char* buffer, size_t max, const char* filename_fmt, ...) {
  char name[PATH_MAX];
  std::va_list values;
  va_start(values, filename_fmt);
  const int length = std::vsnprintf(name, sizeof name, filename_fmt, values);
  va_end(values);
  if (length < 0 || static_cast<std::size_t>(length) >= sizeof name) return -1;
  std::FILE* const file = std::fopen(name, "r");
  if (file == nullptr) return -1;
  const std::size_t count = std::fread(buffer, 1, max, file);
  const bool is_wrong = std::ferror(file) != 0;
  std::fclose(file);
  return is_wrong ? -1 : static_cast<ssize_t>(count);
}

static std::atomic<int> threads{0};
int LCT_get_thread_id() {
  static thread_local const int id = threads.fetch_add(1, std::memory_order_relaxed);
  return id;
}
int LCT_get_nthreads() { return threads.load(std::memory_order_relaxed); }

namespace {
struct Barrier {
  const std::int64_t threads;
  std::atomic<std::int64_t> arrived{0};
};
}  // namespace

LCT_tbarrier_t LCT_tbarrier_alloc(int nthreads) { return new Barrier{nthreads > 0 ? nthreads : 1}; }
void LCT_tbarrier_free(LCT_tbarrier_t* tbarrier_p) {
  delete static_cast<Barrier*>(*tbarrier_p);
  *tbarrier_p = nullptr;
}
int64_t LCT_tbarrier_arrive(LCT_tbarrier_t tbarrier) {
  Barrier& barrier = *static_cast<Barrier*>(tbarrier);
  const std::int64_t ticket = barrier.arrived.fetch_add(1, std::memory_order_acq_rel);
  return (ticket / barrier.threads + 1) * barrier.threads;
}
bool LCT_tbarrier_test(LCT_tbarrier_t tbarrier, int64_t ticket) {
  return static_cast<Barrier*>(tbarrier)->arrived.load(std::memory_order_acquire) >= ticket;
}
void LCT_tbarrier_wait(LCT_tbarrier_t tbarrier, int64_t ticket) {
  for (int polls = 0; !LCT_tbarrier_test(tbarrier, ticket); ++polls)
    if (polls > 100) std::this_thread::yield();
}
void LCT_tbarrier_arrive_and_wait(LCT_tbarrier_t tbarrier) {
  LCT_tbarrier_wait(tbarrier, LCT_tbarrier_arrive(tbarrier));
}

}  // extern "C"
