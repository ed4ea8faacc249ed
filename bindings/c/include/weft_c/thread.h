/* Threads of the library that progress. */
#ifndef WEFT_C_THREAD_H
#define WEFT_C_THREAD_H

#include <weft_c/base.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct weft_progress_thread weft_progress_thread;

typedef struct weft_progress_thread_options {
  size_t size;         /* sizeof(weft_progress_thread_options) */
  weft_device* device; /* that it progresses; null: the runtime's default device */
  /* On which it may run; none: where the calling thread may. */
  const int* processors;
  size_t processor_count;
  int64_t
      interval_ns; /* of weft_stream_progress_thread_create: between looks at streams; 0: 50 microseconds */
} weft_progress_thread_options;

/* Progresses one device, which is used through endpoints without WEFT_SERIAL, until it is destroyed. */
WEFT_C_API weft_result weft_progress_thread_create(weft_runtime* runtime,
                                                   const weft_progress_thread_options* options,
                                                   weft_progress_thread** thread);
/* Progresses the streams of the runtime that their own threads do not. */
WEFT_C_API weft_result weft_stream_progress_thread_create(weft_runtime* runtime,
                                                          const weft_progress_thread_options* options,
                                                          weft_progress_thread** thread);
WEFT_C_API weft_result weft_progress_thread_destroy(weft_progress_thread* thread);

#ifdef __cplusplus
}
#endif

#endif
