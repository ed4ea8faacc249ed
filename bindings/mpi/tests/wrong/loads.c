/* Loads the library of its argument, and calls it. */
#include <dlfcn.h>
#include <mpi.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  void* const library = dlopen(argv[1], RTLD_NOW);
  if (library == NULL) return EXIT_FAILURE;
  void (*const call)(void) = (void (*)(void))dlsym(library, "call_wrongly");
  call();
  MPI_Finalize();
  return EXIT_SUCCESS;
}
