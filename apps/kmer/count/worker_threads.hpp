// The threads of one rank, and their exceptions.
#pragma once

#include "failure.hpp"

#include <exception>
#include <new>
#include <thread>
#include <vector>

namespace kmer {

/// Runs `body`; an exception becomes this rank's failure.
template <class Body>
void run_guarded(Failure& failure, const Body& body) {
  try {
    body();
  } catch (const std::bad_alloc&) {
    failure.report("out of memory: use more ranks on more hosts, or a smaller --memory");
  } catch (const std::exception& error) {
    failure.report(error.what());
  }
}

/// Runs `body(thread)` on `threads` threads, of which the calling one is the first. An exception becomes this
/// rank's failure.
template <class Body>
void on_all_threads(int threads, Failure& failure, const Body& body) {
  const auto guarded = [&](int thread) { run_guarded(failure, [&] { body(thread); }); };
  std::vector<std::thread> others;
  for (int thread = 1; thread < threads; ++thread) others.emplace_back(guarded, thread);
  guarded(0);
  for (std::thread& other : others) other.join();
}

}  // namespace kmer
