// Performance counters, queues and command lines.
#include <lct.h>

#include <atomic>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace {

struct PerformanceCounter {
  std::string name;
  LCT_pcounter_type_t type;
  std::atomic<std::int64_t> events{0};
  std::atomic<std::int64_t> sum{0};
};

struct CounterContext {
  static constexpr int kMost = 1024;
  std::string name;
  std::mutex mutex;
  std::atomic<int> count{0};
  std::unique_ptr<PerformanceCounter> counters[kMost];

  PerformanceCounter* at(LCT_pcounter_handle_t handle) {
    return handle.idx >= 0 && handle.idx < count.load(std::memory_order_acquire) ? counters[handle.idx].get()
                                                                                 : nullptr;
  }
};

void add(LCT_pcounter_ctx_t context, LCT_pcounter_handle_t handle, std::int64_t events, std::int64_t sum) {
  PerformanceCounter* const counter = static_cast<CounterContext*>(context)->at(handle);
  if (counter == nullptr) return;
  counter->events.fetch_add(events, std::memory_order_relaxed);
  counter->sum.fetch_add(sum, std::memory_order_relaxed);
}

void write(const CounterContext& context, std::FILE* out, bool only_trends) {
  for (int index = 0; index < context.count.load(std::memory_order_acquire); ++index) {
    const PerformanceCounter& counter = *context.counters[index];
    if (only_trends && counter.type != LCT_PCOUNTER_TREND) continue;
    const double sum = static_cast<double>(counter.sum.load(std::memory_order_relaxed));
    const double events = static_cast<double>(counter.events.load(std::memory_order_relaxed));
    const bool is_time = counter.type == LCT_PCOUNTER_TIMER;
    std::fprintf(out, "pcounter,%s,%s,%d,%s,%.0f,%.3f,%.3f%s\n", context.name.c_str(), LCT_hostname, LCT_rank,
                 counter.name.c_str(), events, is_time ? sum / 1e3 : sum,
                 events == 0 ? 0 : (is_time ? sum / 1e3 : sum) / events, is_time ? ",us" : "");
  }
}

struct Option {
  std::string name;
  bool has_value;
  int* value;
  std::vector<LCT_dict_str_int_t> words;
};
using Options = std::vector<Option>;

[[noreturn]] void refuse(const char* program, const std::string& what) {
  std::fprintf(stderr, "%s: %s\n", program, what.c_str());
  std::exit(2);
}

void set(const char* program, const Option& option, const char* text) {
  for (const LCT_dict_str_int_t& word : option.words)
    if (std::strcmp(word.key, text) == 0) {
      *option.value = word.val;
      return;
    }
  char* end = nullptr;
  const long value = std::strtol(text, &end, 0);
  if (*text == '\0' || *end != '\0' || value < INT_MIN || value > INT_MAX)
    refuse(program, "--" + option.name + " is '" + text + "': it must be a number" +
                        (option.words.empty() ? "" : ", or a word that it knows"));
  *option.value = static_cast<int>(value);
}

}  // namespace

struct LCT_queue_opaque_t {
  std::mutex mutex;
  std::deque<void*> values;
};

