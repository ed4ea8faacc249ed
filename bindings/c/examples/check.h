/* What the examples do with a result that they do not expect. */
#ifndef CHECK_H
#define CHECK_H

#include <weft.h>

#include <stdio.h>
#include <stdlib.h>

/* Ends the program unless the call has this result. */
#define EXPECT(call, expected)                                                                     \
  do {                                                                                             \
    const weft_result result_ = (call);                                                            \
    if (result_ != (expected)) {                                                                   \
      fprintf(stderr, "%s:%d: %s: %s, %s\n", __FILE__, __LINE__, #call, weft_result_name(result_), \
              weft_is_error(result_) ? weft_error_text() : "");                                    \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)
#define MUST(call) EXPECT(call, WEFT_OK)

#define REQUIRE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)

#endif
