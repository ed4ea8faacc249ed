/* The program behind docs/measurements/2026-11-mpi.md: microseconds a message, call or step, a row each.
 *
 *     mpicc -O2 -o mpi_figures mpi_figures.c -lpthread
 *     mpiexec -n 2 ./mpi_figures p2p,mt,coll      of 4 ranks: coll; of 8: apps,any
 *
 * Each operation is repeated until 30 ms have gone. */
#include <mpi.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static int rank, size;
static double limit = 0.03;
static char *A, *B;
static void row(const char* name, double v) {
  if (rank == 0) {
    printf("%s %.6g\n", name, v);
    fflush(stdout);
  }
}
/* Microseconds of one of n operations, for an n whose operations take long enough. */
typedef void (*op)(int n, size_t bytes);
static double timed(op f, size_t bytes) {
  int n = 4;
  double t;
  for (;;) {
    MPI_Barrier(MPI_COMM_WORLD);
    double s = MPI_Wtime();
    f(n, bytes);
    t = MPI_Wtime() - s;
    MPI_Bcast(&t, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    if (t > limit) break;
    double g = limit * 1.3 / (t > 1e-6 ? t : 1e-6);
    if (g > 16) g = 16;
    if (g < 1.3) g = 1.3;
    n = (int)(n * g) + 1;
  }
  return t / n * 1e6;
}
static void pingpong(int n, size_t b) {
  for (int i = 0; i < n; ++i) {
    if (rank == 0) {
      MPI_Send(A, (int)b, MPI_BYTE, 1, 1, MPI_COMM_WORLD);
      MPI_Recv(B, (int)b, MPI_BYTE, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      MPI_Recv(B, (int)b, MPI_BYTE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(A, (int)b, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    }
  }
}
static void window(int n, size_t b) {
  MPI_Request r[64];
  char ack;
  for (int i = 0; i < n; ++i) {
    if (rank == 0) {
      for (int w = 0; w < 64; ++w) MPI_Isend(A, (int)b, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &r[w]);
      MPI_Waitall(64, r, MPI_STATUSES_IGNORE);
      MPI_Recv(&ack, 1, MPI_BYTE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
      for (int w = 0; w < 64; ++w) MPI_Irecv(B + w % 8 * b, (int)b, MPI_BYTE, 0, 1, MPI_COMM_WORLD, &r[w]);
      MPI_Waitall(64, r, MPI_STATUSES_IGNORE);
      MPI_Send(&ack, 1, MPI_BYTE, 0, 2, MPI_COMM_WORLD);
    }
  }
}
static int nthreads, mt_n;
static MPI_Comm comms[8];
static int mt_rate;
static void* mt(void* p) {
  int t = (int)(long)p;
  char a[8], b[8 * 64];
  MPI_Request r[64];
  MPI_Comm c = comms[t];
  for (int i = 0; i < mt_n; ++i) {
    if (!mt_rate) {
      if (rank == 0) {
        MPI_Send(a, 8, MPI_BYTE, 1, 1, c);
        MPI_Recv(b, 8, MPI_BYTE, 1, 1, c, MPI_STATUS_IGNORE);
      } else {
        MPI_Recv(b, 8, MPI_BYTE, 0, 1, c, MPI_STATUS_IGNORE);
        MPI_Send(a, 8, MPI_BYTE, 0, 1, c);
      }
    } else {
      if (rank == 0) {
        for (int w = 0; w < 64; ++w) MPI_Isend(a, 8, MPI_BYTE, 1, 1, c, &r[w]);
        MPI_Waitall(64, r, MPI_STATUSES_IGNORE);
        MPI_Recv(b, 1, MPI_BYTE, 1, 2, c, MPI_STATUS_IGNORE);
      } else {
        for (int w = 0; w < 64; ++w) MPI_Irecv(b + 8 * w, 8, MPI_BYTE, 0, 1, c, &r[w]);
        MPI_Waitall(64, r, MPI_STATUSES_IGNORE);
        MPI_Send(a, 1, MPI_BYTE, 0, 2, c);
      }
    }
  }
  return 0;
}
static void threads(int n, size_t b) {
  (void)b;
  pthread_t t[8];
  mt_n = n;
  if (rank > 1) return;
  for (int i = 0; i < nthreads; ++i) pthread_create(&t[i], 0, mt, (void*)(long)i);
  for (int i = 0; i < nthreads; ++i) pthread_join(t[i], 0);
}
static void c_barrier(int n, size_t b) {
  (void)b;
  while (n--) MPI_Barrier(MPI_COMM_WORLD);
}
static void c_bcast(int n, size_t b) {
  while (n--) MPI_Bcast(A, (int)b, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void c_reduce(int n, size_t b) {
  while (n--) MPI_Reduce(A, B, (int)(b / 8), MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
}
static void c_allreduce(int n, size_t b) {
  while (n--) MPI_Allreduce(A, B, (int)(b / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void c_gather(int n, size_t b) {
  while (n--) MPI_Gather(A, (int)b, MPI_BYTE, B, (int)b, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void c_scatter(int n, size_t b) {
  while (n--) MPI_Scatter(B, (int)b, MPI_BYTE, A, (int)b, MPI_BYTE, 0, MPI_COMM_WORLD);
}
static void c_allgather(int n, size_t b) {
  while (n--) MPI_Allgather(A, (int)b, MPI_BYTE, B, (int)b, MPI_BYTE, MPI_COMM_WORLD);
}
static void c_alltoall(int n, size_t b) {
  while (n--) MPI_Alltoall(A, (int)b, MPI_BYTE, B, (int)b, MPI_BYTE, MPI_COMM_WORLD);
}
static void c_rsb(int n, size_t b) {
  while (n--) MPI_Reduce_scatter_block(A, B, (int)(b / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
static void c_scan(int n, size_t b) {
  while (n--) MPI_Scan(A, B, (int)(b / 8), MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}
/* 7-point stencil, 3-D decomposition, 24^3 per rank */
static void stencil(int n, size_t b) {
  (void)b;
  enum { N = 24 };
  static double u[N + 2][N + 2][N + 2], v[N + 2][N + 2][N + 2], out[6][N * N], in[6][N * N];
  int dims[3] = {0, 0, 0}, per[3] = {1, 1, 1}, nb[6];
  MPI_Comm cart;
  MPI_Dims_create(size, 3, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 3, dims, per, 0, &cart);
  for (int d = 0; d < 3; ++d) MPI_Cart_shift(cart, d, 1, &nb[2 * d], &nb[2 * d + 1]);
  for (int it = 0; it < n; ++it) {
    MPI_Request r[12];
    for (int f = 0; f < 6; ++f) MPI_Irecv(in[f], N * N, MPI_DOUBLE, nb[f], f ^ 1, cart, &r[f]);
    for (int f = 0; f < 6; ++f) {
      int at = f % 2 ? N : 1, k = 0;
      for (int i = 1; i <= N; ++i)
        for (int j = 1; j <= N; ++j) out[f][k++] = f < 2 ? u[at][i][j] : f < 4 ? u[i][at][j] : u[i][j][at];
      MPI_Isend(out[f], N * N, MPI_DOUBLE, nb[f], f, cart, &r[6 + f]);
    }
    MPI_Waitall(12, r, MPI_STATUSES_IGNORE);
    for (int f = 0; f < 6; ++f) {
      int at = f % 2 ? N + 1 : 0, k = 0;
      for (int i = 1; i <= N; ++i)
        for (int j = 1; j <= N; ++j)
          *(f < 2 ? &u[at][i][j] : f < 4 ? &u[i][at][j] : &u[i][j][at]) = in[f][k++];
    }
    for (int i = 1; i <= N; ++i)
      for (int j = 1; j <= N; ++j)
        for (int k = 1; k <= N; ++k)
          v[i][j][k] = (u[i - 1][j][k] + u[i + 1][j][k] + u[i][j - 1][k] + u[i][j + 1][k] + u[i][j][k - 1] +
                        u[i][j][k + 1]) /
                       6;
    memcpy(u, v, sizeof u);
  }
  MPI_Comm_free(&cart);
}
/* conjugate gradient of a 1-D Laplacian, 4096 rows a rank */
static void cg(int n, size_t b) {
  (void)b;
  enum { N = 4096 };
  static double p[N + 2], q[N], x[N], r[N];
  double rr = 1, pq, s;
  int l = rank ? rank - 1 : MPI_PROC_NULL, h = rank < size - 1 ? rank + 1 : MPI_PROC_NULL;
  for (int i = 0; i < N; ++i) r[i] = p[i + 1] = 1;
  for (int it = 0; it < n; ++it) {
    MPI_Sendrecv(&p[1], 1, MPI_DOUBLE, l, 0, &p[N + 1], 1, MPI_DOUBLE, h, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    MPI_Sendrecv(&p[N], 1, MPI_DOUBLE, h, 1, &p[0], 1, MPI_DOUBLE, l, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    pq = 0;
    for (int i = 0; i < N; ++i) {
      q[i] = 2.1 * p[i + 1] - p[i] - p[i + 2];
      pq += q[i] * p[i + 1];
    }
    MPI_Allreduce(&pq, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double a = rr / (s + 1e-300), nr = 0;
    for (int i = 0; i < N; ++i) {
      x[i] += a * p[i + 1];
      r[i] -= a * q[i];
      nr += r[i] * r[i];
    }
    MPI_Allreduce(&nr, &s, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    double be = s / (rr + 1e-300);
    rr = s;
    for (int i = 0; i < N; ++i) p[i + 1] = r[i] + be * p[i + 1];
    if (rr < 1e-200) {
      rr = 1;
      for (int i = 0; i < N; ++i) r[i] = p[i + 1] = 1;
    }
  }
}
/* every rank sends 5 messages of 16 to 4096 bytes to ranks drawn at random; receivers know how many from an
 * allreduce */
static void unstructured(int n, size_t b) {
  (void)b;
  unsigned s = 7;
  static int to[64], got[64];
  for (int it = 0; it < n; ++it) {
    int dst[5];
    size_t len[5];
    MPI_Request r[5];
    memset(to, 0, sizeof to);
    unsigned mine = s + 977u * (unsigned)rank;
    s = s * 1103515245u + 12345u;
    for (int m = 0; m < 5; ++m) {
      mine = mine * 1664525u + 1013904223u;
      dst[m] = (int)(mine >> 8) % size;
      if (dst[m] < 0) dst[m] += size;
      len[m] = 16u << (mine >> 28 & 7);
      if (len[m] > 2048) len[m] = 2048;
      ++to[dst[m]];
    }
    for (int m = 0; m < 5; ++m) MPI_Isend(A, (int)len[m], MPI_BYTE, dst[m], 3, MPI_COMM_WORLD, &r[m]);
    int count;
    MPI_Reduce_scatter_block(to, got, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    count = got[0];
    while (count--) {
      MPI_Status st;
      int c;
      MPI_Probe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &st);
      MPI_Get_count(&st, MPI_BYTE, &c);
      MPI_Recv(B, c, MPI_BYTE, st.MPI_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    MPI_Waitall(5, r, MPI_STATUSES_IGNORE);
  }
}
int main(int argc, char** argv) {
  int given;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &given);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  A = calloc(1, (size_t)(33 << 20));
  B = calloc(1, (size_t)(33 << 20));
  char name[64];
  const char* what = argc > 1 ? argv[1] : "p2p";
  if (strstr(what, "p2p")) {
    row("latency-8", timed(pingpong, 8) / 2);
    row("latency-4K", timed(pingpong, 4096) / 2);
    row("rate-8", timed(window, 8) / 64);
    row("rate-512", timed(window, 512) / 64);
    for (size_t b = 1024; b <= 4 << 20; b *= 4) {
      sprintf(name, "bandwidth-%zuK", b >> 10);
      row(name, timed(window, b) / 64);
    }
  }
  if (strstr(what, "mt")) {
    for (int i = 0; i < 4; ++i) MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]);
    for (nthreads = 2; nthreads <= 4; nthreads += 2) {
      mt_rate = 0;
      sprintf(name, "latency-%dt", nthreads);
      row(name, timed(threads, 8) / 2 / nthreads);
      mt_rate = 1;
      sprintf(name, "rate-%dt", nthreads);
      row(name, timed(threads, 8) / 64 / nthreads);
    }
  }
  if (strstr(what, "coll")) {
    struct {
      const char* n;
      op f;
    } k[] = {{"bcast", c_bcast},       {"reduce", c_reduce},      {"allreduce", c_allreduce},
             {"gather", c_gather},     {"scatter", c_scatter},    {"allgather", c_allgather},
             {"alltoall", c_alltoall}, {"reduce_scatter", c_rsb}, {"scan", c_scan}};
    row("barrier", timed(c_barrier, 0));
    for (unsigned i = 0; i < sizeof k / sizeof *k; ++i)
      for (size_t b = 8; b <= 1 << 20; b = b == 8       ? 1024
                                           : b == 1024  ? 65536
                                           : b == 65536 ? 1 << 20
                                                        : 1 << 21) {
        sprintf(name, "%s-%zu", k[i].n, b);
        row(name, timed(k[i].f, b));
      }
  }
  if (strstr(what, "apps")) {
    row("stencil", timed(stencil, 0));
    row("cg", timed(cg, 0));
  }
  if (strstr(what, "any")) row("unstructured", timed(unstructured, 0));
  MPI_Finalize();
  return 0;
}