extern "C" {

LCT_pcounter_ctx_t LCT_pcounter_ctx_alloc(const char* ctx_name) {
  auto* const context = new CounterContext;
  context->name = ctx_name;
  return context;
}
void LCT_pcounter_ctx_free(LCT_pcounter_ctx_t* pcounter_ctx) {
  delete static_cast<CounterContext*>(*pcounter_ctx);
  *pcounter_ctx = nullptr;
}
LCT_pcounter_handle_t LCT_pcounter_register(LCT_pcounter_ctx_t pcounter_ctx, const char* name,
                                            LCT_pcounter_type_t type) {
  CounterContext& context = *static_cast<CounterContext*>(pcounter_ctx);
  const std::lock_guard lock(context.mutex);
  const int index = context.count.load(std::memory_order_relaxed);
  if (index == CounterContext::kMost) {
    std::fprintf(stderr,
                 "lct: the performance counter '%s' is one more than the 1024 of %s: it is not kept\n", name,
                 context.name.c_str());
    return {LCT_PCOUNTER_NONE, -1};
  }
  context.counters[index] = std::make_unique<PerformanceCounter>();
  context.counters[index]->name = name;
  context.counters[index]->type = type;
  context.count.store(index + 1, std::memory_order_release);
  return {type, index};
}
void LCT_pcounter_add(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle, int64_t val) {
  add(pcounter_ctx, handle, 1, val);
}
void LCT_pcounter_start(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle) {
  add(pcounter_ctx, handle, 0, -LCT_now());
}
void LCT_pcounter_end(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle) {
  add(pcounter_ctx, handle, 1, LCT_now());
}
void LCT_pcounter_startt(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle, LCT_time_t time) {
  add(pcounter_ctx, handle, 0, -time);
}
void LCT_pcounter_endt(LCT_pcounter_ctx_t pcounter_ctx, LCT_pcounter_handle_t handle, LCT_time_t time) {
  add(pcounter_ctx, handle, 1, time);
}
void LCT_pcounter_record(LCT_pcounter_ctx_t pcounter_ctx) {
  write(*static_cast<CounterContext*>(pcounter_ctx), stderr, true);
}
void LCT_pcounter_dump(LCT_pcounter_ctx_t pcounter_ctx, FILE* out) {
  write(*static_cast<CounterContext*>(pcounter_ctx), out, false);
}

LCT_queue_t LCT_queue_alloc(LCT_queue_type_t, size_t) { return new LCT_queue_opaque_t; }
void LCT_queue_free(LCT_queue_t* queue_p) {
  delete *queue_p;
  *queue_p = nullptr;
}
void LCT_queue_push(LCT_queue_t queue, void* val) {
  const std::lock_guard lock(queue->mutex);
  queue->values.push_back(val);
}
void* LCT_queue_pop(LCT_queue_t queue) {
  const std::lock_guard lock(queue->mutex);
  if (queue->values.empty()) return nullptr;
  void* const value = queue->values.front();
  queue->values.pop_front();
  return value;
}

LCT_args_parser_t LCT_args_parser_alloc() { return new Options; }
void LCT_args_parser_free(LCT_args_parser_t parser) { delete static_cast<Options*>(parser); }
void LCT_args_parser_add(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr) {
  static_cast<Options*>(parser)->push_back({name, has_arg != 0, ptr, {}});
}
void LCT_args_parser_add_dict(LCT_args_parser_t parser, const char* name, int has_arg, int* ptr,
                              LCT_dict_str_int_t dict[], int count) {
  static_cast<Options*>(parser)->push_back({name, has_arg != 0, ptr, {dict, dict + count}});
}
void LCT_args_parser_parse(LCT_args_parser_t parser, int argc, char* argv[]) {
  const Options& options = *static_cast<Options*>(parser);
  for (int index = 1; index < argc; ++index) {
    const std::string text = argv[index];
    const std::size_t equals = text.find('=');
    const std::string name = text.substr(0, equals);
    const Option* found = nullptr;
    for (const Option& option : options)
      if (name == "--" + option.name) found = &option;
    if (found == nullptr) refuse(argv[0], "'" + text + "' is not known");
    if (equals != std::string::npos)
      set(argv[0], *found, text.c_str() + equals + 1);
    else if (!found->has_value)
      *found->value = 1;
    else if (++index == argc)
      refuse(argv[0], name + " needs a value");
    else
      set(argv[0], *found, argv[index]);
  }
}
void LCT_args_parser_print(LCT_args_parser_t parser, bool verbose) {
  for (const Option& option : *static_cast<Options*>(parser)) {
    std::printf("--%s=%d\n", option.name.c_str(), *option.value);
    for (const LCT_dict_str_int_t& word : option.words)
      if (verbose) std::printf("    %s=%d\n", word.key, word.val);
  }
}

}  // extern "C"
