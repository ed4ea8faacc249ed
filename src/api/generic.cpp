#include <weft/endpoint/generic.hpp>
#include <weft/error.hpp>

#include <limits>
#include <string>

namespace weft::detail {

void check(const Communication& communication) {
  const bool has_buffer = communication.remote_buffer.region.rank >= 0;
  const bool has_completion = communication.remote_completion.generation() != 0;
  const bool is_in = communication.direction == Communication::Direction::in;
  if (is_in && has_completion && !has_buffer)
    throw Error(
        ErrorClass::option,
        "post_comm: direction in with a remote completion and no remote buffer is no operation: a get with "
        "signal "
        "needs a remote buffer, a receive has no remote completion");
  if (is_in ? !communication.source.empty() : !communication.target.empty())
    throw Error(ErrorClass::option,
                std::string("post_comm: direction ") +
                    (is_in ? "in takes its buffer as target" : "out takes its buffer as source") +
                    ", but the other one was given");
  if ((has_buffer || has_completion) && communication.tag > std::numeric_limits<std::uint32_t>::max())
    throw Error(ErrorClass::option, "post_comm: tag " + std::to_string(communication.tag) +
                                        " has more than 32 bits, which only sends and receives carry");
}

}  // namespace weft::detail
