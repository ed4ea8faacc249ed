// Messages whose packets stay with the program, since Arrays lie in them.
#pragma once

#include <weft/message.hpp>
#include <weft/parcel/detail/array_memory.hpp>

#include <memory>
#include <mutex>

namespace weft::parcel {

/// All of one port. Arrays may be destroyed in any thread, also after the port: it is shared by them.
class RetainedMessages {
 public:
  RetainedMessages() = default;
  RetainedMessages(const RetainedMessages&) = delete;
  RetainedMessages& operator=(const RetainedMessages&) = delete;

  /// The packets will not be there any more: copies them to memory of the arrays' own, in which they are
  /// then.
  void move_out() noexcept;

 private:
  friend class MessageToRetain;
  struct Retained;
  /// An array's block within a message.
  struct Part;
  static void release(detail::ArrayBlock& block) noexcept;

  std::mutex mutex_;
  Retained* first_ = nullptr;
};

/// A message that is being decoded, of which arrays may retain parts.
class MessageToRetain final : public detail::ChunkKeeper {
 public:
  explicit MessageToRetain(const std::shared_ptr<RetainedMessages>& all) noexcept : all_(all) {}
  ~MessageToRetain();
  MessageToRetain(const MessageToRetain&) = delete;
  MessageToRetain& operator=(const MessageToRetain&) = delete;
  [[nodiscard]] detail::ArrayBlock* keep(const std::byte* at) override;
  /// Takes `message` if any array lies in it, which may move its payload; else leaves it. Inside the handler
  /// to which it was given.
  void retain_in(weft::Message& message);

 private:
  const std::shared_ptr<RetainedMessages>& all_;
  RetainedMessages::Retained* retained_ = nullptr;  // with a reference of its own until retain_in()
};

}  // namespace weft::parcel
