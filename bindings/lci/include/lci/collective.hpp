// Collectives. Without `comp` they wait, else they return at once and signal it at the end.
#ifndef WEFT_LCI_COLLECTIVE_HPP
#define WEFT_LCI_COLLECTIVE_HPP

#include "arguments.hpp"

namespace lci {

namespace arguments {
/// What every collective may be given. The matching engine is always one of its own.
template <class Operation>
struct collective_argument : network_argument<Operation>,
                             matching_engine_argument<Operation>,
                             comp_semantic_argument<Operation>,
                             comp_argument<Operation>,
                             ring_nsteps_argument<Operation> {};
/// The algorithm that is asked for, which is not looked at.
template <class Operation, class Algorithm>
struct algorithm_argument {
  Algorithm m_algorithm = Algorithm::none;
  Operation&& algorithm(Algorithm value) {
    m_algorithm = value;
    return static_cast<Operation&&>(static_cast<Operation&>(*this));
  }
};
}  // namespace arguments

class barrier_x : public arguments::operation<barrier_x, void, arguments::collective_argument> {
 public:
  WEFT_LCI_API void call() const;
};
inline void barrier() { barrier_x().call(); }

class broadcast_x : public arguments::operation<broadcast_x, void, arguments::collective_argument,
                                                arguments::buffer_argument, arguments::size_argument,
                                                arguments::root_argument>,
                    public arguments::algorithm_argument<broadcast_x, broadcast_algorithm_t> {
 public:
  broadcast_x(void* data, size_t bytes, int from) {
    m_buffer = data;
    m_size = bytes;
    m_root = from;
  }
  WEFT_LCI_API void call() const;
};
inline void broadcast(void* buffer, size_t size, int root) { broadcast_x(buffer, size, root).call(); }

/// On other ranks than the root recvbuf is not used. sendbuf and recvbuf may be the same, here and in the
/// other reductions.
class reduce_x : public arguments::operation<reduce_x, void, arguments::collective_argument,
                                             arguments::sendbuf_argument, arguments::recvbuf_argument,
                                             arguments::count_argument, arguments::item_size_argument,
                                             arguments::op_argument, arguments::root_argument> {
 public:
  reduce_x(const void* from, void* to, size_t items, size_t item, reduce_op_t with, int at) {
    m_sendbuf = from;
    m_recvbuf = to;
    m_count = items;
    m_item_size = item;
    m_op = with;
    m_root = at;
  }
  WEFT_LCI_API void call() const;
};
inline void reduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size, reduce_op_t op,
                   int root) {
  reduce_x(sendbuf, recvbuf, count, item_size, op, root).call();
}

class allreduce_x : public arguments::operation<allreduce_x, void, arguments::collective_argument,
                                                arguments::sendbuf_argument, arguments::recvbuf_argument,
                                                arguments::count_argument, arguments::item_size_argument,
                                                arguments::op_argument>,
                    public arguments::algorithm_argument<allreduce_x, allreduce_algorithm_t> {
 public:
  allreduce_x(const void* from, void* to, size_t items, size_t item, reduce_op_t with) {
    m_sendbuf = from;
    m_recvbuf = to;
    m_count = items;
    m_item_size = item;
    m_op = with;
  }
  WEFT_LCI_API void call() const;
};
inline void allreduce(const void* sendbuf, void* recvbuf, size_t count, size_t item_size, reduce_op_t op) {
  allreduce_x(sendbuf, recvbuf, count, item_size, op).call();
}

/// sendbuf has recvcount items for each rank.
class reduce_scatter_x : public arguments::operation<reduce_scatter_x, void, arguments::collective_argument,
                                                     arguments::sendbuf_argument, arguments::recvbuf_argument,
                                                     arguments::recvcount_argument,
                                                     arguments::item_size_argument, arguments::op_argument>,
                         public arguments::algorithm_argument<reduce_scatter_x, reduce_scatter_algorithm_t> {
 public:
  reduce_scatter_x(const void* from, void* to, size_t items, size_t item, reduce_op_t with) {
    m_sendbuf = from;
    m_recvbuf = to;
    m_recvcount = items;
    m_item_size = item;
    m_op = with;
  }
  WEFT_LCI_API void call() const;
};
inline void reduce_scatter(const void* sendbuf, void* recvbuf, size_t recvcount, size_t item_size,
                           reduce_op_t op) {
  reduce_scatter_x(sendbuf, recvbuf, recvcount, item_size, op).call();
}

/// `size`: bytes of each rank.
class allgather_x : public arguments::operation<allgather_x, void, arguments::collective_argument,
                                                arguments::sendbuf_argument, arguments::recvbuf_argument,
                                                arguments::size_argument> {
 public:
  allgather_x(const void* from, void* to, size_t bytes) {
    m_sendbuf = from;
    m_recvbuf = to;
    m_size = bytes;
  }
  WEFT_LCI_API void call() const;
};
inline void allgather(const void* sendbuf, void* recvbuf, size_t size) {
  allgather_x(sendbuf, recvbuf, size).call();
}

/// `size`: bytes from each rank to each rank.
class alltoall_x : public arguments::operation<alltoall_x, void, arguments::collective_argument,
                                               arguments::sendbuf_argument, arguments::recvbuf_argument,
                                               arguments::size_argument> {
 public:
  alltoall_x(const void* from, void* to, size_t bytes) {
    m_sendbuf = from;
    m_recvbuf = to;
    m_size = bytes;
  }
  WEFT_LCI_API void call() const;
};
inline void alltoall(const void* sendbuf, void* recvbuf, size_t size) {
  alltoall_x(sendbuf, recvbuf, size).call();
}

}  // namespace lci

#endif
