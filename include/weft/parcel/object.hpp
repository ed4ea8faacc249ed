// Remote objects: made on a rank, called from any, destroyed when no rank names them any more.
#pragma once

#include <weft/parcel/detail/object_table.hpp>
#include <weft/parcel/runtime.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace weft::parcel {

namespace detail {

struct AddCredit {
  void operator()(Runtime& runtime, std::uint64_t id, std::uint64_t credit) const {
    part_of<ObjectTable>(runtime.core())->change_credit(id, static_cast<std::int64_t>(credit));
  }
};
struct ReturnCredit {
  void operator()(Runtime& runtime, std::uint64_t id, std::uint64_t credit) const {
    part_of<ObjectTable>(runtime.core())->change_credit(id, -static_cast<std::int64_t>(credit));
  }
};

/// One rank's share in an object. Its credit is part of what the owner has given out (weighted reference
/// counting: a handle that is sent takes half of the credit along, and nobody has to be asked).
class ObjectShare {
 public:
  /// `rank`: its home; `location`: where it was last known to be.
  ObjectShare(Runtime& runtime, int rank, std::uint64_t id, std::uint64_t credit, int location) noexcept
      : link_(runtime.link()), rank_(rank), id_(id), credit_(credit), location_(location) {}
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
  [[nodiscard]] ObjectName name() const noexcept { return {static_cast<std::uint64_t>(rank_), id_}; }
  [[nodiscard]] int location() const noexcept { return location_.load(std::memory_order_relaxed); }
  /// Where to call it: its home, when where it was last has failed.
  [[nodiscard]] int destination(const Runtime& runtime) const noexcept {
    const int last = location();
    return last != rank_ && runtime.has_failed(last) ? rank_ : last;
  }
  void learn(int location) noexcept { location_.store(location, std::memory_order_relaxed); }
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
  std::atomic<int> location_;
  Future<void> pending_;
};

}  // namespace detail

/// Names an object that lives on a rank. Copies share it; it may travel in parcels. The object is destroyed
/// on its rank when the last handle of all ranks is gone. Any thread.
template <class T>
class Object {
 public:
  Object() noexcept = default;
  Object(Runtime& runtime, int rank, std::uint64_t id, std::uint64_t credit)
      : share_(std::make_shared<detail::ObjectShare>(runtime, rank, id, credit, rank)) {}

  [[nodiscard]] explicit operator bool() const noexcept { return share_ != nullptr; }
  /// The rank where it lives, as far as this handle knows: calls tell it when the object has moved.
  [[nodiscard]] int rank() const noexcept { return share_->location(); }

  /// Calls a member function there: object.async(action<&Counter::add>, 3). Calls may run at the same time,
  /// in several workers: the object protects itself.
  template <auto Member, class... Arguments>
  auto async(Action<Member>, Arguments&&... arguments) const;
  /// async() without an answer. An exception is logged on the rank that calls.
  template <auto Member, class... Arguments>
  void apply(Action<Member>, Arguments&&... arguments) const;

  /// Moves the object to a rank, by its serialize(), which a default-constructed one there reads, at the
  /// first moment in which no call of it runs; a call that waits for the move of its own object waits for
  /// ever. Calls that come meanwhile wait, and are made there; later ones are forwarded, and handles learn:
  /// each is made once. When the rank fails, or the object cannot be serialized, it stays, and the future
  /// throws why.
  ///
  /// After Charm++'s migration of chares and HPX's components::migrate, but the one rank that moves it is
  /// told.
  [[nodiscard]] Future<void> migrate(int rank) const;

  void serialize(Writer& writer) {
    writer(share_ ? share_->rank() : -1);
    if (share_) writer(share_->id(), share_->split(), share_->location());
  }
  void serialize(Reader& reader) {
    int rank = -1;
    std::uint64_t id = 0;
    std::uint64_t credit = 0;
    int location = -1;
    reader(rank);
    share_.reset();
    Runtime* const runtime = Runtime::current();
    if (rank < 0 || runtime == nullptr) return;
    reader(id, credit, location);
    if (rank >= runtime->size() || credit == 0 || location < 0 || location >= runtime->size())
      Reader::malformed("an object handle names no object");
    share_ = std::make_shared<detail::ObjectShare>(*runtime, rank, id, credit, location);
  }

 private:
  std::shared_ptr<detail::ObjectShare> share_;
};

namespace detail {

template <class T, class... Values>
struct MakeObject {
  std::uint64_t operator()(Runtime& runtime, Values... values) const {
    return part_of<ObjectTable>(runtime.core())
        ->keep(std::make_shared<T>(std::move(values)...), kFirstCredit);
  }
};

}  // namespace detail

template <class T>
template <auto Member, class... Arguments>
auto Object<T>::async(Action<Member>, Arguments&&... arguments) const {
  using Call = detail::CallMember<Member, typename detail::Signature<decltype(Member)>::Values>;
  using Result = typename Call::Result;
  const detail::RuntimeUse use(share_->link());
  Runtime& runtime = use.get("an object was called");
  return runtime
      .async(share_->destination(runtime), Call{}, share_->name(), std::forward<Arguments>(arguments)...)
      // The handle lives until the answer is there.
      .then([share = share_](detail::Located<Result> answer) -> Result {
        share->learn(answer.rank);
        if constexpr (!std::is_void_v<Result>) return std::move(answer.value);
      });
}

template <class T>
template <auto Member, class... Arguments>
void Object<T>::apply(Action<Member> member, Arguments&&... arguments) const {
  // Its continuation keeps the object until the call has been made.
  auto ended = async(member, std::forward<Arguments>(arguments)...);
  static_cast<void>(std::move(ended).then([](decltype(ended) call) {
    try {
      static_cast<void>(call.get());
    } catch (...) {
      detail::report_dropped("a call of an object");
    }
  }));
}

template <class T>
Future<void> Object<T>::migrate(int rank) const {
  static_assert(
      std::is_default_constructible_v<T> && (detail::HasMemberSerialize<T> || detail::HasSerialize<T>),
      "weft: an object that migrates needs a default constructor and a function serialize()");
  const detail::RuntimeUse use(share_->link());
  Runtime& runtime = use.get("an object was to migrate");
  detail::check_rank(runtime.core(), rank);
  return runtime.async(share_->destination(runtime), detail::MoveObject<T>{}, share_->name(), rank)
      .then([share = share_](int location) { share->learn(location); });
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
