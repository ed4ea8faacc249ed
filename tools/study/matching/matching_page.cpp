// The page of `weft study matching --report`.
#include "study/matching/matching_groups.hpp"

namespace weft::tools::study {

std::string matching_html(const MatchingResults& results) { return matching_text(results); }

}  // namespace weft::tools::study
