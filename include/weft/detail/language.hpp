// What a compiler has to accept, said in one line before anything else of weft is read.
#pragma once

// A line of #error does not stop the compiler: thousands of errors of the headers and of the program would
// follow. A file that does not exist does. Every header of weft includes this one first, directly or through
// the first header of weft that it includes.
#if !defined(__cplusplus) || __cplusplus < 202002L
#include <weft needs C++20; compile with -std=c++20 or newer>
#endif
