#pragma once

/// Sends a number around the ranks of the runtime that the program has opened; each adds one.
unsigned long go_around();
