// A rank that starts programs: started_program_rank join | system COMMAND | first COMMAND | exec COMMAND...
//
// join: joins, meets the others, and says who it is. system: as that, and rank 0 starts COMMAND meanwhile.
// exec: joins and leaves, twice, and then is COMMAND.
#include "support/rank_program.hpp"

#include <weft/weft.hpp>

#include <sys/wait.h>
#include <unistd.h>

int main(int count, char** arguments) {
  const std::string what = count > 1 ? arguments[1] : "join";
  try {
    if (what == "exec") {
      for (int time = 0; time < 2; ++time) {
        weft::Runtime runtime;
        runtime.barrier();
      }
      ::execvp(arguments[2], arguments + 2);
      weft::test::fail("exec");
    }
    weft::Runtime runtime;
    runtime.barrier();
    if (what == "system" && runtime.rank() == 0) {
      const int status = std::system(arguments[2]);
      std::printf("started: %d\n", WEXITSTATUS(status));
      std::fflush(stdout);
    }
    runtime.barrier();
    std::printf("rank %d of %d\n", runtime.rank(), runtime.size());
  } catch (const weft::Error& error) {
    weft::test::fail(error.what());
  }
}
