#include <lct.h>
#include <lci.hpp>

#include <cstdio>

#include "ring.h"

#if __cplusplus >= 202002L
#error "the client has been made C++20 by what it links"
#endif

int main() {
  LCT_init();
  const LCT_time_t start = LCT_now();
  lci::g_runtime_init();
  const unsigned long number = go_around();
  if (lci::get_rank_me() == 0)
    std::printf("%lu after %d ranks\n", number, LCT_now() < start ? 0 : lci::get_rank_n());
  lci::g_runtime_fina();
  LCT_fina();
}
