#include "perf/measure/interruption.hpp"

#include <signal.h>

#include <csignal>

namespace weft::tools::perf {

namespace {

volatile std::sig_atomic_t come = 0;

constexpr int kSignals[] = {SIGINT, SIGTERM};

void set(void (*handler)(int)) {
  for (const int signal : kSignals) {
    struct sigaction action {};
    if (::sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = handler;
    action.sa_flags = SA_RESETHAND;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace

Interruption::Interruption() {
  set([](int signal) { come = signal; });
}

Interruption::~Interruption() { set(SIG_DFL); }

int Interruption::signal() noexcept { return come; }

}  // namespace weft::tools::perf
