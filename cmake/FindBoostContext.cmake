# Finds Boost.Context, as FindSodium.cmake does: BoostContext::context.

find_path(BoostContext_INCLUDE_DIR boost/context/fiber.hpp)
find_library(BoostContext_LIBRARY boost_context)
mark_as_advanced(BoostContext_INCLUDE_DIR BoostContext_LIBRARY)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(BoostContext REQUIRED_VARS BoostContext_LIBRARY BoostContext_INCLUDE_DIR)

if(BoostContext_FOUND AND NOT TARGET BoostContext::context)
  add_library(BoostContext::context UNKNOWN IMPORTED)
  set_target_properties(BoostContext::context PROPERTIES
    IMPORTED_LOCATION "${BoostContext_LIBRARY}"
    INTERFACE_INCLUDE_DIRECTORIES "${BoostContext_INCLUDE_DIR}")
endif()
