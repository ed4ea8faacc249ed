/* ranks: 2 4
   Valid calls drawn at random, whose results are known: messages of all modes, lengths, datatypes and
   wildcards in batches, collectives in three forms around them, communicators that come and go, by two
   threads a rank at a time that know nothing of each other. `random_calls SEED STEPS` runs another draw. */
#include "check.h"

#include "random_messages.h"

#include <pthread.h>

enum { kThreads = 2, kMostCommunicators = 5 };

struct Player {
  struct Draw draw; /* the same on all ranks */
  MPI_Comm own;     /* of this thread, of all ranks */
  MPI_Comm all[kMostCommunicators];
  int number;
  int steps;
};

/* ---- collectives ---- */

/* A collective under way, and what it must bring. */
struct Collective {
  int kind, root, count, is_in_place;
  MPI_Comm in;
  int me, size;
  unsigned salt;
  int *sent, *got;
  MPI_Request request;
};

enum {
  kBcast,
  kReduce,
  kAllreduce,
  kGather,
  kScatter,
  kAllgather,
  kAlltoall,
  kScan,
  kExscan,
  kScatterSum,
  kBarrier,
  kKinds
};

static int value_of(unsigned salt, int of, int at) {
  return (int)((salt ^ (unsigned)(of * 7919)) % 1000) + at % 1000;
}

static void fill(struct Collective* c) {
  const int blocks = c->kind == kScatter || c->kind == kAlltoall || c->kind == kScatterSum ? c->size : 1;
  for (int at = 0; at < blocks * c->count; ++at) c->sent[at] = value_of(c->salt, c->me, at);
  for (int at = 0; at < c->size * c->count; ++at) c->got[at] = -1;
  if (c->kind == kBcast && c->me == c->root) memcpy(c->got, c->sent, sizeof(int) * (size_t)c->count);
  if (!c->is_in_place) return;
  if (c->kind == kAllreduce || c->kind == kScan) memcpy(c->got, c->sent, sizeof(int) * (size_t)c->count);
  if (c->kind == kAllgather) memcpy(c->got + c->me * c->count, c->sent, sizeof(int) * (size_t)c->count);
  if (c->kind == kAlltoall) memcpy(c->got, c->sent, sizeof(int) * (size_t)(c->size * c->count));
}

enum Form { kBlocking, kImmediate, kPersistent };

#define CALL(name, ...)                                                  \
  do {                                                                   \
    if (form == kBlocking)                                               \
      MPI_##name(__VA_ARGS__, c->in);                                    \
    else if (form == kImmediate)                                         \
      MPI_I##name##_(__VA_ARGS__, c->in, &c->request);                   \
    else                                                                 \
      MPI_##name##_init(__VA_ARGS__, c->in, MPI_INFO_NULL, &c->request); \
  } while (0)
#define MPI_IBcast_ MPI_Ibcast
#define MPI_IReduce_ MPI_Ireduce
#define MPI_IAllreduce_ MPI_Iallreduce
#define MPI_IGather_ MPI_Igather
#define MPI_IScatter_ MPI_Iscatter
#define MPI_IAllgather_ MPI_Iallgather
#define MPI_IAlltoall_ MPI_Ialltoall
#define MPI_IScan_ MPI_Iscan
#define MPI_IExscan_ MPI_Iexscan
#define MPI_IReduce_scatter_block_ MPI_Ireduce_scatter_block

