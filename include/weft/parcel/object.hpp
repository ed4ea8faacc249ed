// Remote objects: made on a rank, called from any, destroyed when no rank names them any more.
#pragma once

#include <weft/parcel/runtime.hpp>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace weft::parcel {

namespace detail {

/// Keeps an object of this rank until `credit` has come back; returns its number.
[[nodiscard]] WEFT_API std::uint64_t keep_object(Core& core, std::shared_ptr<void> object,
                                                 std::uint64_t credit);
/// The object with this number; weft::Error when there is none.
[[nodiscard]] WEFT_API std::shared_ptr<void> find_object(Core& core, std::uint64_t id);
WEFT_API void change_credit(Core& core, std::uint64_t id, std::int64_t change);

inline constexpr std::uint64_t kFirstCredit = std::uint64_t{1} << 32;

struct AddCredit {
  void operator()(Runtime& runtime, std::uint64_t id, std::uint64_t credit) const {
    change_credit(runtime.core(), id, static_cast<std::int64_t>(credit));
  }
};
struct ReturnCredit {
  void operator()(Runtime& runtime, std::uint64_t id, std::uint64_t credit) const {
    change_credit(runtime.core(), id, -static_cast<std::int64_t>(credit));
  }
};

/// One rank's share in an object. Its credit is part of what the owner has given out (weighted reference
/// counting: a handle that is sent takes half of the credit along, and nobody has to be asked).
class ObjectShare {
 public:
  ObjectShare(Runtime& runtime, int rank, std::uint64_t id, std::uint64_t credit) noexcept
      : link_(runtime.link()), rank_(rank), id_(id), credit_(credit) {}
  /// Of a runtime that has ended there is nothing to give back.
  ~ObjectShare() {
    auto give_back = [link = link_, rank = rank_, id = id_, credit = credit_] {
      const RuntimeUse use(*link);
      if (!use) return;
      Runtime& runtime = use.get("");
      if (!runtime.has_failed(rank)) runtime.apply(rank, ReturnCredit{}, id, credit);
    };
    // Credit that was asked for must be there before it can come back.
    if (pending_.valid())
      static_cast<void>(pending_.then(give_back));
    else
      give_back();
  }
  ObjectShare(const ObjectShare&) = delete;
  ObjectShare& operator=(const ObjectShare&) = delete;

  [[nodiscard]] RuntimeLink& link() const noexcept { return *link_; }
  [[nodiscard]] int rank() const noexcept { return rank_; }
  [[nodiscard]] std::uint64_t id() const noexcept { return id_; }
  /// Credit for a handle that leaves.
  [[nodiscard]] std::uint64_t split() {
    const std::lock_guard lock(mutex_);
    if (credit_ < 2) {
      const RuntimeUse use(*link_);
      auto more = use.get("a handle of an object was sent").async(rank_, AddCredit{}, id_, kFirstCredit);
      credit_ += kFirstCredit;
      if (pending_.valid()) {
        std::vector<Future<void>> both;
        both.push_back(std::move(pending_));
        both.push_back(std::move(more));
        pending_ = when_all(std::move(both));
      } else {
        pending_ = std::move(more);
      }
    }
    const std::uint64_t half = credit_ / 2;
    credit_ -= half;
    return half;
  }

 private:
  const std::shared_ptr<RuntimeLink> link_;
  const int rank_;
  const std::uint64_t id_;
  std::mutex mutex_;
  std::uint64_t credit_;
  Future<void> pending_;
};

}  // namespace detail

/// Names an object that lives on a rank. Copies share it; it may travel in parcels. The object is destroyed
/// on its rank when the last handle of all ranks is gone.
template <class T>
class Object {
 public:
  Object() noexcept = default;
  Object(Runtime& runtime, int rank, std::uint64_t id, std::uint64_t credit)
      : share_(std::make_shared<detail::ObjectShare>(runtime, rank, id, credit)) {}

  [[nodiscard]] explicit operator bool() const noexcept { return share_ != nullptr; }
  /// The rank where it lives.
  [[nodiscard]] int rank() const noexcept { return share_->rank(); }

  /// Calls a member function there: object.async(action<&Counter::add>, 3). Calls may run at the same time,
  /// in several workers: the object protects itself.
  template <auto Member, class... Arguments>
  auto async(Action<Member>, Arguments&&... arguments) const;

  void serialize(Writer& writer) {
    writer(share_ ? share_->rank() : -1);
    if (share_) writer(share_->id(), share_->split());
  }
  void serialize(Reader& reader) {
    int rank = -1;
    std::uint64_t id = 0;
    std::uint64_t credit = 0;
    reader(rank);
    share_.reset();
    Runtime* const runtime = Runtime::current();
    if (rank < 0 || runtime == nullptr) return;
    reader(id, credit);
    if (rank >= runtime->size() || credit == 0) Reader::malformed("an object handle names no object");
    share_ = std::make_shared<detail::ObjectShare>(*runtime, rank, id, credit);
  }

 private:
  std::shared_ptr<detail::ObjectShare> share_;
};

namespace detail {

/// Calls a member function of a kept object.
template <auto Member, class Values>
struct CallMember;
template <auto Member, class... Values>
struct CallMember<Member, std::tuple<Values...>> {
  using Class = typename Signature<decltype(Member)>::Class;
  typename Signature<decltype(Member)>::Result operator()(Runtime& runtime, std::uint64_t id,
                                                          Values... values) const {
    const auto object = std::static_pointer_cast<Class>(find_object(runtime.core(), id));
    return (object.get()->*Member)(std::move(values)...);
  }
};

template <class T, class... Values>
struct MakeObject {
  std::uint64_t operator()(Runtime& runtime, Values... values) const {
    return keep_object(runtime.core(), std::make_shared<T>(std::move(values)...), kFirstCredit);
  }
};

}  // namespace detail

template <class T>
template <auto Member, class... Arguments>
auto Object<T>::async(Action<Member>, Arguments&&... arguments) const {
  using Call = detail::CallMember<Member, typename detail::Signature<decltype(Member)>::Values>;
  const detail::RuntimeUse use(share_->link());
  return use.get("an object was called")
      .async(share_->rank(), Call{}, share_->id(), std::forward<Arguments>(arguments)...)
      // The handle lives until the answer is there.
      .then([share = share_](auto&&... value) { return (static_cast<decltype(value)&&>(value), ...); });
}

/// Makes a T on the rank, of copies of the arguments, and returns the future of its handle.
template <class T, class... Arguments>
Future<Object<T>> make_object(Runtime& runtime, int rank, Arguments&&... arguments) {
  return runtime
      .async(rank, detail::MakeObject<T, std::decay_t<Arguments>...>{}, std::forward<Arguments>(arguments)...)
      .then(
          [&runtime, rank](std::uint64_t id) { return Object<T>(runtime, rank, id, detail::kFirstCredit); });
}

}  // namespace weft::parcel
