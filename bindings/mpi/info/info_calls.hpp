// The calls of the group "info".
#pragma once

#include "bindings/mpi/info/info.hpp"

namespace weft::mpi {

void info_create(MPI_Info* info);
void info_create_env(int argc, char** argv, MPI_Info* info);
void info_delete(Info* info, const char* key);
void info_dup(Info* info, MPI_Info* copy);
void info_free(MPI_Info* info);
void info_get(Info* info, const char* key, int length, char* value, int* flag);
void info_get_nkeys(Info* info, int* count);
void info_get_nthkey(Info* info, int index, char* key);
void info_get_string(Info* info, const char* key, int* length, char* value, int* flag);
void info_get_valuelen(Info* info, const char* key, int* length, int* flag);
void info_set(Info* info, const char* key, const char* value);

}  // namespace weft::mpi