static void call(struct Collective* c, enum Form form) {
  const void* from = c->is_in_place ? MPI_IN_PLACE : c->sent;
  const int n = c->count;
  switch (c->kind) {
    case kBcast:
      CALL(Bcast, c->got, n, MPI_INT, c->root);
      break;
    case kReduce:
      CALL(Reduce, c->sent, c->got, n, MPI_INT, MPI_SUM, c->root);
      break;
    case kAllreduce:
      CALL(Allreduce, from, c->got, n, MPI_INT, MPI_SUM);
      break;
    case kGather:
      CALL(Gather, c->sent, n, MPI_INT, c->got, n, MPI_INT, c->root);
      break;
    case kScatter:
      CALL(Scatter, c->sent, n, MPI_INT, c->got, n, MPI_INT, c->root);
      break;
    case kAllgather:
      CALL(Allgather, from, n, MPI_INT, c->got, n, MPI_INT);
      break;
    case kAlltoall:
      CALL(Alltoall, from, n, MPI_INT, c->got, n, MPI_INT);
      break;
    case kScan:
      CALL(Scan, from, c->got, n, MPI_INT, MPI_SUM);
      break;
    case kExscan:
      CALL(Exscan, c->sent, c->got, n, MPI_INT, MPI_SUM);
      break;
    case kScatterSum:
      CALL(Reduce_scatter_block, c->sent, c->got, n, MPI_INT, MPI_SUM);
      break;
    default:
      if (form == kBlocking) MPI_Barrier(c->in);
      if (form == kImmediate) MPI_Ibarrier(c->in, &c->request);
      if (form == kPersistent) MPI_Barrier_init(c->in, MPI_INFO_NULL, &c->request);
  }
}

static int sum_of(const struct Collective* c, int first, int end, int at) {
  int sum = 0;
  for (int of = first; of < end; ++of) sum += value_of(c->salt, of, at);
  return sum;
}

static void check(const struct Collective* c) {
  const int n = c->count, me = c->me, is_root = me == c->root;
  for (int at = 0; at < n; ++at) switch (c->kind) {
      case kBcast:
        CHECK(c->got[at] == value_of(c->salt, c->root, at));
        break;
      case kReduce:
        CHECK(!is_root || c->got[at] == sum_of(c, 0, c->size, at));
        break;
      case kAllreduce:
        CHECK(c->got[at] == sum_of(c, 0, c->size, at));
        break;
      case kGather:
      case kAllgather:
        for (int of = 0; of < c->size && (is_root || c->kind == kAllgather); ++of)
          CHECK(c->got[of * n + at] == value_of(c->salt, of, at));
        break;
      case kScatter:
        CHECK(c->got[at] == value_of(c->salt, c->root, me * n + at));
        break;
      case kAlltoall:
        for (int of = 0; of < c->size; ++of) CHECK(c->got[of * n + at] == value_of(c->salt, of, me * n + at));
        break;
      case kScan:
        CHECK(c->got[at] == sum_of(c, 0, me + 1, at));
        break;
      case kExscan:
        CHECK(me == 0 || c->got[at] == sum_of(c, 0, me, at));
        break;
      case kScatterSum:
        CHECK(c->got[at] == sum_of(c, 0, c->size, me * n + at));
        break;
      default:
        break;
    }
}

static enum Form begin_collective(struct Player* player, MPI_Comm in, struct Collective* c) {
  struct Draw* const draw = &player->draw;
  c->in = in;
  MPI_Comm_rank(in, &c->me);
  MPI_Comm_size(in, &c->size);
  c->kind = (int)drawn(draw, kKinds);
  c->root = (int)drawn(draw, (unsigned)c->size);
  c->count = (int)length_of(draw) / 8;
  c->is_in_place = drawn(draw, 2) == 0;
  c->salt = drawn(draw, 1u << 30);
  c->sent = malloc(sizeof(int) * (size_t)(c->size * c->count + 1));
  c->got = malloc(sizeof(int) * (size_t)(c->size * c->count + 1));
  const enum Form form = (enum Form)drawn(draw, 3);
  fill(c);
  call(c, form);
  if (form == kPersistent) MPI_Start(&c->request);
  if (form == kBlocking) check(c);
  return form;
}

