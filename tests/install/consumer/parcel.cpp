// Every rank answers rank 0.
#include <weft/parcel/parcel.hpp>

#include <cstdio>

int answer() { return 1; }

int main() {
  weft::parcel::Runtime runtime;
  if (runtime.rank() != 0) return 0;
  int answers = 0;
  for (int rank = 0; rank < runtime.size(); ++rank)
    answers += runtime.async(rank, weft::parcel::action<&answer>).get();
  std::printf("%d answers\n", answers);
}
