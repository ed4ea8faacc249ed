# Builds the library up to three times over, possibly without a compiler cache.
set_tests_properties(${folder_python_tests} PROPERTIES TIMEOUT 900 PROCESSORS 2)