static void end_collective(struct Collective* c, enum Form form) {
  for (int times = 0; form != kBlocking; ++times) {
    int done = 0;
    while (times == 0 && !done) MPI_Test(&c->request, &done, MPI_STATUS_IGNORE);
    MPI_Wait(&c->request, MPI_STATUS_IGNORE);
    check(c);
    if (form != kPersistent || times == 1) break;
    fill(c);
    MPI_Start(&c->request);
  }
  if (form == kPersistent) MPI_Request_free(&c->request);
  free(c->sent);
  free(c->got);
}

/* ---- communicators ---- */

static void change_communicators(struct Player* player) {
  struct Draw* const draw = &player->draw;
  const int place = (int)drawn(draw, kMostCommunicators);
  const unsigned how = drawn(draw, 4), key = drawn(draw, 2), colours = 1 + drawn(draw, 3);
  if (player->all[place] != MPI_COMM_NULL) MPI_Comm_free(&player->all[place]);
  if (how == 0) {
    MPI_Comm_dup(player->own, &player->all[place]);
  } else if (how == 1) {
    MPI_Request request;
    MPI_Comm_idup(player->own, &player->all[place], &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else if (how == 2) {
    MPI_Comm_split(player->own, rank % (int)colours, key ? -rank : rank, &player->all[place]);
  } else {
    MPI_Group all, some;
    int range[1][3] = {{ranks - 1, 0, -1}};
    MPI_Comm_group(player->own, &all);
    MPI_Group_range_incl(all, 1, range, &some);
    MPI_Comm_create_group(player->own, some, place, &player->all[place]);
    MPI_Group_free(&some);
    MPI_Group_free(&all);
  }
}

/* ---- a thread ---- */

static void* play(void* given) {
  struct Player* const player = given;
  struct Draw* const draw = &player->draw;
  for (int step = 0; step < player->steps; ++step) {
    if (drawn(draw, 6) == 0) change_communicators(player);
    /* Members of different parts of a split draw the same, each for its part. */
    const int place = (int)drawn(draw, kMostCommunicators + 1);
    const MPI_Comm in =
        place < kMostCommunicators && player->all[place] != MPI_COMM_NULL ? player->all[place] : player->own;
    struct Collective early, late;
    const struct Draw before = *draw;
    const enum Form first = begin_collective(player, in, &early);
    if (drawn(draw, 3) != 0) exchange_messages(draw, in);
    const enum Form second = begin_collective(player, in, &late);
    end_collective(&late, second);
    end_collective(&early, first);
    /* What is drawn may depend on the size of a part: all go on with the same. */
    *draw = before;
    for (int more = 0; more < 3; ++more) drawn(draw, 1000);
  }
  return NULL;
}

int main(int argc, char** argv) {
  const unsigned seed = argc > 1 ? (unsigned)strtoul(argv[1], NULL, 10) : 1;
  const int steps = argc > 2 ? atoi(argv[2]) : 40;
  struct Player players[kThreads];
  pthread_t threads[kThreads];
  int given;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  CHECK(given == MPI_THREAD_MULTIPLE);
  attach_buffer();
  for (int number = 0; number < kThreads; ++number) {
    players[number].draw.state = seed * 2654435761u + (unsigned)number * 40503u + 1;
    players[number].number = number;
    players[number].steps = steps;
    MPI_Comm_dup(MPI_COMM_WORLD, &players[number].own);
    for (int each = 0; each < kMostCommunicators; ++each) players[number].all[each] = MPI_COMM_NULL;
  }
  for (int number = 0; number < kThreads; ++number)
    pthread_create(&threads[number], NULL, play, &players[number]);
  for (int number = 0; number < kThreads; ++number) pthread_join(threads[number], NULL);
  for (int number = 0; number < kThreads; ++number) {
    for (int each = 0; each < kMostCommunicators; ++each)
      if (players[number].all[each] != MPI_COMM_NULL) MPI_Comm_free(&players[number].all[each]);
    MPI_Comm_free(&players[number].own);
  }
  detach_buffer();
  MPI_Finalize();
  return 0;
}
