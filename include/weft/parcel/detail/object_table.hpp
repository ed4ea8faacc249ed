// The objects of a rank, and where those have gone that have moved. Included by object.hpp.
#pragma once

#include <weft/parcel/detail/runtime_part.hpp>
#include <weft/parcel/runtime.hpp>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace weft::parcel::detail {

/// An object of the job: the rank where it was made, its home, and its number there.
struct ObjectName {
  std::uint64_t home = 0;
  std::uint64_t id = 0;
  friend auto operator<=>(const ObjectName&, const ObjectName&) = default;
};

inline constexpr std::uint64_t kFirstCredit = std::uint64_t{1} << 32;

/// An object lives on one rank. Its home keeps the credit of its handles, and the ranks where it has been;
/// each of those keeps where it went next, until the object ends.
class WEFT_API ObjectTable final : public RuntimePart {
 public:
  explicit ObjectTable(Core& core) : core_(core) {}

  /// Keeps an object that is made here until `credit` has come back; returns its number.
  [[nodiscard]] std::uint64_t keep(std::shared_ptr<void> object, std::uint64_t credit);
  void change_credit(std::uint64_t id, std::int64_t change);

  /// One of them: the object, for whom leave() is called; the rank where it went; or a move that is to end
  /// first.
  struct Visit {
    std::shared_ptr<void> object;
    int forward_to = -1;
    Future<void> moving;
  };
  /// For a call. Throws weft::Error when this rank knows no such object.
  [[nodiscard]] Visit enter(const ObjectName& name);
  void leave(const ObjectName& name) noexcept;

  struct Departure {
    Future<std::shared_ptr<void>> object;  ///< once no call runs; calls wait from then on, until end_move()
    int forward_to = -1;
    Future<void> moving;
  };
  [[nodiscard]] Departure begin_move(const ObjectName& name);
  /// `to`: where it is now; -1: it stays.
  void end_move(const ObjectName& name, int to);
  /// An object arrives. Valid: it was here until now, and end_move() has to come first; then again.
  [[nodiscard]] Future<void> adopt(const ObjectName& name, const std::shared_ptr<void>& object);
  /// At home: the object may come to the rank.
  void note_visit(std::uint64_t id, int rank);
  void drop(const ObjectName& name);

 private:
  struct Entry {
    std::shared_ptr<void> object;
    int running = 0;
    bool is_held = false;  ///< calls wait
    int next = -1;
    std::unique_ptr<Promise<std::shared_ptr<void>>> departure;
    std::vector<Promise<void>> waiting;
  };
  struct Home {
    std::int64_t credit = 0;
    std::set<int> visited;
  };
  [[nodiscard]] Entry& find(const ObjectName& name);
  [[nodiscard]] Future<void> wait_behind(Entry& entry);

  Core& core_;
  std::mutex mutex_;
  std::map<ObjectName, Entry> entries_;
  std::map<std::uint64_t, Home> homes_;
  std::uint64_t last_ = 0;
};

/// Logs the exception that is being handled, which nobody waits for.
WEFT_API void report_dropped(const char* what) noexcept;

/// Ends a visit.
class Leaving {
 public:
  Leaving(std::shared_ptr<ObjectTable> table, const ObjectName& name) noexcept
      : table_(std::move(table)), name_(name) {}
  Leaving(Leaving&&) noexcept = default;
  Leaving& operator=(Leaving&&) = delete;
  ~Leaving() {
    if (table_) table_->leave(name_);
  }

 private:
  std::shared_ptr<ObjectTable> table_;
  ObjectName name_;
};

/// The answer of an object, and where it lives.
template <class R>
struct Located {
  int rank = -1;
  NotVoid<R> value{};
  template <class Archive>
  void serialize(Archive& archive) {
    archive(rank, value);
  }
};

