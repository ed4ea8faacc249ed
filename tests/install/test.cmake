# Builds the library once more, possibly without a compiler cache.
set_tests_properties(${folder_python_tests} PROPERTIES TIMEOUT 900 PROCESSORS 2)
