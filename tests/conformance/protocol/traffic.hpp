// Traffic of one kind, and a model of what has to become of it.
#pragma once

#include "conformance/protocol/job.hpp"
#include "support/ranks.hpp"

#include <cstdint>
#include <string>

namespace weft::test {

class Traffic {
 public:
  virtual ~Traffic() = default;
  /// Begins one more operation, which chance chooses.
  virtual void begin() = 0;
  /// Continues what was refused, looks at queues.
  virtual void step() = 0;
  /// Empty when everything that was begun has ended as it must; else what is missing.
  [[nodiscard]] virtual std::string missing() = 0;
  /// Ends what can only end by the program's own doing, once nothing else is missing.
  virtual void settle() {}
  /// Gives back what has to go before the runtimes; they end what is still posted, and signal it.
  virtual void close() = 0;
};

/// What was posted with a completion object: it has to end exactly once.
struct Posted {
  enum class State : std::uint8_t { refused, posted, ended };
  State state = State::refused;
  Outcome outcome = Outcome::ok;
  std::uint64_t id = 0;
};

/// The completion object of all operations of one kind; user_data() names the operation, a `Record` that
/// derives from Posted.
template <class Record, class Function>
class Endings final : public Completion {
 public:
  Endings(Job& job, const char* kind, Function function)
      : job_(job), kind_(kind), function_(std::move(function)) {}
  ~Endings() override { withdraw(); }
  void signal(Message& message) noexcept override {
    auto& record = *static_cast<Record*>(message.user_data());
    if (record.state == Posted::State::ended)
      job_.fail(std::string(kind_) + " " + std::to_string(record.id) + " ended twice");
    record.state = Posted::State::ended;
    record.outcome = message.outcome();
    function_(record, message);
  }
  [[nodiscard]] bool ready() const noexcept override { return true; }

 private:
  Job& job_;
  const char* kind_;
  Function function_;
};

}  // namespace weft::test
