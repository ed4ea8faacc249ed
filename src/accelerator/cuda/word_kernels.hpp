// Kernels of one thread that write a word and wait for one, in PTX, which the driver compiles.
#pragma once

namespace weft::accelerator::cuda {

inline constexpr const char* kWriteKernel = "weft_write_word";
inline constexpr const char* kWaitKernel = "weft_wait_for_word";
/// Parameters of both: the address of the word (64 bits) and the value. The write follows a barrier for the
/// whole system, so that the host sees what the stream did before; the wait ends with one.
inline constexpr const char* kWordKernels = R"ptx(
.version 6.0
.target sm_60
.address_size 64

.visible .entry weft_write_word(.param .u64 word, .param .u64 value)
{
  .reg .u64 %address, %what;
  ld.param.u64 %address, [word];
  ld.param.u64 %what, [value];
  membar.sys;
  st.volatile.u64 [%address], %what;
  membar.sys;
  ret;
}

.visible .entry weft_wait_for_word(.param .u64 word, .param .u64 value)
{
  .reg .u64 %address, %wanted, %seen;
  .reg .s64 %ahead;
  .reg .pred %is_before;
  ld.param.u64 %address, [word];
  ld.param.u64 %wanted, [value];
again:
  ld.volatile.u64 %seen, [%address];
  sub.s64 %ahead, %seen, %wanted;
  setp.lt.s64 %is_before, %ahead, 0;
  @%is_before bra again;
  membar.sys;
  ret;
}
)ptx";

}  // namespace weft::accelerator::cuda
