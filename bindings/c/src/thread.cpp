#include <weft_c/thread.h>

#include "objects.hpp"

#include <weft/progress_thread.hpp>

#include <memory>

using namespace weft::c;

/// One of the two.
struct weft_progress_thread : Handle<HandleKind::progress_thread> {
  std::unique_ptr<weft::ProgressThread> of_device;
  std::unique_ptr<weft::StreamProgressThread> of_streams;
};

extern "C" {

weft_result weft_progress_thread_create(weft_runtime* runtime, const weft_progress_thread_options* given,
                                        weft_progress_thread** thread) {
  return create(__func__, thread, "thread", [&] {
    const weft_progress_thread_options options = options_of(given, "options");
    if (options.interval_ns != 0)
      throw BadArgument("options->interval_ns is set, which only threads for streams have");
    weft::ProgressThreadOptions own;
    if (options.processor_count != 0) {
      present(options.processors, "options->processors");
      own.processors.assign(options.processors, options.processors + options.processor_count);
    }
    weft::Runtime& there = present(runtime, "runtime").runtime;
    auto made = std::make_unique<weft_progress_thread>();
    if (options.device != nullptr)
      made->of_device = std::make_unique<weft::ProgressThread>(
          present_in(there, options.device, "options->device").device, own);
    else
      made->of_device = std::make_unique<weft::ProgressThread>(there, own);
    return made;
  });
}

weft_result weft_stream_progress_thread_create(weft_runtime* runtime,
                                               const weft_progress_thread_options* given,
                                               weft_progress_thread** thread) {
  return create(__func__, thread, "thread", [&] {
    const weft_progress_thread_options options = options_of(given, "options");
    if (options.device != nullptr || options.processor_count != 0)
      throw BadArgument("options->device or processors is set, which threads for streams do not have");
    weft::StreamProgressThreadOptions own;
    if (options.interval_ns != 0) own.interval = weft::Timeout::of_nanoseconds(options.interval_ns);
    auto made = std::make_unique<weft_progress_thread>();
    made->of_streams = std::make_unique<weft::StreamProgressThread>(present(runtime, "runtime").runtime, own);
    return made;
  });
}

weft_result weft_progress_thread_destroy(weft_progress_thread* thread) {
  return destroy(__func__, thread, "thread");
}

}  // extern "C"
