// How ranks find each other by a file of the user.
#pragma once

namespace lci {

/// With LCT_PMI_FILE_NRANKS of more than 1: takes the next rank of the job whose processes meet in the file,
/// and makes RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT those by which weft joins it. The first one notes
/// where it is, the last one makes room for the next job. Returns false when the variable asks for no job.
/// Throws std::runtime_error.
bool join_by_file();

}  // namespace lci
