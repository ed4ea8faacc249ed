#include <weft_c/persistent.h>

#include "objects.hpp"
#include "post_options.hpp"

#include <weft/endpoint/persistent.hpp>

using namespace weft::c;

struct weft_persistent : Handle<HandleKind::persistent> {
  weft_persistent() = default;
  virtual ~weft_persistent() = default;
  weft_persistent(const weft_persistent&) = delete;
  weft_persistent& operator=(const weft_persistent&) = delete;
  virtual weft::Status start() = 0;
  [[nodiscard]] virtual bool is_in_flight() const noexcept { return false; }
};

namespace {

/// An operation of one kind, on an endpoint of one kind.
template <class Operation>
class Prepared final : public weft_persistent {
 public:
  Prepared(weft_endpoint& endpoint, Operation operation)
      : endpoint_(endpoint), operation_(std::move(operation)) {}
  weft::Status start() override {
    return with(&endpoint_, [&](auto&) { return operation_.start(); });
  }
  [[nodiscard]] bool is_in_flight() const noexcept override {
    if constexpr (requires { operation_.is_in_flight(); })
      return operation_.is_in_flight();
    else
      return false;
  }

 private:
  weft_endpoint& endpoint_;
  Operation operation_;
};

/// Makes an object of the operation that `prepare(endpoint)` returns.
template <class Prepare>
weft_result create_prepared(const char* function, weft_endpoint* endpoint, weft_persistent** persistent,
                            const Prepare& prepare) noexcept {
  return create(function, persistent, "persistent", [&] {
    return with(endpoint, [&](auto& there) -> std::unique_ptr<weft_persistent> {
      using Object = Prepared<decltype(prepare(there))>;
      static_assert(sizeof(Object) <= kLargestHandle && alignof(Object) <= kHandleUnit);
      return std::make_unique<Object>(*endpoint, prepare(there));
    });
  });
}

}  // namespace

extern "C" {

weft_result weft_prepare_am(weft_endpoint* endpoint, int peer, weft_remote remote, const void* data,
                            size_t size, const weft_options* options, weft_persistent** persistent) {
  return create_prepared(__func__, endpoint, persistent, [&](auto& there) {
    return there.prepare_am(peer, remote_of(remote), bytes_at(data, size, "data"),
                            active_message_options(options));
  });
}

weft_result weft_prepare_send(weft_endpoint* endpoint, int peer, uint64_t tag, const void* data, size_t size,
                              const weft_options* options, weft_persistent** persistent) {
  return create_prepared(__func__, endpoint, persistent, [&](auto& there) {
    const auto own = send_options(options);
    return with_tag(options, tag, [&](const auto& what) {
      return there.prepare_send(peer, what, bytes_at(data, size, "data"), own);
    });
  });
}

weft_result weft_prepare_receive(weft_endpoint* endpoint, int source, uint64_t tag, void* buffer, size_t size,
                                 const weft_options* options, weft_persistent** persistent) {
  return create_prepared(__func__, endpoint, persistent, [&](auto& there) {
    const auto own = posted_receive_options(options);
    return with_tag(options, tag, [&](const auto& what) {
      return there.prepare_receive(source, what, buffer_at(buffer, size, "buffer"), own);
    });
  });
}

weft_result weft_prepare_put(weft_endpoint* endpoint, int peer, const weft_remote_region* to, uint64_t offset,
                             const void* from, size_t size, const weft_options* options,
                             weft_persistent** persistent) {
  return create_prepared(__func__, endpoint, persistent, [&](auto& there) {
    return there.prepare_put(peer, address_of(to, offset, "to"), bytes_at(from, size, "from"),
                             access_options(options));
  });
}

weft_result weft_prepare_get(weft_endpoint* endpoint, int peer, const weft_remote_region* from,
                             uint64_t offset, void* to, size_t size, const weft_options* options,
                             weft_persistent** persistent) {
  return create_prepared(__func__, endpoint, persistent, [&](auto& there) {
    return there.prepare_get(peer, address_of(from, offset, "from"), buffer_at(to, size, "to"),
                             access_options(options));
  });
}

weft_result weft_persistent_start(weft_persistent* persistent) {
  return guarded(__func__, [&] { return result_of(present(persistent, "persistent").start()); });
}

int weft_persistent_in_flight(const weft_persistent* persistent) {
  return guarded(__func__, [&] { return present(persistent, "persistent").is_in_flight() ? 1 : 0; });
}

weft_result weft_persistent_destroy(weft_persistent* persistent) {
  return destroy(__func__, persistent, "persistent");
}

}  // extern "C"
