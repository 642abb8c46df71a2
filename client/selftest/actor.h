// SPDX-License-Identifier: MIT
// Copyright (c) 2026 the hipbroker authors
//
// The other process: started by exec, does what the conductor says on descriptor 3 and answers.
//
//   open         socket=
//   alloc        bytes= chunk= [gpu=ORDINAL] [host=]           -> host_granted=
//   make         how= gpu=: memory of the program's own (program_memory.h)
//   fill, check  mem=1 | program=1 | (nothing: the import) seed= [offset=]    by the GPU for GPU memory
//   cpu_check    the same, by the CPU
//   export       name= [mem's offset= bytes=] [program=1 (handles=1 | claim=)]
//   import       name= [offset= bytes= access= host= gpu= external=1]    -> bytes= chunks= host_granted=
//   classify     mem=1 | program=1 | nowhere=1 | (nothing: the import)   -> memory= shareable= reason=
//   watch        seed=: "watching" at once, then reads until the import is no longer current
//   current                                                    -> current=
//   withdraw                                                   -> holders=
//   gone         the program's memory is about to go           -> exports= holders=
//   unmap_when   seed=: hb_unmap_when behind a copy that is under way, and compares what it copied
//   close, free, unmake
//
// Every answer has status= (0 is success) and message=; a refusal of the library's code= ("HB_GONE").
#pragma once

namespace hb::selftest {

// Ends when the conductor does.
int run_actor();

}  // namespace hb::selftest
