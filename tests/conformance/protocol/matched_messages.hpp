// Sends and receives with every policy, early and late, cancelled and probed.
#pragma once

#include "conformance/protocol/traffic.hpp"

#include <deque>
#include <memory>

namespace weft::test {

class MatchedMessages final : public Traffic {
 public:
  explicit MatchedMessages(Job& job);
  ~MatchedMessages() override;
  void begin() override;
  void step() override;
  [[nodiscard]] std::string missing() override;
  void close() override;
  void settle() override;

 private:
  /// What a send and a receive have in common.
  struct Key {
    int to = 0;
    int source = 0;  // -1: any
    std::uint64_t tag = 0;
    MatchingPolicy policy = MatchingPolicy::rank_and_tag;
    std::uint16_t engine = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Sent : Posted {
    Key key;
    int from = 0;
    int device = 0;
    std::uint64_t tag = 0;
    std::size_t size = 0;
    std::vector<std::byte> bytes;
    bool has_completion = false;
    bool in_packet = false;
    bool is_accepted = false;
    bool is_received = false;
    SendOptions options;
  };
  enum class Way : std::uint8_t { posted, probed };
  struct Receive : Posted {
    Key key;
    int device = 0;
    int source = 0;  // that is posted
    std::uint64_t tag = 0;
    Way way = Way::posted;
    bool is_accepted = false;
    bool wants_cancel = false;
    bool is_cancelled = false;  // cancel() said so
    std::vector<std::byte> buffer;
    ReceiveHandle handle;
    ReceiveOptions options;
  };

  void post(Sent& sent);
  void post(Receive& receive);
  void post_again(const Receive& receive);
  [[nodiscard]] bool is_lost(const Receive& receive) const;
  void end(Receive& receive, const Message& message);
  void cancel(Receive& receive);
  [[nodiscard]] std::size_t buffer_size(std::size_t length);

  Job& job_;
  std::vector<std::unique_ptr<MatchingEngine>> engines_;
  std::deque<Sent> sent_;
  std::deque<Receive> receives_;
  std::vector<Sent*> unsent_;
  std::vector<Receive*> unposted_;
  std::vector<Receive*> to_cancel_;
  std::unique_ptr<Completion> send_endings_;
  std::unique_ptr<Completion> receive_endings_;
};

}  // namespace weft::test
