#include "bindings/mpi/roll_call/blocks.hpp"

#include "bindings/mpi/collectives/launch.hpp"
#include "bindings/mpi/roll_call/under_way.hpp"

#include <string>
#include <utility>

namespace weft::mpi {

namespace {

Task compare(Channel channel, std::vector<BlockOfMember> sent, std::vector<BlockOfMember> awaited,
             CallSite site) {
  const UnderWay under_way;
  std::vector<Amount> theirs(awaited.size());
  Exchange exchange(channel);
  for (std::size_t index = 0; index < awaited.size(); ++index)
    exchange.receive(&theirs[index], sizeof(Amount), byte_type, awaited[index].member,
                     awaited[index].tag_offset);
  for (const BlockOfMember& block : sent)
    exchange.send(&block.amount, sizeof(Amount), byte_type, block.member, block.tag_offset);
  co_await exchange;
  const Communicator* const communicator = &channel.communicator;
  for (std::size_t index = 0; index < awaited.size(); ++index) {
    const Amount &own = awaited[index].amount, &other = theirs[index];
    if (own.bytes < 0 || other.bytes < 0) continue;
    if (own.bytes != other.bytes)
      end_with_finding(site, communicator, MPI_ERR_COUNT,
                       "rank %d passes %lld bytes for what this rank awaits from it, and this rank %lld",
                       awaited[index].member, static_cast<long long>(other.bytes),
                       static_cast<long long>(own.bytes));
    if (const std::string wrong = mismatch(other.elements, own.elements); !wrong.empty())
      end_with_finding(site, communicator, MPI_ERR_TYPE, "other datatypes than those of rank %d: %s",
                       awaited[index].member, wrong.c_str());
  }
}

}  // namespace

Amount BlockList::of(int index) const {
  const MPI_Count own_count = counts.is_null() ? count : counts[index];
  return own_count == 0 ? Amount{0, {}} : amount_of(own_count, types != nullptr ? types[index] : type);
}

void compare_blocks(const Channel& of, bool is_of_neighbours, std::vector<BlockOfMember> sent,
                    std::vector<BlockOfMember> awaited) {
  Communicator& communicator = of.communicator;
  // Beside the collective's own messages, and those that compare calls, by bits of the tag that numbers of
  // collectives do not reach. Each edge of neighbours has a tag.
  constexpr int kOfNeighbours = 0x60000000, kOfBlocks = 0x40000000;
  const int tag =
      is_of_neighbours ? (of.tag & 0x7fffff) << 6 | kOfNeighbours : (of.tag & 0x3fffffff) | kOfBlocks;
  Request* const request = take_request(communicator);
  request->what = Request::What::work;
  request->state.store(Request::kFreed, std::memory_order_relaxed);  // nobody waits for it
  launch(compare(Channel(communicator, communicator.hidden_context(), tag), std::move(sent),
                 std::move(awaited), CallSite::current()),
         *request);
}

void compare_lists(const Channel& of, Shape shape, int root, const BlockList& sent,
                   const BlockList& awaited) {
  const Communicator& communicator = of.communicator;
  if (communicator.is_inter()) return;
  const int rank = communicator.rank;
  const auto goes = [&](int from, int to) {
    return shape == Shape::all_to_all || (shape == Shape::gather ? to : from) == root;
  };
  std::vector<BlockOfMember> to, from;
  for (int other = 0; other < communicator.size; ++other) {
    if (other == rank) continue;
    if (goes(rank, other)) to.push_back({other, 0, sent.of(other)});
    if (goes(other, rank)) from.push_back({other, 0, awaited.of(other)});
  }
  compare_blocks(of, false, std::move(to), std::move(from));
}

}  // namespace weft::mpi
