// What all ranks of a job must agree on: each states it when it joins, and a difference is told with both
// ranks and both values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bootstrap/bootstrap.hpp"

namespace weft::bootstrap {

/// What one rank takes for granted of all.
class Statement {
 public:
  /// `host`: of the rank, for messages only.
  explicit Statement(std::string_view host);

  /// `what` names the thing, and how it is set: "packet_size (WEFT_PACKET_SIZE)".
  void add(std::string_view what, std::string_view value);

  /// Fields that end with a zero byte: the host, and then each thing and its value.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

 private:
  void append(std::string_view field);
  std::string text_;
};

/// Compares the statements of the ranks of a job with the first one. Statements that are equal, as they are
/// in a job without a fault, are only compared as bytes.
class Agreement {
 public:
  /// Returns why the rank cannot take part; an empty text when it can.
  std::string state(int rank, std::string_view statement);

 private:
  int first_ = -1;
  std::string statement_;            // of the first
  std::vector<std::string> agreed_;  // of ranks on other hosts than the first
};

/// What implementations of Bootstrap are, too, by which ranks can compare what they state.
class Agreeing {
 public:
  virtual void agree(std::string_view statement) = 0;

 protected:
  ~Agreeing() = default;
};

/// States what this rank takes for granted of all. It is compared with what the first of the ranks that came
/// so far has stated, without waiting for others. Throws weft::Error that names both ranks and the values in
/// which they differ; this rank has then failed for the others, which are told the same. Alone a rank agrees.
void agree(Bootstrap& bootstrap, std::string_view statement);

}  // namespace weft::bootstrap
