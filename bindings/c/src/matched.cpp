#include <weft_c/matched.h>

#include "objects.hpp"
#include "post_options.hpp"

using namespace weft::c;

struct weft_matched : Handle<HandleKind::matched> {
  explicit weft_matched(weft::MatchedMessage its_message) : message(std::move(its_message)) {}
  weft::MatchedMessage message;
};

extern "C" {

weft_result weft_matched_probe(weft_endpoint* endpoint, int source, uint64_t tag, const weft_options* options,
                               weft_matched** found) {
  return guarded(__func__, [&]() -> weft_result {
    const auto own = probe_options(options);
    present(found, "found");
    *found = nullptr;
    weft::MatchedMessage message = with(endpoint, [&](auto& there) {
      return with_tag(options, tag, [&](const auto& what) { return there.matched_probe(source, what, own); });
    });
    if (!message) return WEFT_NOTHING;
    *found = new weft_matched(std::move(message));
    return WEFT_OK;
  });
}

weft_result weft_wait_matched_probe(weft_endpoint* endpoint, int source, uint64_t tag,
                                    const weft_options* options, weft_matched** found) {
  return guarded(__func__, [&] {
    const auto own = waiting_receive_options(options);
    present(found, "found");
    *found = nullptr;
    weft::MatchedMessage message;
    const weft_result result = with(endpoint, [&](auto& there) {
      return with_tag(options, tag, [&](const auto& what) {
        return result_of(there.wait_matched_probe(source, what, message, own));
      });
    });
    if (result == WEFT_OK) *found = new weft_matched(std::move(message));
    return result;
  });
}

weft_result weft_matched_info(const weft_matched* matched, weft_probed* info) {
  return guarded(__func__, [&] {
    const weft::ProbedMessage& message = present(matched, "matched").message.info();
    present(info, "info") = probed(message);
    return WEFT_OK;
  });
}

weft_result weft_receive_matched(weft_endpoint* endpoint, weft_matched* matched, void* buffer, size_t size,
                                 const weft_options* options) {
  return guarded(__func__, [&] {
    const auto own = posted_receive_options(options);
    weft::MatchedMessage& message = present(matched, "matched").message;
    const weft_result result = with(endpoint, [&](auto& there) {
      return result_of(there.post_receive(std::move(message), buffer_at(buffer, size, "buffer"), own));
    });
    delete matched;
    return result;
  });
}

weft_result weft_matched_destroy(weft_matched* matched) { return destroy(__func__, matched, "matched"); }

}  // extern "C"
