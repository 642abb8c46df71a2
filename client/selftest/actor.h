// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The other process: started by exec, does what the conductor says on descriptor 3 and answers.
//
//   open         socket=
//   alloc        bytes= chunk= [gpu=ORDINAL] [host=]           -> host_granted=
//   fill, check  mem=1 | (nothing: the import) seed= [offset=]    by the GPU for GPU memory
//   cpu_check    the same, by the CPU
//   export       name= [offset= bytes=]
//   import       name= [offset= bytes= access= host= gpu=]     -> bytes= chunks= host_granted=
//   watch        seed=: "watching" at once, then reads until the import is no longer current
//   current                                                    -> current=
//   withdraw                                                   -> holders=
//   close, free
//
// Every answer has status= (0 is success) and message=.
#pragma once

namespace hb::selftest {

// Ends when the conductor does.
int run_actor();

}  // namespace hb::selftest
