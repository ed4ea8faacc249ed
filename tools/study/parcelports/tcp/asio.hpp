// Asio as every file of this port has it: which of two ways it allocates its memory depends on whether a
// header of the standard library came before it, and what one file allocates another one frees.
#pragma once

#include <cstdlib>

#include <asio.hpp>