/// Calls a member function of an object, here or where it has gone.
template <auto Member, class Values>
struct CallMember;
template <auto Member, class... Values>
struct CallMember<Member, std::tuple<Values...>> {
  using Class = typename Signature<decltype(Member)>::Class;
  using Returned = typename Signature<decltype(Member)>::Result;
  using Result = std::decay_t<typename FutureValue<Returned>::type>;

  Future<Located<Result>> operator()(Runtime& runtime, ObjectName name, Values... values) const {
    const auto table = part_of<ObjectTable>(runtime.core());
    auto visit = table->enter(name);
    if (visit.object)
      return call(runtime.rank(), Leaving(table, name),
                  std::static_pointer_cast<Class>(std::move(visit.object)), std::move(values)...);
    if (visit.forward_to >= 0)
      return runtime.async(visit.forward_to, CallMember{}, name, std::move(values)...);
    return std::move(visit.moving)
        .then([&runtime, name, kept = std::tuple<Values...>(std::move(values)...)]() mutable {
          return std::apply([&](auto&... each) { return CallMember{}(runtime, name, std::move(each)...); },
                            kept);
        });
  }

 private:
  static Future<Located<Result>> call(int rank, Leaving leaving, std::shared_ptr<Class> object,
                                      Values... values) {
    if constexpr (FutureValue<Returned>::is_future) {
      return (object.get()->*Member)(std::move(values)...)
          .then([rank, leaving = std::move(leaving), object](Future<Result> ended) {
            return located(rank, [&]() -> Result { return ended.get(); });
          });
    } else {
      return make_ready(
          located(rank, [&]() -> Result { return (object.get()->*Member)(std::move(values)...); }));
    }
  }
  template <class Function>
  static Located<Result> located(int rank, const Function& function) {
    if constexpr (std::is_void_v<Result>)
      return function(), Located<Result>{rank, {}};
    else
      return Located<Result>{rank, function()};
  }
};

struct NoteVisit {
  void operator()(Runtime& runtime, std::uint64_t id, int rank) const {
    part_of<ObjectTable>(runtime.core())->note_visit(id, rank);
  }
};
struct DropObject {
  void operator()(Runtime& runtime, ObjectName name) const {
    part_of<ObjectTable>(runtime.core())->drop(name);
  }
};
template <class T>
struct AdoptObject {
  Future<void> operator()(Runtime& runtime, ObjectName name, std::shared_ptr<T> object) const {
    auto moving = part_of<ObjectTable>(runtime.core())->adopt(name, object);
    if (!moving.valid()) return make_ready();
    return moving.then([&runtime, name, object = std::move(object)]() mutable {
      return AdoptObject{}(runtime, name, std::move(object));
    });
  }
};

/// Moves an object to a rank; returns where it is then.
template <class T>
struct MoveObject {
  Future<int> operator()(Runtime& runtime, ObjectName name, int to) const {
    const auto table = part_of<ObjectTable>(runtime.core());
    auto departure = table->begin_move(name);
    if (departure.forward_to >= 0) return runtime.async(departure.forward_to, MoveObject{}, name, to);
    if (departure.moving.valid())
      return std::move(departure.moving).then([&runtime, name, to] {
        return MoveObject{}(runtime, name, to);
      });
    return departure.object
        .then([&runtime, name, to](std::shared_ptr<void> object) {
          if (to == runtime.rank()) return make_ready();
          return runtime.async(static_cast<int>(name.home), NoteVisit{}, name.id, to)
              .then([&runtime, name, to, object = std::static_pointer_cast<T>(std::move(object))]() mutable {
                return runtime.async(to, AdoptObject<T>{}, name, std::move(object));
              });
        })
        .then([table, name, to, own = runtime.rank()](Future<void> moved) {
          try {
            moved.get();
          } catch (...) {
            table->end_move(name, -1);  // it stays
            throw;
          }
          table->end_move(name, to == own ? -1 : to);
          return to;
        });
  }
};

}  // namespace weft::parcel::detail
