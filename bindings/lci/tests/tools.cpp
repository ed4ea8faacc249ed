// LCT: what programs of LCI use of it.
#include <lct.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#define CHECK(expression)                                                                 \
  do {                                                                                    \
    if (!(expression)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #expression); \
      std::exit(1);                                                                       \
    }                                                                                     \
  } while (0)

int main() {
  LCT_init();
  LCT_set_rank(3);
  CHECK(LCT_get_rank() == 3 && LCT_rank == 3 && LCT_hostname[0] != '\0');
  const LCT_time_t begin = LCT_now();
  CHECK(LCT_now() >= begin && LCT_time_to_us(5000) == 5 && LCT_time_to_s(1000000000) == 1);

  struct alignas(LCT_CACHE_LINE) Line {
    int first, second;
  } lines[2];
  LCT_ASSERT_SAME_CACHE_LINE(&lines[0].first, &lines[0].second);
  LCT_ASSERT_DIFF_CACHE_LINE(&lines[0].first, &lines[1].first);

  LCT_dict_str_int_t words[] = {{"one", 1}, {"two", 2}, {"four", 4}};
  int value = 0;
  CHECK(LCT_str_int_search(words, 3, "two", -1, &value) == 1 && value == 2);
  CHECK(LCT_str_int_search(words, 3, "six", -1, &value) == 0 && value == -1);
  CHECK(LCT_parse_arg(words, 3, "one;four", ";") == 5);
  const char* const replaced = LCT_str_replace_all("a%b%", "%", "3");
  CHECK(std::strcmp(replaced, "a3b3") == 0);
  std::free(const_cast<char*>(replaced));

  LCT_pcounter_ctx_t counters = LCT_pcounter_ctx_alloc("test");
  const LCT_pcounter_handle_t sends = LCT_pcounter_register(counters, "sends", LCT_PCOUNTER_COUNTER);
  const LCT_pcounter_handle_t timer = LCT_pcounter_register(counters, "timer", LCT_PCOUNTER_TIMER);
  LCT_pcounter_add(counters, sends, 7);
  LCT_pcounter_add(counters, sends, 5);
  LCT_pcounter_startt(counters, timer, 1000);
  LCT_pcounter_endt(counters, timer, 3000);
  LCT_pcounter_dump(counters, stdout);
  LCT_pcounter_ctx_free(&counters);

  // Every round waits for all threads, and queues lose nothing.
  LCT_tbarrier_t barrier = LCT_tbarrier_alloc(4);
  LCT_queue_t queue = LCT_queue_alloc(LCT_QUEUE_LCRQ, 100);
  std::atomic<int> round(0), popped(0);
  std::vector<std::thread> threads;
  for (int thread = 0; thread < 4; ++thread)
    threads.emplace_back([&] {
      for (int i = 0; i < 1000; ++i) {
        CHECK(round.load() / 4 == i);
        LCT_tbarrier_arrive_and_wait(barrier);
        ++round;
        LCT_queue_push(queue, &value);
        LCT_tbarrier_arrive_and_wait(barrier);
        popped += LCT_queue_pop(queue) == &value ? 1 : 0;
      }
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(popped == 4000 && LCT_queue_pop(queue) == nullptr);
  LCT_queue_free(&queue);
  LCT_tbarrier_free(&barrier);

  LCT_args_parser_t parser = LCT_args_parser_alloc();
  int size = 1, is_fast = 0, mode = 0;
  LCT_args_parser_add(parser, "size", 1, &size);
  LCT_args_parser_add(parser, "fast", 0, &is_fast);
  LCT_args_parser_add_dict(parser, "mode", 1, &mode, words, 3);
  char arguments[][12] = {"program", "--size", "8", "--fast", "--mode=four"};
  char* pointers[] = {arguments[0], arguments[1], arguments[2], arguments[3], arguments[4]};
  LCT_args_parser_parse(parser, 5, pointers);
  CHECK(size == 8 && is_fast == 1 && mode == 4);
  LCT_args_parser_free(parser);

  LCT_Log(LCT_log_ctx_default, LCT_LOG_DEBUG, "quiet", "not written %d\n", 1);
  LCT_Log(LCT_log_ctx_default, LCT_LOG_ERROR, "loud", "written %d\n", 2);
  LCT_fina();
  std::puts("ok");
  return 0;
}
