// Messages whose packets the program keeps, since Arrays lie in them.
#pragma once

#include <weft/message.hpp>
#include <weft/parcel/detail/array_memory.hpp>

#include <memory>
#include <mutex>

namespace weft::parcel {

/// All of one port. Arrays may be destroyed in any thread, also after the port: it is shared by them.
class KeptMessages {
 public:
  KeptMessages() = default;
  KeptMessages(const KeptMessages&) = delete;
  KeptMessages& operator=(const KeptMessages&) = delete;

  /// The packets will not be there any more: copies them to memory of the arrays' own, in which they are
  /// then.
  void move_out() noexcept;

 private:
  friend class MessageToKeep;
  struct Kept;
  /// An array's block within a message.
  struct Part;
  static void release(detail::ArrayBlock& block) noexcept;

  std::mutex mutex_;
  Kept* first_ = nullptr;
};

/// A message that is being decoded, of which arrays may keep parts.
class MessageToKeep final : public detail::ChunkKeeper {
 public:
  explicit MessageToKeep(const std::shared_ptr<KeptMessages>& all) noexcept : all_(all) {}
  ~MessageToKeep();
  MessageToKeep(const MessageToKeep&) = delete;
  MessageToKeep& operator=(const MessageToKeep&) = delete;
  [[nodiscard]] detail::ArrayBlock* keep(const std::byte* at) override;
  /// Takes `message` if any array lies in it, which may move its payload; else leaves it. Inside the handler
  /// to which it was given.
  void keep_in(weft::Message& message);

 private:
  const std::shared_ptr<KeptMessages>& all_;
  KeptMessages::Kept* kept_ = nullptr;  // with a reference of its own until keep_in()
};

}  // namespace weft::parcel
