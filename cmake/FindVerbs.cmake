# Finds the header of libibverbs, which is opened when it is first used: Verbs_INCLUDE_DIR.

find_path(Verbs_INCLUDE_DIR infiniband/verbs.h)
mark_as_advanced(Verbs_INCLUDE_DIR)

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(Verbs REQUIRED_VARS Verbs_INCLUDE_DIR)
