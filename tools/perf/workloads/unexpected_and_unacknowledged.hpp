// Windows of unexpected messages, and windows without acknowledgement.
#pragma once

#include "perf/workloads/sends_and_receives.hpp"

namespace weft::tools::perf {

/// Every message is unexpected: the sender sends a window and then a word, upon which the receiver posts the
/// window's receives.
template <class Transport>
Outcome run_unexpected(const Task& task, Transport& transport) {
  ControlWord control(transport);
  Buffers buffers(task.verify || task.fresh ? task.window : task.buffers, task.size);
  Outcome outcome;
  std::uint64_t number = 0;
  if (transport.rank() == 0) {
    outcome.role = "sender";
    const Compute compute(task);
    for (bool more = true; more;) {
      control.expect();
      if (task.verify) {
        for (std::size_t i = 0; i < task.window; ++i) fill(buffers[i].data(), task.size, number + i);
      }
      post_sends(transport, compute, Fresh(task), buffers, task.window);
      number += task.window;
      control.send(1);
      more = control.wait() != 0;
    }
  } else {
    outcome.role = "receiver";
    const auto receive = [&](bool more) {
      control.expect();
      control.wait();
      post_receives(transport, buffers, task.window);
      transport.wait_receives();
      if (task.verify) {
        for (std::size_t i = 0; i < task.window; ++i)
          if (!is_intact(buffers[i].data(), task.size, number + i)) ++outcome.torn;
      }
      number += task.window;
      control.send(more ? 1 : 0);
    };
    time_windows(task, task.window, outcome, [&] { receive(true); });
    receive(false);
  }
  outcome.messages = number;
  return outcome;
}

/// One way: the sender only waits for its own sends of a window. After a block of windows one further message
/// tells whether another block follows.
template <class Transport>
Outcome run_unacknowledged(const Task& task, Transport& transport) {
  constexpr std::size_t kBlock = 1024;  // messages, approximately
  const std::size_t windows = std::max<std::size_t>(1, kBlock / task.window);
  ControlWord control(transport);
  Buffers buffers(task.verify || task.fresh ? task.window : task.buffers, task.size);
  Outcome outcome;
  std::uint64_t number = 0;
  if (transport.rank() == 0) {
    outcome.role = "sender";
    const Compute compute(task);
    const Stopwatch watch;
    for (bool more = true; more;) {
      for (std::size_t window = 0; window < windows; ++window) {
        if (task.verify) {
          for (std::size_t i = 0; i < task.window; ++i) fill(buffers[i].data(), task.size, number + i);
        }
        post_sends(transport, compute, Fresh(task), buffers, task.window);
        number += task.window;
        transport.wait_sends();
      }
      more = watch.seconds() < task.warm_up + task.seconds;
      control.send(more ? 1 : 0);
    }
    outcome.value = static_cast<double>(number) / watch.seconds();
    outcome.core_share = watch.core_share();
  } else {
    outcome.role = "receiver";
    bool more = true;
    const auto receive_block = [&] {
      for (std::size_t window = 0; window < windows; ++window) {
        post_receives(transport, buffers, task.window);
        transport.wait_receives();
        if (task.verify) {
          for (std::size_t i = 0; i < task.window; ++i)
            if (!is_intact(buffers[i].data(), task.size, number + i)) ++outcome.torn;
        }
        number += task.window;
      }
      control.expect();
      more = control.wait() != 0;
    };
    const Stopwatch warming;
    while (more && warming.seconds() < task.warm_up) receive_block();
    const std::uint64_t before = number;
    const Stopwatch timed;
    while (more) receive_block();
    // When the warm-up took everything, all of it is reported.
    const bool all_in_warm_up = number == before;
    const Stopwatch& watch = all_in_warm_up ? warming : timed;
    outcome.value = static_cast<double>(all_in_warm_up ? number : number - before) / watch.seconds();
    outcome.core_share = watch.core_share();
  }
  outcome.messages = number;
  return outcome;
}

}  // namespace weft::tools::perf
