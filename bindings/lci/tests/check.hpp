// What the programs of this folder have in common.
#ifndef WEFT_LCI_TESTS_CHECK_HPP
#define WEFT_LCI_TESTS_CHECK_HPP

#include <cstdio>
#include <cstdlib>
#include <lci.hpp>

/// Ends the program with the line and the expression when it does not hold.
#define CHECK(expression)                                                            \
  do {                                                                               \
    if (!(expression)) {                                                             \
      std::fprintf(stderr, "%s:%d: rank %d: %s does not hold\n", __FILE__, __LINE__, \
                   lci::is_active() ? lci::get_rank_me() : -1, #expression);         \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (0)

/// Posts again until the answer is not retry.
template <class Post>
lci::status_t post(const Post& operation) {
  lci::status_t status;
  do {
    status = operation();
    lci::progress();
  } while (status.is_retry());
  return status;
}

/// Pops, and progresses until there is something.
inline lci::status_t pop(lci::comp_t queue) {
  lci::status_t status;
  do {
    lci::progress();
    status = lci::cq_pop(queue);
  } while (status.is_retry());
  return status;
}

/// The operation that has answered `status` ends: posted ones signal the queue.
inline lci::status_t finish(lci::status_t status, lci::comp_t queue) {
  return status.is_posted() ? pop(queue) : status;
}

#endif
