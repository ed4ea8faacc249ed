// The main of every program of tests. Many cases run in one process there: one that takes the process with
// it, ends it, or never ends is named nevertheless.
#include <gtest/gtest.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <system_error>

// Sanitizers end a process by themselves, without a signal and without exit(); absent where there is none.
extern "C" __attribute__((weak)) void __sanitizer_set_death_callback(void (*)());

namespace {

// Written between cases only, read by handlers of signals.
std::array<char, 512> g_case{};
pid_t g_process = 0;
unsigned g_seconds = 0;

// Of a handler of signals: no allocation, no stream.
void tell(std::string_view what) {
  // What a case starts by fork may well die: that is the case's own business.
  if (g_case[0] == '\0' || getpid() != g_process) {
    return;
  }
  std::array<char, 640> line{};
  const std::string_view name(g_case.data());
  const std::string_view head = "\n[  FAILED  ] ";
  char* end = std::copy(head.begin(), head.end(), line.data());
  end = std::copy(name.begin(), name.end(), end);
  end = std::copy(what.begin(), what.end(), end);
  *end++ = '\n';
  [[maybe_unused]] const auto written =
      write(STDERR_FILENO, line.data(), static_cast<std::size_t>(end - line.data()));
}

void on_fatal(int) { tell(" took the process with it"); }

void on_alarm(int) {
  tell(" has not ended in the time that a case has");
  // The first line says what is wrong, and the core is worth having.
  g_case[0] = '\0';
  std::abort();
}

void on_exit() { tell(" ended the process"); }

void on_death() { tell(" ended by the sanitizer"); }

// A handler that somebody has installed before (a sanitizer) says more than this one.
void watch(int signal, void (*handler)(int)) {
  struct sigaction before {};
  if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler == SIG_DFL) {
    struct sigaction action {};
    action.sa_handler = handler;
    // Once: the signal's own effect follows, when the faulty instruction is repeated or abort() raises it
    // again.
    action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
    sigaction(signal, &action, nullptr);
  }
}

class NamesTheCase final : public testing::EmptyTestEventListener {
  void OnTestStart(const testing::TestInfo& info) override {
    const std::string name = std::string(info.test_suite_name()) + "." + info.name();
    const auto length = std::min(name.size(), g_case.size() - 1);
    std::memcpy(g_case.data(), name.data(), length);
    g_case[length] = '\0';
    if (g_seconds != 0) {
      watch(SIGALRM, on_alarm);
      alarm(g_seconds);
    }
  }

  void OnTestEnd(const testing::TestInfo&) override {
    alarm(0);
    g_case[0] = '\0';
  }
};

// The guard of a case, in seconds; without one a case takes as long as it likes, as under a debugger.
unsigned seconds_of_a_case() {
  const char* text = std::getenv("WEFTDEV_CASE_SECONDS");
  unsigned seconds = 0;
  if (text != nullptr) {
    const std::string_view all(text);
    const auto [end, error] = std::from_chars(all.data(), all.data() + all.size(), seconds);
    if (error != std::errc() || end != all.data() + all.size()) {
      return 0;
    }
  }
  return seconds;
}

}  // namespace

int main(int count, char** arguments) {
  testing::InitGoogleTest(&count, arguments);
  g_process = getpid();
  g_seconds = seconds_of_a_case();
  for (const int signal : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    watch(signal, on_fatal);
  }
  std::atexit(on_exit);
  if (&__sanitizer_set_death_callback != nullptr) {
    __sanitizer_set_death_callback(on_death);
  }
  testing::UnitTest::GetInstance()->listeners().Append(new NamesTheCase);
  return RUN_ALL_TESTS();
}
