# The schedules change stacks by _longjmp(), which its checked form refuses.
target_compile_options(${folder_target} PRIVATE -U_FORTIFY_SOURCE)
