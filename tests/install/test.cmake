# Builds the library once more, possibly without a compiler cache, on one processor: begins first, beside the other tests.
set_tests_properties(${folder_python_tests} PROPERTIES TIMEOUT 3000 COST 5000 PROCESSORS 1)
