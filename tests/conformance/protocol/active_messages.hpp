// Active messages of all sizes to handlers and queues, with answers from handlers.
#pragma once

#include "conformance/protocol/traffic.hpp"

#include <deque>
#include <memory>

namespace weft::test {

class ActiveMessages final : public Traffic {
 public:
  explicit ActiveMessages(Job& job);
  ~ActiveMessages() override;
  void begin() override;
  void step() override;
  [[nodiscard]] std::string missing() override;
  void close() override;

 private:
  struct Sent : Posted {
    int from = 0;
    int device = 0;
    int to = 0;
    RemoteCompletion remote;
    std::vector<std::byte> bytes;
    std::size_t size = 0;
    bool has_completion = false;
    bool in_packet = false;
    bool is_accepted = false;
    bool is_answered = false;
    int arrivals = 0;
    ActiveMessageOptions options;
  };
  struct Target;

  Sent& create(int from, int to, std::size_t size);
  void post(Sent& sent);
  void arrive(int rank, Message& message);
  void scramble(Sent& sent);

  Job& job_;
  std::deque<Sent> sent_;  // by id; records stay where they are
  std::vector<Sent*> refused_;
  std::unique_ptr<Completion> endings_;
  std::vector<std::unique_ptr<Target>> targets_;  // by rank
};

}  // namespace weft::test
