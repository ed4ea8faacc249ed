#include "experiment/launch/interruption.hpp"

#include <csignal>
#include <cstddef>

namespace weft::tools {

namespace {

volatile std::sig_atomic_t come = 0;

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

Interruption::Interruption() {
  for (std::size_t i = 0; i < before_.size(); ++i) {
    struct sigaction action {};
    ::sigaction(kSignals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler == SIG_IGN) continue;
    action.sa_handler = [](int signal) { come = signal; };
    action.sa_flags = static_cast<int>(SA_RESETHAND);
    ::sigaction(kSignals[i], &action, nullptr);
  }
}

Interruption::~Interruption() {
  for (std::size_t i = 0; i < before_.size(); ++i) ::sigaction(kSignals[i], &before_[i], nullptr);
}

int Interruption::signal() noexcept { return come; }

}  // namespace weft::tools
